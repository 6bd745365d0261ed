// A pod's affinity terms (v1).
#pragma once

#include "koord/api/types/core_v1/node.hpp"

namespace koord::api {

struct PreferredSchedulingTerm {
  int32_t weight = 0;
  NodeSelectorTerm preference;
  KOORD_STRUCT(PreferredSchedulingTerm);
};

// On the wire the two members are requiredDuringSchedulingIgnoredDuringExecution and
// preferredDuringSchedulingIgnoredDuringExecution, here and below.

struct NodeAffinity {
  Box<NodeSelector> required;
  List<PreferredSchedulingTerm> preferred;
  KOORD_STRUCT(NodeAffinity);
};

struct PodAffinityTerm {
  Box<LabelSelector> label_selector;
  List<Symbol> namespaces;
  Symbol topology_key;
  Box<LabelSelector> namespace_selector;
  List<Symbol> match_label_keys;
  List<Symbol> mismatch_label_keys;
  KOORD_STRUCT(PodAffinityTerm);
};

struct WeightedPodAffinityTerm {
  int32_t weight = 0;
  PodAffinityTerm pod_affinity_term;
  KOORD_STRUCT(WeightedPodAffinityTerm);
};

/// Both podAffinity and podAntiAffinity.
struct PodAffinity {
  List<PodAffinityTerm> required;
  List<WeightedPodAffinityTerm> preferred;
  KOORD_STRUCT(PodAffinity);
};

struct Affinity {
  Box<NodeAffinity> node_affinity;
  Box<PodAffinity> pod_affinity;
  Box<PodAffinity> pod_anti_affinity;
  KOORD_STRUCT(Affinity);
};

}  // namespace koord::api
