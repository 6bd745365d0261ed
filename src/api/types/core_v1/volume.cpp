// The schema tables of koord/api/types/core_v1/volume.hpp: a pod's volumes.
#include "koord/api/types/core_v1/volume.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(PersistentVolumeClaimSource, ROW(claim_name).required(), ROW(read_only));
KOORD_SCHEMA(EphemeralVolumeSource, ROW(volume_claim_template));
KOORD_SCHEMA(CsiVolumeSource, ROW(driver).required(), ROW(read_only));
KOORD_SCHEMA(GcePersistentDiskSource, ROW(pd_name).required(), ROW(read_only));
KOORD_SCHEMA(AwsElasticBlockStoreSource, ROW(volume_id).wire("volumeID").required(), ROW(read_only));
KOORD_SCHEMA(AzureDiskVolumeSource, ROW(disk_name).required(), ROW(data_disk_uri).wire("diskURI").required(),
             ROW(kind));
KOORD_SCHEMA(CinderVolumeSource, ROW(volume_id).wire("volumeID").required());
KOORD_SCHEMA(PortworxVolumeSource, ROW(volume_id).wire("volumeID").required());
KOORD_SCHEMA(IscsiVolumeSource, ROW(iqn).required(), ROW(read_only));
KOORD_SCHEMA(RbdVolumeSource, ROW(monitors).required(), ROW(image).required(), ROW(pool), ROW(read_only));
KOORD_SCHEMA(HostPathVolumeSource, ROW(path).required());
KOORD_SCHEMA(EmptyDirVolumeSource, ROW(medium), ROW(size_limit));
KOORD_SCHEMA(Volume, ROW(name).required(), ROW(persistent_volume_claim), ROW(ephemeral), ROW(csi),
             ROW(gce_persistent_disk), ROW(aws_elastic_block_store), ROW(azure_disk), ROW(cinder),
             ROW(portworx_volume), ROW(iscsi), ROW(rbd), ROW(host_path), ROW(empty_dir));

}  // namespace koord::api
