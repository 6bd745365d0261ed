// What pods ask of nodes, against thresholds: which nodes have too much, which little.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "framework/plugin.hpp"
#include "koord/api/rules/field_errors.hpp"
#include "koord/api/values/string_map.hpp"

namespace koord::descheduler::node_utilization {

/// Per cent by resource, as they are written.
using Thresholds = api::FlatMap<double>;

/// By resource, as Resources::names() has them: cpu in thousandths, others in their unit.
using Amounts = std::vector<std::int64_t>;
/// Bounded: what pods ask for comes from whoever may make pods.
inline std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}
/// Of percentages: so many make one per cent.
inline constexpr std::int64_t kPercent = 1'000'000'000;
/// By resource that has a threshold; nothing: there is none.
using Percentages = std::vector<std::optional<std::int64_t>>;

/// The resources that count: those with thresholds by name, then what is left of cpu, memory and pods.
class Resources {
 public:
  explicit Resources(const Thresholds& thresholds);

  std::span<const std::string> names() const { return names_; }
  /// How many of them have thresholds.
  std::size_t limited() const { return limited_; }
  /// What the pod asks for; of pods one.
  Amounts asked(const api::Pod& pod) const;
  /// What the node has; -1: it does not have the resource.
  Amounts has(const api::Node& node) const;

 private:
  std::vector<std::string> names_;
  std::size_t limited_;
};

/// What a node's pods ask for, without those that have ended.
struct Usage {
  const NodeView* node = nullptr;
  std::vector<PodPtr> pods;
  Amounts used, capacity;

  Usage(const NodeView& of, const Resources& resources);
  /// Of the capacity; 0 of none at all, nothing where the node does not have the resource.
  std::optional<std::int64_t> percentage(std::size_t resource) const;
  /// Whether it uses no more of any resource than that; one that it does not have it does not use.
  bool is_within(const Percentages& limits) const;
  /// What it may use by these limits: the capacity where there is none.
  Amounts capped(const Percentages& limits) const;
  /// The sum of all amounts, whatever they are of: what nodes are sorted by.
  std::int64_t sum() const;
};

/// The thresholds as they are, for the first resources.limited() names.
Percentages fixed(const Thresholds& thresholds);
/// So much beside the average of the nodes that have the resource; 0 to 100 per cent. `sign` is 1 or -1.
Percentages beside_average(std::span<const Usage> nodes, const Thresholds& thresholds, int sign);

/// In sigs' words; true: nothing is wrong.
bool check_thresholds(const Thresholds& thresholds, const std::string& path, std::string_view before,
                      api::FieldErrors& errors);

}  // namespace koord::descheduler::node_utilization
