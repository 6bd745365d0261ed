// What an engine is fed with, as rights: for the roles that have one.
#pragma once

#include <array>

#include "koord/runtime/rights.hpp"

namespace koord::scheduling {

/// Nodes, pods and what plugins watch, of the shipped profile and of any other one; without what only gates
/// and flags ask for that are off by default.
inline constexpr std::array<runtime::Right, 25> kEngineReads = {{
    {"", "configmaps", "list watch", "gpu-shared-resource-templates", runtime::kOwnNamespace},
    {"", "namespaces", "list watch"},
    {"", "nodes", "list watch"},
    {"", "persistentvolumeclaims", "list watch"},
    {"", "persistentvolumes", "list watch"},
    {"", "pods", "list watch"},
    {"", "replicationcontrollers", "list watch"},
    {"", "services", "list watch"},
    {"apps", "replicasets", "list watch"},
    {"apps", "statefulsets", "list watch"},
    {"policy", "poddisruptionbudgets", "list watch"},
    {"resource.k8s.io", "deviceclasses", "list watch"},
    {"resource.k8s.io", "resourceclaims", "list watch"},
    {"resource.k8s.io", "resourceslices", "list watch"},
    {"scheduling.koordinator.sh", "devices", "list watch"},
    {"scheduling.koordinator.sh", "reservations", "list watch"},
    {"scheduling.sigs.k8s.io", "elasticquotas", "list watch"},
    {"scheduling.sigs.k8s.io", "podgroups", "list watch"},
    {"slo.koordinator.sh", "nodemetrics", "list watch"},
    {"storage.k8s.io", "csidrivers", "list watch"},
    {"storage.k8s.io", "csinodes", "list watch"},
    {"storage.k8s.io", "csistoragecapacities", "list watch"},
    {"storage.k8s.io", "storageclasses", "list watch"},
    {"storage.k8s.io", "volumeattachments", "list watch"},
    {"topology.node.k8s.io", "noderesourcetopologies", "list watch"},
}};

}  // namespace koord::scheduling
