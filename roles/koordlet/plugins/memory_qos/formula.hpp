// The figures of memory QoS: which values a group's files shall have. Pure functions; bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "framework/model/inventory.hpp"
#include "koord/host/cgroup_knobs.hpp"
#include "plugins/memory_qos/terms.hpp"

namespace koord::koordlet::memory_qos {

struct Value {
  host::Knob knob{};
  std::int64_t value = 0;
  friend bool operator==(const Value&, const Value&) = default;
};
using Values = std::vector<Value>;

/// What a pod or container asks for and may use; nothing: no limit.
struct Demand {
  std::int64_t request = 0;
  std::optional<std::int64_t> limit;
};

/// What holds for a pod: what it says itself, over its policy's, over its class's where that is switched on.
/// Nothing: nobody asked for anything. `usual` is what the policy "auto" stands for.
std::optional<api::MemoryQos> effective(const api::MemoryQosConfig* of_class, const api::MemoryQos& usual,
                                        const api::PodMemoryQos* pod);

/// A percentage of a request; at most a hundred times it.
std::int64_t share(std::int64_t request, std::int64_t percent);

/// min, low, the page cache's limit and what is said as it stands. What is out of the kernel's range is not
/// in the answer.
Values pod_values(const api::MemoryQos& qos, const Demand& pod);
/// min, low, high and what is said as it stands. Where the container has no limit the node's memory is.
Values container_values(const api::MemoryQos& qos, const Demand& container, std::int64_t node_memory);

/// memory.min and memory.low of the kubelet's folders: what their pods have together. The one of guaranteed
/// pods is above the two others.
struct Protection {
  std::optional<std::int64_t> min, low;
  void add(const api::MemoryQos& qos, std::int64_t request);
  void add(const Protection& below);
};

}  // namespace koord::koordlet::memory_qos
