// storage.k8s.io/v1: VolumeAttachment, a volume that is to be at a node.
#pragma once

#include "koord/api/types/core_v1/persistent_volume.hpp"

namespace koord::api {

struct VolumeAttachmentSource {
  std::optional<std::string> persistent_volume_name;
  Box<PersistentVolumeSpec> inline_volume_spec;
  KOORD_STRUCT(VolumeAttachmentSource);
};

struct VolumeAttachmentSpec {
  Symbol attacher;
  VolumeAttachmentSource source;
  Symbol node_name;
  KOORD_STRUCT(VolumeAttachmentSpec);
};

struct VolumeAttachmentStatus {
  bool attached = false;
  KOORD_STRUCT(VolumeAttachmentStatus);
};

struct VolumeAttachment {
  ObjectMeta metadata;
  VolumeAttachmentSpec spec;
  VolumeAttachmentStatus status;
  KOORD_STRUCT(VolumeAttachment);
};

}  // namespace koord::api
