// What the scheduler may do in the API server: see rights.hpp.
#include "rights.hpp"

#include <array>

#include "koord/scheduling/rights.hpp"

namespace koord::scheduler {

namespace {

using runtime::Right;

// Beside what its engine is fed with.
constexpr std::array kMine = {
    // The lock of a node that a vendor's device plugin reads.
    Right{"", "nodes", "get patch", "", "", "DevicePluginAdaption"},
    Right{"", "pods", "delete get patch"},
    Right{"", "pods/binding", "create"},
    // Of quotas that use more than they may (monitorAllQuotas).
    Right{"", "pods/eviction", "create"},
    Right{"", "pods/status", "patch"},
    // What plugins write, and what they watch with a gate or a flag.
    Right{"", "persistentvolumeclaims", "patch"},
    Right{"", "persistentvolumes", "patch"},
    Right{"resource.k8s.io", "devicetaintrules", "list watch", "", "", "DRADeviceTaintRules"},
    Right{"resource.k8s.io", "resourceclaims", "get update"},
    // For extended resources that are devices.
    Right{"resource.k8s.io", "resourceclaims", "create delete", "", "", "DRAExtendedResource"},
    // From Kubernetes 1.36 on a claim's allocation and users take this besides the status's.
    Right{"resource.k8s.io", "resourceclaims/binding", "patch update"},
    Right{"resource.k8s.io", "resourceclaims/status", "patch update"},
    Right{"scheduling.k8s.io", "podgroups", "list watch", "", "", "GangScheduling"},
    Right{"scheduling.k8s.io", "workloads", "list watch", "", "", "GangScheduling"},
    Right{"scheduling.koordinator.sh", "clusternetworktopologies", "list watch", "", "",
          "enable-network-topology-manager"},
    Right{"scheduling.koordinator.sh", "clusternetworktopologies/status", "patch", "", "",
          "enable-network-topology-manager"},
    Right{"scheduling.koordinator.sh", "reservations", "delete get patch"},
    Right{"scheduling.koordinator.sh", "reservations/status", "patch"},
    Right{"scheduling.sigs.k8s.io", "elasticquotas", "create patch"},
    Right{"scheduling.sigs.k8s.io", "podgroups", "patch"},
};

constexpr auto kRights =
    runtime::join_rights(runtime::election_rights("koord-scheduler"), runtime::kEventRights,
                         runtime::kServingRights, scheduling::kEngineReads, kMine);

}  // namespace

std::span<const Right> rights() { return kRights; }

}  // namespace koord::scheduler
