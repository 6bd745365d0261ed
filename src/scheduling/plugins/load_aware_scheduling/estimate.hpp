// What pods are taken to use before it is measured, and what nodes have: the numbers that usage is compared
// with.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/koordinator/classes.hpp"
#include "koord/api/types/meta_v1/meta.hpp"
#include "scheduling/plugins/load_aware_scheduling/args.hpp"

namespace koord::api {
struct Node;
struct Pod;
struct PodCondition;
}  // namespace koord::api

namespace koord::scheduling::load_aware {

/// One number for each resource that counts, in the order of Resources: thousandths of a CPU, else whole
/// units. Amounts are cut at kMost, so that no sum of them overflows.
using Amounts = std::vector<std::int64_t>;
inline constexpr std::int64_t kMost = std::int64_t{1} << 50;

/// The resources that count: cpu, memory, and all that the arguments name; in the order of their names.
class Resources {
 public:
  explicit Resources(const LoadAwareSchedulingArgs& args);

  std::size_t size() const { return names_.size(); }
  const std::string& name(std::size_t i) const { return names_[i]; }
  /// Others than these are passed over, those that are absent are 0.
  Amounts amounts(const api::ResourceList& list) const;
  Amounts numbers(const Numbers& numbers) const;
  /// An amount as it is printed, and what is printed of it in JSON by name.
  api::Quantity quantity(std::size_t i, std::int64_t amount) const;

 private:
  std::vector<std::string> names_;
};

/// The pod's condition of this type if it is true and says since when; else nullptr.
const api::PodCondition* true_since(const api::Pod& pod, std::string_view type);
/// The priority class, where none is said by the quality of service.
api::KoordPriority priority_class(const api::Pod& pod);

class Estimator {
 public:
  /// The resources outlive it.
  Estimator(const LoadAwareSchedulingArgs& args, const Resources& resources);

  /// Into `out`, of resources.size(). A pod of class batch or mid is taken to use of what nodes lend.
  void estimate(const api::Pod& pod, api::KoordPriority of, std::span<std::int64_t> out) const;
  /// Its allocatable, less what the annotation of an amplified node says.
  Amounts allocatable(const api::Node& node) const;
  /// Until when the pod is taken to use no less than estimated, if it counts since `since`: absent: that
  /// follows from the reports alone.
  std::optional<WallTime> deadline(const api::Pod& pod, WallTime since) const;

 private:
  const Resources& resources_;
  Numbers factors_;
  std::optional<std::int64_t> after_scheduled_, after_initialized_;
  bool customizable_;
};

/// Which usage is too much, for a node. Per cent by resource, 0: any is fine.
struct Thresholds {
  Amounts usage, prod;                // `prod` of what prod pods use, all 0: they are as others
  std::optional<Amounts> aggregated;  // instead of `usage`
  std::string type;                   // of the aggregated usage
  nanoseconds duration{0};

  friend bool operator==(const Thresholds&, const Thresholds&) = default;
};
Thresholds make_thresholds(const LoadAwareSchedulingArgs& args, const Resources& resources);
/// What the node's annotation says otherwise. Absent: nothing, or nothing that can be read.
std::optional<Thresholds> custom_thresholds(const api::Node& node, const Thresholds& defaults,
                                            const Resources& resources);

bool any(const Amounts& amounts);

/// Times that objects say, between 1970 and 2200: whatever is added to them or taken from them is a time.
WallTime bounded(api::Time time);

}  // namespace koord::scheduling::load_aware
