// The schema tables of koord/api/types/core_v1/pod_affinity.hpp: a pod's affinity.
#include "koord/api/types/core_v1/pod_affinity.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(PreferredSchedulingTerm, ROW(weight).required(), ROW(preference).required());
KOORD_SCHEMA(NodeAffinity, ROW(required).wire("requiredDuringSchedulingIgnoredDuringExecution"),
             ROW(preferred).wire("preferredDuringSchedulingIgnoredDuringExecution"));
KOORD_SCHEMA(PodAffinityTerm, ROW(label_selector), ROW(namespaces), ROW(topology_key).required(),
             ROW(namespace_selector), ROW(match_label_keys), ROW(mismatch_label_keys));
KOORD_SCHEMA(WeightedPodAffinityTerm, ROW(weight).required(), ROW(pod_affinity_term).required());
KOORD_SCHEMA(PodAffinity, ROW(required).wire("requiredDuringSchedulingIgnoredDuringExecution"),
             ROW(preferred).wire("preferredDuringSchedulingIgnoredDuringExecution"));
KOORD_SCHEMA(Affinity, ROW(node_affinity), ROW(pod_affinity), ROW(pod_anti_affinity));

}  // namespace koord::api
