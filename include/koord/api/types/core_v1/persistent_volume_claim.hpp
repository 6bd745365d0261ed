// PersistentVolumeClaim (v1), as far as volumes are found and made for it.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct VolumeResourceRequirements {
  ResourceList limits;
  ResourceList requests;
  KOORD_STRUCT(VolumeResourceRequirements);
};

struct PersistentVolumeClaimSpec {
  List<Symbol> access_modes;
  Box<LabelSelector> selector;  // of volumes
  VolumeResourceRequirements resources;
  Symbol volume_name;                        // set: the volume that it has, or asks for
  std::optional<Symbol> storage_class_name;  // absent: the cluster's default, empty: none
  Symbol volume_mode;                        // Filesystem, which empty means too, or Block
  std::optional<Symbol> volume_attributes_class_name;
  KOORD_STRUCT(PersistentVolumeClaimSpec);
};

struct PersistentVolumeClaimCondition {
  Symbol type;
  Symbol status;
  Time last_probe_time;
  Time last_transition_time;
  Symbol reason;
  std::string message;
  KOORD_STRUCT(PersistentVolumeClaimCondition);
};

struct PersistentVolumeClaimStatus {
  Symbol phase;  // Pending, Bound, Lost
  List<Symbol> access_modes;
  ResourceList capacity;
  List<PersistentVolumeClaimCondition> conditions;
  KOORD_STRUCT(PersistentVolumeClaimStatus);
};

struct PersistentVolumeClaim {
  ObjectMeta metadata;
  PersistentVolumeClaimSpec spec;
  PersistentVolumeClaimStatus status;
  KOORD_STRUCT(PersistentVolumeClaim);
};

}  // namespace koord::api
