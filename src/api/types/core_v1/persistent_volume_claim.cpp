// The schema tables of koord/api/types/core_v1/persistent_volume_claim.hpp: PersistentVolumeClaim.
#include "koord/api/types/core_v1/persistent_volume_claim.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(VolumeResourceRequirements, ROW(limits), ROW(requests));
KOORD_SCHEMA(PersistentVolumeClaimSpec, ROW(access_modes), ROW(selector), ROW(resources), ROW(volume_name),
             ROW(storage_class_name), ROW(volume_mode), ROW(volume_attributes_class_name));
KOORD_SCHEMA(PersistentVolumeClaimCondition, ROW(type).required(), ROW(status).required(),
             ROW(last_probe_time), ROW(last_transition_time), ROW(reason), ROW(message));
KOORD_SCHEMA(PersistentVolumeClaimStatus, ROW(phase), ROW(access_modes), ROW(capacity),
             ROW(conditions).merge_key("type"));
KOORD_OBJECT(PersistentVolumeClaim, Kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
             ROW(metadata), ROW(spec), ROW(status));

}  // namespace koord::api
