// The schema tables of koord/api/types/core_v1/volume.hpp: a pod's volumes.
#include "koord/api/types/core_v1/volume.hpp"

#include <cstddef>

namespace koord::api {

template <>
const Schema& schema<PersistentVolumeClaimSource>() {
  using T = PersistentVolumeClaimSource;
  static constexpr Field kRows[] = {
      KOORD_FIELD(claim_name, "claimName").required(),
      KOORD_FIELD(read_only, "readOnly"),
  };
  static const Schema kSchema("PersistentVolumeClaimSource", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<EphemeralVolumeSource>() {
  using T = EphemeralVolumeSource;
  static constexpr Field kRows[] = {
      KOORD_FIELD(volume_claim_template, "volumeClaimTemplate"),
  };
  static const Schema kSchema("EphemeralVolumeSource", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<CsiVolumeSource>() {
  using T = CsiVolumeSource;
  static constexpr Field kRows[] = {
      KOORD_FIELD(driver, "driver").required(),
      KOORD_FIELD(read_only, "readOnly"),
  };
  static const Schema kSchema("CsiVolumeSource", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<GcePersistentDiskSource>() {
  using T = GcePersistentDiskSource;
  static constexpr Field kRows[] = {
      KOORD_FIELD(pd_name, "pdName").required(),
      KOORD_FIELD(read_only, "readOnly"),
  };
  static const Schema kSchema("GcePersistentDiskSource", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<AwsElasticBlockStoreSource>() {
  using T = AwsElasticBlockStoreSource;
  static constexpr Field kRows[] = {
      KOORD_FIELD(volume_id, "volumeID").required(),
      KOORD_FIELD(read_only, "readOnly"),
  };
  static const Schema kSchema("AwsElasticBlockStoreSource", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<IscsiVolumeSource>() {
  using T = IscsiVolumeSource;
  static constexpr Field kRows[] = {
      KOORD_FIELD(iqn, "iqn").required(),
      KOORD_FIELD(read_only, "readOnly"),
  };
  static const Schema kSchema("IscsiVolumeSource", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<RbdVolumeSource>() {
  using T = RbdVolumeSource;
  static constexpr Field kRows[] = {
      KOORD_FIELD(monitors, "monitors").required(),
      KOORD_FIELD(image, "image").required(),
      KOORD_FIELD(pool, "pool"),
      KOORD_FIELD(read_only, "readOnly"),
  };
  static const Schema kSchema("RbdVolumeSource", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<HostPathVolumeSource>() {
  using T = HostPathVolumeSource;
  static constexpr Field kRows[] = {
      KOORD_FIELD(path, "path").required(),
  };
  static const Schema kSchema("HostPathVolumeSource", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<EmptyDirVolumeSource>() {
  using T = EmptyDirVolumeSource;
  static constexpr Field kRows[] = {
      KOORD_FIELD(medium, "medium"),
      KOORD_FIELD(size_limit, "sizeLimit"),
  };
  static const Schema kSchema("EmptyDirVolumeSource", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<Volume>() {
  using T = Volume;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name").required(),
      KOORD_FIELD(persistent_volume_claim, "persistentVolumeClaim"),
      KOORD_FIELD(ephemeral, "ephemeral"),
      KOORD_FIELD(csi, "csi"),
      KOORD_FIELD(gce_persistent_disk, "gcePersistentDisk"),
      KOORD_FIELD(aws_elastic_block_store, "awsElasticBlockStore"),
      KOORD_FIELD(iscsi, "iscsi"),
      KOORD_FIELD(rbd, "rbd"),
      KOORD_FIELD(host_path, "hostPath"),
      KOORD_FIELD(empty_dir, "emptyDir"),
  };
  static const Schema kSchema("Volume", kRows, type_of<T>);
  return kSchema;
}

}  // namespace koord::api
