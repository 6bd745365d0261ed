// The schema tables of koord/api/types/core_v1/persistent_volume.hpp: PersistentVolume.
#include "koord/api/types/core_v1/persistent_volume.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(CsiPersistentVolumeSource, ROW(driver).required(), ROW(volume_handle).required(),
             ROW(read_only));
KOORD_SCHEMA(LocalVolumeSource, ROW(path).required());
KOORD_SCHEMA(AzureFilePersistentVolumeSource, ROW(secret_name).required(), ROW(share_name).required(),
             ROW(secret_namespace));
KOORD_SCHEMA(CinderPersistentVolumeSource, ROW(volume_id).wire("volumeID").required());
KOORD_SCHEMA(VsphereVolumeSource, ROW(volume_path).required());
KOORD_SCHEMA(VolumeNodeAffinity, ROW(required));
KOORD_SCHEMA(PersistentVolumeSpec, ROW(capacity), ROW(access_modes), ROW(claim_ref),
             ROW(persistent_volume_reclaim_policy), ROW(storage_class_name), ROW(volume_mode),
             ROW(node_affinity), ROW(volume_attributes_class_name), ROW(csi), ROW(local), ROW(host_path),
             ROW(gce_persistent_disk), ROW(aws_elastic_block_store), ROW(azure_disk), ROW(azure_file),
             ROW(cinder), ROW(vsphere_volume), ROW(portworx_volume));
KOORD_SCHEMA(PersistentVolumeStatus, ROW(phase), ROW(message), ROW(reason));
KOORD_OBJECT(PersistentVolume, Kind("v1", "PersistentVolume", "persistentvolumes").cluster_scoped(),
             ROW(metadata), ROW(spec), ROW(status));

}  // namespace koord::api
