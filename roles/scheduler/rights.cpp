// What the scheduler may do in the API server: see rights.hpp.
#include "rights.hpp"

#include <array>

namespace koord::scheduler {

namespace {

using runtime::Right;

constexpr std::array kMine = {
    Right{"", "nodes", "list watch"},
    // The lock of a node that a vendor's device plugin reads.
    Right{"", "nodes", "get patch", "", "", "DevicePluginAdaption"},
    Right{"", "pods", "delete get list patch watch"},
    Right{"", "pods/binding", "create"},
    // Of quotas that use more than they may (monitorAllQuotas).
    Right{"", "pods/eviction", "create"},
    Right{"", "pods/status", "patch"},
    // What plugins watch.
    Right{"", "configmaps", "list watch", "gpu-shared-resource-templates", runtime::kOwnNamespace},
    Right{"", "namespaces", "list watch"},
    Right{"", "persistentvolumeclaims", "list patch watch"},
    Right{"", "persistentvolumes", "list patch watch"},
    Right{"", "replicationcontrollers", "list watch"},
    Right{"", "services", "list watch"},
    Right{"apps", "replicasets", "list watch"},
    Right{"apps", "statefulsets", "list watch"},
    Right{"policy", "poddisruptionbudgets", "list watch"},
    Right{"resource.k8s.io", "deviceclasses", "list watch"},
    Right{"resource.k8s.io", "devicetaintrules", "list watch", "", "", "DRADeviceTaintRules"},
    Right{"resource.k8s.io", "resourceclaims", "get list update watch"},
    // For extended resources that are devices.
    Right{"resource.k8s.io", "resourceclaims", "create delete", "", "", "DRAExtendedResource"},
    Right{"resource.k8s.io", "resourceclaims/status", "patch update"},
    Right{"resource.k8s.io", "resourceslices", "list watch"},
    Right{"scheduling.k8s.io", "podgroups", "list watch", "", "", "GangScheduling"},
    Right{"scheduling.k8s.io", "workloads", "list watch", "", "", "GangScheduling"},
    Right{"scheduling.koordinator.sh", "clusternetworktopologies", "list watch", "", "",
          "enable-network-topology-manager"},
    Right{"scheduling.koordinator.sh", "clusternetworktopologies/status", "patch", "", "",
          "enable-network-topology-manager"},
    Right{"scheduling.koordinator.sh", "devices", "list watch"},
    Right{"scheduling.koordinator.sh", "reservations", "delete get list patch watch"},
    Right{"scheduling.koordinator.sh", "reservations/status", "patch"},
    Right{"scheduling.sigs.k8s.io", "elasticquotas", "create list patch watch"},
    Right{"scheduling.sigs.k8s.io", "podgroups", "list patch watch"},
    Right{"slo.koordinator.sh", "nodemetrics", "list watch"},
    Right{"storage.k8s.io", "csidrivers", "list watch"},
    Right{"storage.k8s.io", "csinodes", "list watch"},
    Right{"storage.k8s.io", "csistoragecapacities", "list watch"},
    Right{"storage.k8s.io", "storageclasses", "list watch"},
    Right{"storage.k8s.io", "volumeattachments", "list watch"},
    Right{"topology.node.k8s.io", "noderesourcetopologies", "list watch"},
};

constexpr auto kRights = runtime::join_rights(runtime::election_rights("koord-scheduler"),
                                              runtime::kEventRights, runtime::kServingRights, kMine);

}  // namespace

std::span<const Right> rights() { return kRights; }

}  // namespace koord::scheduler
