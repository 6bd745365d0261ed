// config.koordinator.sh/v1alpha1: ClusterColocationProfile, what pods get when they are admitted.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"
#include "koord/api/values/int_or_string.hpp"

namespace koord::api {

struct ClusterColocationProfileSpec {
  /// Absent and empty select everything for the webhook; of `selector` the controller takes absent for
  /// nothing.
  Box<LabelSelector> namespace_selector;
  Box<LabelSelector> selector;
  std::optional<IntOrString> probability;  // a percentage of the pods; absent: all
  Symbol qos_class;                        // LSE, LSR, LS, BE, SYSTEM
  Symbol priority_class_name;
  std::optional<int32_t> koordinator_priority;  // becomes the label koordinator.sh/priority
  SymbolMap labels;
  SymbolMap annotations;
  SymbolMap label_keys_mapping;       // the key to write, by the key whose value it gets
  SymbolMap annotation_keys_mapping;  // likewise
  SymbolMap label_suffixes;           // what is appended to a label's value, by its key
  Symbol scheduler_name;
  RawJson patch;  // a strategic merge patch of the pod
  KOORD_STRUCT(ClusterColocationProfileSpec);
};

struct ClusterColocationProfileStatus {
  KOORD_STRUCT(ClusterColocationProfileStatus);
};

struct ClusterColocationProfile {
  ObjectMeta metadata;
  ClusterColocationProfileSpec spec;
  ClusterColocationProfileStatus status;
  KOORD_STRUCT(ClusterColocationProfile);
};

}  // namespace koord::api
