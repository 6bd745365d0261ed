// The volumes of a pod (v1), as far as they decide where it can run.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct PersistentVolumeClaimSource {
  std::string claim_name;
  bool read_only = false;

  friend bool operator==(const PersistentVolumeClaimSource&, const PersistentVolumeClaimSource&) = default;
};
KOORD_API_SCHEMA(PersistentVolumeClaimSource);

struct EphemeralVolumeSource {
  RawJson volume_claim_template;

  friend bool operator==(const EphemeralVolumeSource&, const EphemeralVolumeSource&) = default;
};
KOORD_API_SCHEMA(EphemeralVolumeSource);

struct CsiVolumeSource {
  Symbol driver;
  std::optional<bool> read_only;

  friend bool operator==(const CsiVolumeSource&, const CsiVolumeSource&) = default;
};
KOORD_API_SCHEMA(CsiVolumeSource);

struct GcePersistentDiskSource {
  std::string pd_name;
  bool read_only = false;

  friend bool operator==(const GcePersistentDiskSource&, const GcePersistentDiskSource&) = default;
};
KOORD_API_SCHEMA(GcePersistentDiskSource);

struct AwsElasticBlockStoreSource {
  std::string volume_id;
  bool read_only = false;

  friend bool operator==(const AwsElasticBlockStoreSource&, const AwsElasticBlockStoreSource&) = default;
};
KOORD_API_SCHEMA(AwsElasticBlockStoreSource);

struct IscsiVolumeSource {
  std::string iqn;
  bool read_only = false;

  friend bool operator==(const IscsiVolumeSource&, const IscsiVolumeSource&) = default;
};
KOORD_API_SCHEMA(IscsiVolumeSource);

struct RbdVolumeSource {
  List<std::string> monitors;
  std::string image;
  std::string pool;
  bool read_only = false;

  friend bool operator==(const RbdVolumeSource&, const RbdVolumeSource&) = default;
};
KOORD_API_SCHEMA(RbdVolumeSource);

struct HostPathVolumeSource {
  std::string path;

  friend bool operator==(const HostPathVolumeSource&, const HostPathVolumeSource&) = default;
};
KOORD_API_SCHEMA(HostPathVolumeSource);

struct EmptyDirVolumeSource {
  Symbol medium;
  std::optional<Quantity> size_limit;

  friend bool operator==(const EmptyDirVolumeSource&, const EmptyDirVolumeSource&) = default;
};
KOORD_API_SCHEMA(EmptyDirVolumeSource);

struct Volume {
  Symbol name;
  Box<PersistentVolumeClaimSource> persistent_volume_claim;
  Box<EphemeralVolumeSource> ephemeral;
  Box<CsiVolumeSource> csi;
  Box<GcePersistentDiskSource> gce_persistent_disk;
  Box<AwsElasticBlockStoreSource> aws_elastic_block_store;
  Box<IscsiVolumeSource> iscsi;
  Box<RbdVolumeSource> rbd;
  Box<HostPathVolumeSource> host_path;
  Box<EmptyDirVolumeSource> empty_dir;

  friend bool operator==(const Volume&, const Volume&) = default;
};
KOORD_API_SCHEMA(Volume);

}  // namespace koord::api
