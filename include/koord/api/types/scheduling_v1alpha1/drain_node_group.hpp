// scheduling.koordinator.sh/v1alpha1: DrainNodeGroup, nodes that are to be drained together.
#pragma once

#include "koord/api/types/scheduling_v1alpha1/drain_node.hpp"

namespace koord::api {

struct DrainExecutionPolicy {
  std::optional<std::int32_t> partition;  // so many of the nodes are let go; absent: all
  bool paused = false;                    // none is let go that has not been
  KOORD_STRUCT(DrainExecutionPolicy);
};

/// Where planning ends though there are more nodes.
struct DrainTerminationPolicy {
  std::optional<std::int32_t> max_node_count;
  std::optional<std::int32_t> percentage_of_resource_reserved;  // of what all have, free on those that stay
  KOORD_STRUCT(DrainTerminationPolicy);
};

struct DrainNodeGroupSpec {
  Box<LabelSelector> node_selector;
  std::optional<Duration> ttl;  // from creation on; absent or 0: for ever
  Box<CordonNodePolicy> cordon_node_policy;
  Box<DrainExecutionPolicy> execution_policy;
  Box<DrainTerminationPolicy> termination_policy;
  KOORD_STRUCT(DrainNodeGroupSpec);
};

struct DrainNodeGroupStatus {
  // empty (as Pending), Pending, Planning, Waiting, Running, Succeeded, Failed, Aborted
  Symbol phase;
  std::int32_t total_count = 0;        // nodes that have been looked at
  std::int32_t unavailable_count = 0;  // of these: whose pods have nowhere to go
  std::int32_t available_count = 0;    // the others
  std::int32_t running_count = 0;
  std::int32_t succeeded_count = 0;
  std::int32_t failed_count = 0;
  std::vector<Condition> conditions;  // one a phase
  KOORD_STRUCT(DrainNodeGroupStatus);
};

struct DrainNodeGroup {
  ObjectMeta metadata;
  DrainNodeGroupSpec spec;
  DrainNodeGroupStatus status;
  KOORD_STRUCT(DrainNodeGroup);
};

}  // namespace koord::api
