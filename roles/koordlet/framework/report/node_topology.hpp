// NodeResourceTopology from what the machine is, what the kubelet does and what pods have: what the original
// writes, so that schedulers of either read it.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "framework/model/inventory.hpp"
#include "framework/model/node_facts.hpp"
#include "framework/states/kubelet.hpp"
#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/koordinator/node.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/topology_v1alpha1/node_resource_topology.hpp"

namespace koord::json {
class Document;
}

namespace koord::koordlet {

/// The annotations of a NodeResourceTopology that the agent keeps, all of them always; each is JSON.
inline constexpr std::array<std::string_view, 8> kTopologyAnnotations = {
    api::CpuBasicInfo::kAnnotation,    api::KubeletCpuManagerPolicy::kAnnotation,
    api::CpuSharedPools::kAnnotation,  api::CpuSharedPools::kBestEffortAnnotation,
    api::CpuTopology::kAnnotation,     api::PodCpuAllocs::kAnnotation,
    api::NodeReservation::kAnnotation, api::SystemQosResource::kAnnotation,
};

/// What of a NodeResourceTopology is the agent's.
struct NodeTopology {
  std::array<std::string, kTopologyAnnotations.size()> annotations;  // in that order
  /// The label node.koordinator.sh/enable-numa-reservation as the Node has it; empty: it has none.
  std::string numa_reservation;
  std::string policy;  // topologyPolicies has this one
  /// Ascending by name, and so are their resources.
  std::vector<api::TopologyZone> zones;
};

/// Pure. Without the kubelet's configuration (inventory.kubelet is null) it is told that there is no policy.
NodeTopology node_topology(const NodeFacts& facts, const Inventory& inventory, const api::Node& node);

/// The CPUs that the kubelet's static policy keeps for the system; none with another policy, or where the
/// kubelet could not say which either.
host::CpuSet kubelet_reserved_cpus(const host::Topology& topology, const KubeletConfig& config);

/// In topologyPolicies' words, of the kubelet's topologyManagerPolicy and topologyManagerScope.
std::string_view topology_policy(std::string_view policy, std::string_view scope);

/// What is not as it should be, by name; empty: nothing. JSON is compared by value, amounts by what may be
/// allocated.
std::string_view stale_part(const api::NodeResourceTopology& object, const NodeTopology& wanted);

/// Writes it into a document as the API server gave it. Zones of other names go; of those that stay other
/// resources, costs and attributes stay, too.
void write_topology(json::Document& document, const NodeTopology& wanted);

/// One to be created: the node owns it.
std::string new_topology(const NodeTopology& wanted, const api::Node& node);

}  // namespace koord::koordlet
