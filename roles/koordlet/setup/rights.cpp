// What the node agent may do in the API server and at its kubelet: see rights.hpp.
#include "setup/rights.hpp"

#include <array>

namespace koord::koordlet {

namespace {

using runtime::Right;

constexpr std::string_view kSlo = "slo.koordinator.sh", kTopology = "topology.node.k8s.io";

constexpr std::array kMine = {
    Right{"", "nodes", "list watch"},
    // The kubelet asks for these since Kubernetes 1.33. An older one wants get on nodes/proxy, with which one
    // may run commands in every pod of the cluster.
    Right{"", "nodes/configz", "get"},
    Right{"", "nodes/pods", "get"},
    Right{"", "persistentvolumeclaims", "get", "", "", "BlkIOReconcile"},
    Right{"", "pods/eviction", "create", "", "", "only-evict-by-api"},
    Right{kSlo, "nodemetrics", "get list watch"},
    Right{kSlo, "nodemetrics/status", "update"},
    Right{kSlo, "nodeslos", "list watch"},
    Right{"scheduling.koordinator.sh", "devices", "create get list update watch", "", "", "Accelerators"},
    Right{kTopology, "noderesourcetopologies", "create get list update watch"},
};

constexpr auto kRights = runtime::join_rights(runtime::kEventRights, kMine);

}  // namespace

std::span<const Right> rights() { return kRights; }

}  // namespace koord::koordlet
