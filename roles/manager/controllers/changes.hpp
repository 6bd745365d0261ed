// Which changes of objects concern the controllers: a heartbeat concerns nobody.
#pragma once

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/device.hpp"
#include "koord/api/types/topology_v1alpha1/node_resource_topology.hpp"

namespace koord::manager {

/// Whether anything changed that the specs of a node's objects follow from.
bool changes_specs(const api::Node& before, const api::Node& after);

/// Whether anything changed that its resources follow from, or these themselves.
bool changes_resources(const api::Node& before, const api::Node& after);
/// The same of a pod, beside its coming and going.
bool changes_resources(const api::Pod& before, const api::Pod& after);
/// The same of a topology: what it says of the CPUs, and what its zones have.
bool changes_resources(const api::NodeResourceTopology& before, const api::NodeResourceTopology& after);
/// The same of devices.
bool changes_resources(const api::Device& before, const api::Device& after);

/// Whether it is best-effort work that somebody evicts, as the node agent does.
bool is_evicted_best_effort(const api::Pod& pod);

}  // namespace koord::manager
