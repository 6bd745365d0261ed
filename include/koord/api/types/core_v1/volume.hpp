// The volumes of a pod (v1), as far as they decide where it can run.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct PersistentVolumeClaimSource {
  std::string claim_name;
  bool read_only = false;
  KOORD_STRUCT(PersistentVolumeClaimSource);
};

struct EphemeralVolumeSource {
  RawJson volume_claim_template;
  KOORD_STRUCT(EphemeralVolumeSource);
};

struct CsiVolumeSource {
  Symbol driver;
  std::optional<bool> read_only;
  KOORD_STRUCT(CsiVolumeSource);
};

struct GcePersistentDiskSource {
  std::string pd_name;
  bool read_only = false;
  KOORD_STRUCT(GcePersistentDiskSource);
};

struct AwsElasticBlockStoreSource {
  std::string volume_id;
  bool read_only = false;
  KOORD_STRUCT(AwsElasticBlockStoreSource);
};

struct AzureDiskVolumeSource {
  std::string disk_name;
  std::string data_disk_uri;
  std::optional<Symbol> kind;  // Shared, Dedicated, Managed
  KOORD_STRUCT(AzureDiskVolumeSource);
};

struct CinderVolumeSource {
  std::string volume_id;
  KOORD_STRUCT(CinderVolumeSource);
};

struct PortworxVolumeSource {
  std::string volume_id;
  KOORD_STRUCT(PortworxVolumeSource);
};

struct IscsiVolumeSource {
  std::string iqn;
  bool read_only = false;
  KOORD_STRUCT(IscsiVolumeSource);
};

struct RbdVolumeSource {
  List<std::string> monitors;
  std::string image;
  std::string pool;
  bool read_only = false;
  KOORD_STRUCT(RbdVolumeSource);
};

struct HostPathVolumeSource {
  std::string path;
  KOORD_STRUCT(HostPathVolumeSource);
};

struct EmptyDirVolumeSource {
  Symbol medium;
  std::optional<Quantity> size_limit;
  KOORD_STRUCT(EmptyDirVolumeSource);
};

struct Volume {
  Symbol name;
  Box<PersistentVolumeClaimSource> persistent_volume_claim;
  Box<EphemeralVolumeSource> ephemeral;
  Box<CsiVolumeSource> csi;
  Box<GcePersistentDiskSource> gce_persistent_disk;
  Box<AwsElasticBlockStoreSource> aws_elastic_block_store;
  Box<AzureDiskVolumeSource> azure_disk;
  Box<CinderVolumeSource> cinder;
  Box<PortworxVolumeSource> portworx_volume;
  Box<IscsiVolumeSource> iscsi;
  Box<RbdVolumeSource> rbd;
  Box<HostPathVolumeSource> host_path;
  Box<EmptyDirVolumeSource> empty_dir;
  KOORD_STRUCT(Volume);
};

}  // namespace koord::api
