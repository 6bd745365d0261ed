// NodePools: see pools.hpp. The rules are those of Kubernetes' structured allocator.
#include "scheduling/plugins/dynamic_resources/pools/pools.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

namespace koord::scheduling::dynamic_resources {

namespace {

using SliceRef = std::shared_ptr<const Slice>;
using Slices = std::vector<SliceRef>;

struct Gathered {
  Slices reaching;  // of one generation
  Slices all;       // of that generation, wherever their devices are
  bool obsolete = false;
};
/// By driver and name.
using GatheredPools = std::map<std::pair<Symbol, Symbol>, Gathered>;

std::int64_t generation(const Slice& slice) { return slice.spec().pool.generation; }

void add(Gathered& pool, const SliceRef& slice) {
  if (!pool.reaching.empty()) {
    const std::int64_t known = generation(*pool.reaching.front());
    if (generation(*slice) < known) return;
    if (generation(*slice) > known) pool.reaching.clear();
  }
  pool.reaching.push_back(slice);
}

/// Whether the slice can have to do with the node at all.
Result<bool> reaches(const Slice& slice, const Node& node, const Features& features) {
  const bool counters = !slice.spec().shared_counters.empty();
  if (!features.partitionable_devices && (slice.spec().per_device_node_selection || counters)) return false;
  if (counters) return true;  // wherever it is for: devices for the node may use them
  const auto match = slice.is_for(node);
  if (!match) return match.error();
  return match->value_or(false);
}

class Builder {
 public:
  Builder(NodePools& out, const Node& node, const Features& features)
      : out_(out), node_(node), features_(features) {}

  Result<> add(NodePools::Pool pool, const Gathered& from) {
    pool.first_counter = static_cast<std::uint32_t>(out_.counters.size());
    names_.clear();
    const auto reason = why_invalid(from);
    pool.counters = static_cast<std::uint32_t>(out_.counters.size()) - pool.first_counter;
    if (reason) {
      pool.state = NodePools::State::invalid;
      pool.reason = *reason;
    } else {
      KOORD_CHECK(add_devices(from));
    }
    out_.pools.push_back(std::move(pool));
    return {};
  }

 private:
  static bool offers_devices(const Slice& slice) { return slice.spec().shared_counters.empty(); }

  std::optional<std::string> why_invalid(const Gathered& from) {
    std::set<Symbol> devices;
    for (const SliceRef& slice : from.reaching) {
      if (features_.partitionable_devices && !offers_devices(*slice)) continue;
      for (const api::SliceDevice& device : slice->spec().devices)
        if (!devices.insert(device.name).second)
          return fmt::format("duplicate device name {}", device.name.view());
    }
    if (!features_.partitionable_devices) return {};
    for (const SliceRef& slice : from.reaching)
      for (const api::CounterSet& set : slice->spec().shared_counters) {
        auto [it, added] = names_.try_emplace(set.name);
        if (!added) return fmt::format("duplicate counter set name {}", set.name.view());
        for (const auto& [name, counter] : set.counters) {
          it->second.emplace(name, static_cast<std::uint32_t>(out_.counters.size()));
          out_.counters.push_back(counter.value);
        }
      }
    for (const Slices* each : {&from.reaching, &from.all})
      for (const SliceRef& slice : *each)
        if (auto reason = why_invalid_uses(*slice)) return reason;
    return {};
  }

  std::optional<std::string> why_invalid_uses(const Slice& slice) const {
    for (const api::SliceDevice& device : slice.spec().devices)
      for (const api::DeviceCounterConsumption& consumed : device.consumes_counters) {
        const auto set = names_.find(consumed.counter_set);
        if (set == names_.end()) return fmt::format("counter set {} not found", consumed.counter_set.view());
        for (const auto& [name, counter] : consumed.counters)
          if (!set->second.contains(name))
            return fmt::format("counter {} not found in counter set {}", name.view(), set->first.view());
      }
    return {};
  }

  NodePools::Uses uses_of(const api::SliceDevice& device) {
    NodePools::Uses uses{static_cast<std::uint32_t>(out_.uses.size()), 0};
    if (features_.partitionable_devices)
      for (const api::DeviceCounterConsumption& consumed : device.consumes_counters)
        for (const auto& [name, counter] : consumed.counters)
          out_.uses.push_back({names_.at(consumed.counter_set).at(name), counter.value});
    uses.count = static_cast<std::uint32_t>(out_.uses.size()) - uses.first;
    return uses;
  }

  Result<> add_devices(const Gathered& from) {
    for (const SliceRef& slice : from.reaching) {
      if (features_.partitionable_devices && !offers_devices(*slice)) continue;
      for (std::uint32_t i = 0; i < slice->spec().devices.size(); ++i) {
        bool on_node = true;
        if (slice->per_device()) {
          KOORD_TRY(match, slice->device_is_for(i, node_));
          on_node = match;
        }
        out_.devices.push_back({slice.get(), i, slice->number(i),
                                static_cast<std::uint32_t>(out_.pools.size()), on_node,
                                uses_of(slice->device(i))});
      }
      out_.slices.push_back(slice);
    }
    if (!features_.partitionable_devices) return {};
    std::set<std::string_view> seen;
    for (const SliceRef& slice : from.reaching) seen.insert(slice->name());
    for (const SliceRef& slice : from.all) {
      if (seen.contains(slice->name())) continue;
      for (std::uint32_t i = 0; i < slice->spec().devices.size(); ++i) {
        const NodePools::Uses uses = uses_of(slice->device(i));
        if (uses.count != 0) out_.elsewhere.push_back({slice->number(i), uses});
      }
      out_.slices.push_back(slice);
    }
    return {};
  }

  NodePools& out_;
  const Node& node_;
  const Features& features_;
  std::map<Symbol, std::map<Symbol, std::uint32_t>> names_;  // counters of the pool, by set
};

/// What lies in each pool that reaches the node: the slices of its newest generation there.
Result<GatheredPools> gather(const Slices& sorted, const Node& node, const Features& features) {
  GatheredPools gathered;
  Slices last;  // with binding conditions
  const auto pool_of = [&](const SliceRef& slice) -> Gathered& {
    return gathered[{slice->spec().driver, slice->spec().pool.name}];
  };
  for (const SliceRef& slice : sorted) {
    KOORD_TRY(wanted, reaches(*slice, node, features));
    if (!wanted) continue;
    if (features.binding_conditions && slice->has_binding_conditions() &&
        slice->spec().shared_counters.empty())
      last.push_back(slice);
    else
      add(pool_of(slice), slice);
  }
  for (const SliceRef& slice : last) add(pool_of(slice), slice);
  for (const SliceRef& slice : sorted) {
    const auto pool = gathered.find({slice->spec().driver, slice->spec().pool.name});
    if (pool == gathered.end()) continue;
    const std::int64_t known = generation(*pool->second.reaching.front());
    if (generation(*slice) == known) pool->second.all.push_back(slice);
    if (generation(*slice) > known) pool->second.obsolete = true;
  }
  return gathered;
}

}  // namespace

bool NodePools::has_invalid() const {
  return std::ranges::any_of(pools, [](const Pool& pool) { return pool.state == State::invalid; });
}

Result<NodePools> gather_pools(std::span<const SliceRef> slices, const Node& node, const Features& features) {
  Slices sorted(slices.begin(), slices.end());
  std::ranges::stable_sort(sorted, {}, [](const SliceRef& slice) { return slice->name(); });
  KOORD_TRY(gathered, gather(sorted, node, features));

  NodePools out;
  out.node = node.name;
  Builder builder(out, node, features);
  for (const bool with_conditions : {false, true})
    for (auto& [id, from] : gathered) {
      const auto wanted = static_cast<std::size_t>(
          std::max<std::int64_t>(0, from.reaching.front()->spec().pool.resource_slice_count));
      NodePools::Pool pool{.driver = id.first, .name = id.second};
      const bool whole = from.reaching.size() == wanted;
      // A newer generation that does not reach the node: what there is of the old one is void.
      if (!whole && from.obsolete) continue;
      const bool complete = whole || from.all.size() == wanted;
      const bool conditions = complete && features.binding_conditions &&
                              std::ranges::any_of(from.reaching, [](const SliceRef& slice) {
                                return slice->has_binding_conditions();
                              });
      if (conditions != with_conditions) continue;
      if (!complete) {
        pool.state = NodePools::State::incomplete;
        out.pools.push_back(std::move(pool));
        continue;
      }
      if (whole) from.all.clear();  // nothing is elsewhere
      KOORD_CHECK(builder.add(std::move(pool), from));
    }
  return out;
}

}  // namespace koord::scheduling::dynamic_resources
