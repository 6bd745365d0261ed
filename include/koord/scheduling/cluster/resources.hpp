// Resources by number: the columns of the node table, and what a pod asks of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "koord/base/symbol.hpp"

namespace koord::scheduling {

/// A resource's number. The first ones are fixed.
using ResourceId = std::uint32_t;
constexpr ResourceId kCpu = 0;      // milli
constexpr ResourceId kMemory = 1;   // bytes
constexpr ResourceId kStorage = 2;  // ephemeral-storage, bytes
constexpr ResourceId kPods = 3;
// No resources of their own: cpu and memory with 100m and 200 MiB for each container that asks for none.
constexpr ResourceId kNonzeroCpu = 4, kNonzeroMemory = 5;
constexpr ResourceId kFirstScalar = 6;
/// cpu, memory, ephemeral-storage or pods; kFirstScalar: none of them.
ResourceId fixed_resource(std::string_view name);

/// The numbers of the resource names that occurred. Anybody may write names, so those that nobody uses any
/// more are given back, all at once from time to time, and their numbers used again.
class ResourceNames {
 public:
  ResourceNames();
  ResourceId id(std::string_view name);
  std::string_view name(ResourceId id) const { return names_[id].view(); }
  /// Every number is below it.
  std::size_t size() const { return names_.size(); }
  /// The names that have a number.
  std::size_t known() const { return index_.size(); }
  /// There are so many that it is worth looking which of them are in use.
  bool crowded() const { return known() >= crowded_at_; }
  /// Gives back those whose entry in `used` (of size()) is false. The next look is worth it after twice as
  /// many as there are then, and `apart` more at least.
  void keep(const std::vector<bool>& used, std::size_t apart);

 private:
  static constexpr std::size_t kFew = 4096;
  std::vector<Symbol> names_;
  std::vector<ResourceId> free_;
  std::unordered_map<std::string_view, ResourceId> index_;  // keys are views into names_
  std::size_t crowded_at_ = kFew;
};

/// "vendor.com/gpu" and the like: in no kubernetes.io domain, no quota name.
bool is_extended_resource(std::string_view name);
/// What the scheduler counts besides cpu, memory, ephemeral-storage and pods: extended resources, huge
/// pages, kubernetes.io/... names, attachable volumes. Everything else is not looked at.
bool is_scalar_resource(std::string_view name);

struct Amount {
  ResourceId resource;
  std::int64_t amount;
  friend bool operator==(const Amount&, const Amount&) = default;
};

/// What one pod takes from a node.
struct Requests {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  std::int64_t storage = 0;
  /// What the spreading scores count: kNonzeroCpu, kNonzeroMemory.
  std::int64_t nonzero_cpu = 0;
  std::int64_t nonzero_memory = 0;
  std::vector<Amount> scalars;  // none is zero; in order of the resource

  std::int64_t operator[](ResourceId id) const;
  friend bool operator==(const Requests&, const Requests&) = default;
};

}  // namespace koord::scheduling
