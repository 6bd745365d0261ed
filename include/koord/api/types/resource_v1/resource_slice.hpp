// resource.k8s.io/v1: ResourceSlice, a part of the devices that a driver offers.
#pragma once

#include "koord/api/types/core_v1/node.hpp"

namespace koord::api {

/// One of the four is there.
struct DeviceAttribute {
  std::optional<int64_t> int_;
  std::optional<bool> bool_;
  std::optional<Symbol> string;
  std::optional<Symbol> version;  // a semantic version
  KOORD_STRUCT(DeviceAttribute);
};

struct CapacityRequestPolicyRange {
  std::optional<Quantity> min;
  std::optional<Quantity> max;
  std::optional<Quantity> step;
  KOORD_STRUCT(CapacityRequestPolicyRange);
};

/// How much of a capacity one request consumes.
struct CapacityRequestPolicy {
  std::optional<Quantity> default_;
  List<Quantity> valid_values;  // ascending
  Box<CapacityRequestPolicyRange> valid_range;
  KOORD_STRUCT(CapacityRequestPolicy);
};

struct DeviceCapacity {
  Quantity value;
  Box<CapacityRequestPolicy> request_policy;
  KOORD_STRUCT(DeviceCapacity);
};

struct DeviceCounter {
  Quantity value;
  KOORD_STRUCT(DeviceCounter);
};

/// What devices of a pool take together: the memory of the GPU that they are partitions of.
struct CounterSet {
  Symbol name;
  FlatMap<DeviceCounter> counters;
  KOORD_STRUCT(CounterSet);
};

struct DeviceCounterConsumption {
  Symbol counter_set;
  FlatMap<DeviceCounter> counters;
  KOORD_STRUCT(DeviceCounterConsumption);
};

struct DeviceTaint {
  Symbol key;
  Symbol value;
  Symbol effect;  // None, NoSchedule, NoExecute
  std::optional<Time> time_added;
  KOORD_STRUCT(DeviceTaint);
};

/// A device as its driver describes it. Names of attributes and capacities without a domain are the driver's.
struct SliceDevice {
  Symbol name;
  FlatMap<DeviceAttribute> attributes;
  FlatMap<DeviceCapacity> capacity;
  List<DeviceCounterConsumption> consumes_counters;
  std::optional<Symbol> node_name;  // where the slice's perDeviceNodeSelection is true, as the next two
  Box<NodeSelector> node_selector;
  std::optional<bool> all_nodes;
  List<DeviceTaint> taints;
  std::optional<bool> binds_to_node;  // its allocation is for one node only
  List<Symbol> binding_conditions;
  List<Symbol> binding_failure_conditions;
  std::optional<bool> allow_multiple_allocations;
  KOORD_STRUCT(SliceDevice);
};

struct ResourcePool {
  Symbol name;
  int64_t generation = 0;  // slices of an older one are void
  int64_t resource_slice_count = 0;
  KOORD_STRUCT(ResourcePool);
};

/// Of nodeName, nodeSelector, allNodes and perDeviceNodeSelection one is there.
struct ResourceSliceSpec {
  Symbol driver;
  ResourcePool pool;
  std::optional<Symbol> node_name;
  Box<NodeSelector> node_selector;
  std::optional<bool> all_nodes;
  List<SliceDevice> devices;  // at most 128; none where there are counters
  std::optional<bool> per_device_node_selection;
  List<CounterSet> shared_counters;
  KOORD_STRUCT(ResourceSliceSpec);
};

struct ResourceSlice {
  ObjectMeta metadata;
  ResourceSliceSpec spec;
  KOORD_STRUCT(ResourceSlice);
};

}  // namespace koord::api
