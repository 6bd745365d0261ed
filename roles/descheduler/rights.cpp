// What the descheduler may do in the API server: see rights.hpp.
#include "rights.hpp"

#include <array>

namespace koord::descheduler {

namespace {

using runtime::Right;

constexpr std::array kMine = {
    // What a pass is made on.
    Right{"", "namespaces", "list watch"},
    Right{"", "nodes", "list watch"},
    Right{"", "pods", "list watch"},
    Right{"policy", "poddisruptionbudgets", "list watch"},
    Right{"scheduling.k8s.io", "priorityclasses", "list watch"},
    Right{"slo.koordinator.sh", "nodemetrics", "list watch"},
    // How pods are asked to go: the policies Eviction, Delete and SoftEviction.
    Right{"", "pods/eviction", "create"},
    Right{"", "pods", "delete patch"},
};

constexpr auto kRights = runtime::join_rights(runtime::election_rights("koord-descheduler"),
                                              runtime::kEventRights, runtime::kServingRights, kMine);

}  // namespace

std::span<const Right> rights() { return kRights; }

}  // namespace koord::descheduler
