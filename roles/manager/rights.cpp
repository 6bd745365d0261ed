// What the manager may do in the API server: see rights.hpp.
#include "rights.hpp"

#include <array>

namespace koord::manager {

namespace {

using runtime::Right;

constexpr std::string_view kSlo = "slo.koordinator.sh";

constexpr std::array kMine = {
    Right{"", "configmaps", "list watch", "slo-controller-config", runtime::kOwnNamespace},
    Right{"", "nodes", "list watch"},
    Right{"", "nodes/status", "patch"},
    Right{"", "pods", "list watch"},
    Right{kSlo, "nodemetrics", "list watch create patch delete"},
    Right{kSlo, "nodeslos", "list watch create patch delete"},
};

constexpr auto kRights =
    runtime::join_rights(runtime::election_rights("koordinator-manager"), runtime::kEventRights, kMine);

}  // namespace

std::span<const Right> rights() { return kRights; }

}  // namespace koord::manager
