// TopologyWriter: what the status of the ClusterNetworkTopology says, while the scheduler leads.
#pragma once

#include <optional>
#include <vector>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/scheduling_v1alpha1/cluster_network_topology.hpp"
#include "koord/kube/informer.hpp"
#include "koord/scheduling/plugin/lifecycle_plugin.hpp"

namespace koord::scheduling::coscheduling {

/// The object with the status that follows from the nodes; nothing: it has that already, or its spec is of no
/// use and its status stays.
std::optional<api::ClusterNetworkTopology> settled(
    const api::ClusterNetworkTopology& object, const std::vector<std::shared_ptr<const api::Node>>& nodes);

/// Writes a second after nodes or the object have changed, and once in ten seconds at most. What cannot be
/// written is tried again with a backoff.
class TopologyWriter final : public PluginController {
 public:
  TopologyWriter(kube::InformerSet& informers, kube::Client& client)
      : topologies_(informers.informer<api::ClusterNetworkTopology>(client)),
        nodes_(informers.informer<api::Node>(client)) {}

  Task<Result<>> run(Context context) override;

 private:
  struct Run;

  kube::Informer<api::ClusterNetworkTopology> topologies_;
  kube::Informer<api::Node> nodes_;
};

}  // namespace koord::scheduling::coscheduling
