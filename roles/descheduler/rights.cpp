// What the descheduler may do in the API server: see rights.hpp.
#include "rights.hpp"

#include <array>

#include "drain/gate.hpp"
#include "koord/scheduling/rights.hpp"

namespace koord::descheduler {

namespace {

using runtime::Right;

constexpr Right drains(std::string_view group, std::string_view resource, std::string_view verbs) {
  return {group, resource, verbs, {}, {}, kDrainGate};
}

constexpr std::array kMine = {
    // What a pass is made on, beside what the scheduler's engine is fed with.
    Right{"scheduling.k8s.io", "priorityclasses", "list watch"},
    // How pods are asked to go: the policies Eviction, Delete and SoftEviction.
    Right{"", "pods/eviction", "create"},
    Right{"", "pods", "delete patch"},
    // The MigrationController's: jobs and their reservations, a pod whole as it is reserved for, and what
    // stands behind pods. Kinds that have a scale and are none of these need a right of their own.
    Right{"scheduling.koordinator.sh", "podmigrationjobs", "create delete get list patch watch"},
    Right{"scheduling.koordinator.sh", "podmigrationjobs/status", "patch"},
    Right{"scheduling.koordinator.sh", "reservations", "create delete get patch"},
    Right{"", "pods", "get"},
    Right{"apps", "deployments", "list watch"},
    Right{"apps.kruise.io", "clonesets/scale", "get"},
    Right{"apps.kruise.io", "statefulsets/scale", "get"},
    // CustomPriority's autoCordon.
    Right{"", "nodes", "patch"},
    // The plugin Drain: nodes are marked, room is made, jobs move pods.
    drains("", "nodes", "patch"),
    drains("scheduling.koordinator.sh", "drainnodegroups", "list watch delete"),
    drains("scheduling.koordinator.sh", "drainnodegroups/status", "patch"),
    drains("scheduling.koordinator.sh", "drainnodes", "list watch create patch delete"),
    drains("scheduling.koordinator.sh", "drainnodes/status", "patch"),
};

constexpr auto kRights =
    runtime::join_rights(runtime::election_rights("koord-descheduler"), runtime::kEventRights,
                         runtime::kServingRights, scheduling::kEngineReads, kMine);

}  // namespace

std::span<const Right> rights() { return kRights; }

}  // namespace koord::descheduler
