// The schema tables of koord/api/types/core_v1/pod_affinity.hpp: a pod's affinity.
#include "koord/api/types/core_v1/pod_affinity.hpp"

#include <cstddef>

namespace koord::api {

template <>
const Schema& schema<PreferredSchedulingTerm>() {
  using T = PreferredSchedulingTerm;
  static constexpr Field kRows[] = {
      KOORD_FIELD(weight, "weight").required(),
      KOORD_FIELD(preference, "preference").required(),
  };
  static const Schema kSchema("PreferredSchedulingTerm", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<NodeAffinity>() {
  using T = NodeAffinity;
  static constexpr Field kRows[] = {
      KOORD_FIELD(required, "requiredDuringSchedulingIgnoredDuringExecution"),
      KOORD_FIELD(preferred, "preferredDuringSchedulingIgnoredDuringExecution"),
  };
  static const Schema kSchema("NodeAffinity", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<PodAffinityTerm>() {
  using T = PodAffinityTerm;
  static constexpr Field kRows[] = {
      KOORD_FIELD(label_selector, "labelSelector"),
      KOORD_FIELD(namespaces, "namespaces"),
      KOORD_FIELD(topology_key, "topologyKey").required(),
      KOORD_FIELD(namespace_selector, "namespaceSelector"),
      KOORD_FIELD(match_label_keys, "matchLabelKeys"),
      KOORD_FIELD(mismatch_label_keys, "mismatchLabelKeys"),
  };
  static const Schema kSchema("PodAffinityTerm", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<WeightedPodAffinityTerm>() {
  using T = WeightedPodAffinityTerm;
  static constexpr Field kRows[] = {
      KOORD_FIELD(weight, "weight").required(),
      KOORD_FIELD(pod_affinity_term, "podAffinityTerm").required(),
  };
  static const Schema kSchema("WeightedPodAffinityTerm", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<PodAffinity>() {
  using T = PodAffinity;
  static constexpr Field kRows[] = {
      KOORD_FIELD(required, "requiredDuringSchedulingIgnoredDuringExecution"),
      KOORD_FIELD(preferred, "preferredDuringSchedulingIgnoredDuringExecution"),
  };
  static const Schema kSchema("PodAffinity", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<Affinity>() {
  using T = Affinity;
  static constexpr Field kRows[] = {
      KOORD_FIELD(node_affinity, "nodeAffinity"),
      KOORD_FIELD(pod_affinity, "podAffinity"),
      KOORD_FIELD(pod_anti_affinity, "podAntiAffinity"),
  };
  static const Schema kSchema("Affinity", kRows, type_of<T>);
  return kSchema;
}

}  // namespace koord::api
