// NodePools: the devices that a node can reach, pool by pool, as allocations look at them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "koord/api/values/quantity.hpp"
#include "koord/base/result.hpp"
#include "scheduling/plugins/dynamic_resources/pools/features.hpp"
#include "scheduling/plugins/dynamic_resources/pools/slice.hpp"

namespace koord::scheduling::dynamic_resources {

/// Follows from slices, the node's name and labels, and the gates alone: kept until one of these changes.
struct NodePools {
  enum class State : std::uint8_t {
    usable,
    incomplete,  // its driver is writing it: slices are missing
    invalid,     // it contradicts itself
  };
  struct Pool {
    Symbol driver, name;
    State state = State::usable;
    std::string reason;  // of an invalid one
    std::uint32_t first_counter = 0, counters = 0;
    std::string text() const { return driver.str() + "/" + name.str(); }
  };
  /// Of a counter that devices of a pool share.
  struct Use {
    std::uint32_t counter;  // of NodePools::counters
    api::Quantity amount;
  };
  struct Uses {
    std::uint32_t first = 0, count = 0;  // of NodePools::uses
  };
  struct Device {
    const Slice* slice;
    std::uint32_t index;  // of the slice
    DeviceNumber number;
    std::uint32_t pool;
    bool on_node;  // no: its slice is for the node as others of its devices are
    Uses uses;

    int numa_node() const { return slice->numa_node(index); }
    const api::SliceDevice& object() const { return slice->device(index); }
    /// Whether several claims may have it, each a part of its capacity.
    bool shared() const { return object().allow_multiple_allocations.value_or(false); }
  };
  /// A device for other nodes that takes of the same counters when it is taken.
  struct Elsewhere {
    DeviceNumber number;
    Uses uses;
  };

  std::string node;
  std::vector<std::shared_ptr<const Slice>> slices;  // those that are referred to
  std::vector<Pool> pools;                           // in the order in which they are looked at
  std::vector<Device> devices;                       // of the usable ones, in that order
  std::vector<api::Quantity> counters;               // what there is of each
  std::vector<Use> uses;
  std::vector<Elsewhere> elsewhere;

  bool has_invalid() const;
};

/// Pools by driver and name, their slices by name; slices and pools with binding conditions come last, so
/// that devices without are preferred. Of a pool only the highest generation counts that reaches the node,
/// and none if there is a higher one. `slices` are all that there are, in any order. The error
/// (Code::invalid) is kube-scheduler's, and forbids the node to all pods with claims.
Result<NodePools> gather_pools(std::span<const std::shared_ptr<const Slice>> slices, const Node& node,
                               const Features& features);

}  // namespace koord::scheduling::dynamic_resources
