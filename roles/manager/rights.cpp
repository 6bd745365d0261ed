// What the manager may do in the API server: see rights.hpp.
#include "rights.hpp"

#include <array>

namespace koord::manager {

namespace {

using runtime::Right;

constexpr std::string_view kSlo = "slo.koordinator.sh";

constexpr std::array kMine = {
    Right{"", "configmaps", "list watch", "slo-controller-config", runtime::kOwnNamespace},
    Right{"", "nodes", "list watch patch"},
    Right{"", "nodes/status", "patch"},
    Right{"", "pods", "list watch"},
    Right{"scheduling.koordinator.sh", "devices", "list watch"},
    Right{kSlo, "nodemetrics", "list watch create patch delete"},
    Right{kSlo, "nodeslos", "list watch create patch delete"},
    Right{"scheduling.sigs.k8s.io", "elasticquotas", "list"},
    Right{"topology.node.k8s.io", "noderesourcetopologies", "list watch patch"},
};

constexpr auto kRights =
    runtime::join_rights(runtime::election_rights("koordinator-manager"), runtime::kEventRights, kMine);

}  // namespace

std::span<const Right> rights() { return kRights; }

}  // namespace koord::manager
