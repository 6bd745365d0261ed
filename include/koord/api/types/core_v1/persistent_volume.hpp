// PersistentVolume (v1), as far as it decides which claims get it and where their pods can run.
#pragma once

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/object_reference.hpp"
#include "koord/api/types/core_v1/volume.hpp"

namespace koord::api {

struct CsiPersistentVolumeSource {
  Symbol driver;
  std::string volume_handle;
  bool read_only = false;
  KOORD_STRUCT(CsiPersistentVolumeSource);
};

struct LocalVolumeSource {
  std::string path;
  KOORD_STRUCT(LocalVolumeSource);
};

struct AzureFilePersistentVolumeSource {
  std::string secret_name;
  std::string share_name;
  std::optional<std::string> secret_namespace;
  KOORD_STRUCT(AzureFilePersistentVolumeSource);
};

struct CinderPersistentVolumeSource {
  std::string volume_id;
  KOORD_STRUCT(CinderPersistentVolumeSource);
};

struct VsphereVolumeSource {
  std::string volume_path;
  KOORD_STRUCT(VsphereVolumeSource);
};

struct VolumeNodeAffinity {
  Box<NodeSelector> required;
  KOORD_STRUCT(VolumeNodeAffinity);
};

struct PersistentVolumeSpec {
  ResourceList capacity;
  List<Symbol> access_modes;       // ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod
  Box<ObjectReference> claim_ref;  // whose it is; without a uid: whose it will be
  Symbol persistent_volume_reclaim_policy;
  Symbol storage_class_name;
  Symbol volume_mode;  // Filesystem, which empty means too, or Block
  Box<VolumeNodeAffinity> node_affinity;
  std::optional<Symbol> volume_attributes_class_name;
  // What it is; one of them, or one that is not described here.
  Box<CsiPersistentVolumeSource> csi;
  Box<LocalVolumeSource> local;
  Box<HostPathVolumeSource> host_path;
  Box<GcePersistentDiskSource> gce_persistent_disk;
  Box<AwsElasticBlockStoreSource> aws_elastic_block_store;
  Box<AzureDiskVolumeSource> azure_disk;
  Box<AzureFilePersistentVolumeSource> azure_file;
  Box<CinderPersistentVolumeSource> cinder;
  Box<VsphereVolumeSource> vsphere_volume;
  Box<PortworxVolumeSource> portworx_volume;
  KOORD_STRUCT(PersistentVolumeSpec);
};

struct PersistentVolumeStatus {
  Symbol phase;  // Pending, Available, Bound, Released, Failed
  std::string message;
  Symbol reason;
  KOORD_STRUCT(PersistentVolumeStatus);
};

struct PersistentVolume {
  ObjectMeta metadata;
  PersistentVolumeSpec spec;
  PersistentVolumeStatus status;
  KOORD_STRUCT(PersistentVolume);
};

}  // namespace koord::api
