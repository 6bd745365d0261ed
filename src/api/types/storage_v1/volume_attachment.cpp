// The schema tables of koord/api/types/storage_v1/volume_attachment.hpp: VolumeAttachment.
#include "koord/api/types/storage_v1/volume_attachment.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(VolumeAttachmentSource, ROW(persistent_volume_name), ROW(inline_volume_spec));
KOORD_SCHEMA(VolumeAttachmentSpec, ROW(attacher).required(), ROW(source).required(),
             ROW(node_name).required());
KOORD_SCHEMA(VolumeAttachmentStatus, ROW(attached));
KOORD_OBJECT(VolumeAttachment,
             Kind("storage.k8s.io/v1", "VolumeAttachment", "volumeattachments").cluster_scoped(),
             ROW(metadata), ROW(spec), ROW(status));

}  // namespace koord::api
