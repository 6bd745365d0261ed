// A pod's affinity terms (v1).
#pragma once

#include "koord/api/types/core_v1/node.hpp"

namespace koord::api {

struct PreferredSchedulingTerm {
  int32_t weight = 0;
  NodeSelectorTerm preference;

  friend bool operator==(const PreferredSchedulingTerm&, const PreferredSchedulingTerm&) = default;
};
KOORD_API_SCHEMA(PreferredSchedulingTerm);

// On the wire the two members are requiredDuringSchedulingIgnoredDuringExecution and
// preferredDuringSchedulingIgnoredDuringExecution, here and below.

struct NodeAffinity {
  Box<NodeSelector> required;
  List<PreferredSchedulingTerm> preferred;

  friend bool operator==(const NodeAffinity&, const NodeAffinity&) = default;
};
KOORD_API_SCHEMA(NodeAffinity);

struct PodAffinityTerm {
  Box<LabelSelector> label_selector;
  List<Symbol> namespaces;
  Symbol topology_key;
  Box<LabelSelector> namespace_selector;
  List<Symbol> match_label_keys;
  List<Symbol> mismatch_label_keys;

  friend bool operator==(const PodAffinityTerm&, const PodAffinityTerm&) = default;
};
KOORD_API_SCHEMA(PodAffinityTerm);

struct WeightedPodAffinityTerm {
  int32_t weight = 0;
  PodAffinityTerm pod_affinity_term;

  friend bool operator==(const WeightedPodAffinityTerm&, const WeightedPodAffinityTerm&) = default;
};
KOORD_API_SCHEMA(WeightedPodAffinityTerm);

/// Both podAffinity and podAntiAffinity.
struct PodAffinity {
  List<PodAffinityTerm> required;
  List<WeightedPodAffinityTerm> preferred;

  friend bool operator==(const PodAffinity&, const PodAffinity&) = default;
};
KOORD_API_SCHEMA(PodAffinity);

struct Affinity {
  Box<NodeAffinity> node_affinity;
  Box<PodAffinity> pod_affinity;
  Box<PodAffinity> pod_anti_affinity;

  friend bool operator==(const Affinity&, const Affinity&) = default;
};
KOORD_API_SCHEMA(Affinity);

}  // namespace koord::api
