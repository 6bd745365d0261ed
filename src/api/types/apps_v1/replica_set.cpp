// The schema tables of koord/api/types/apps_v1/replica_set.hpp: ReplicaSet.
#include "koord/api/types/apps_v1/replica_set.hpp"

#include <cstddef>

namespace koord::api {
namespace {

constexpr std::string_view kReplicaSetShort[] = {"rs"};
constexpr Kind kReplicaSet = {.group = "apps",
                              .version = "v1",
                              .kind = "ReplicaSet",
                              .plural = "replicasets",
                              .singular = "replicaset",
                              .short_names = kReplicaSetShort,
                              .has_status = true};

}  // namespace

template <>
const Schema& schema<ReplicaSetSpec>() {
  using T = ReplicaSetSpec;
  static constexpr Field kRows[] = {
      KOORD_FIELD(replicas, "replicas"),
      KOORD_FIELD(min_ready_seconds, "minReadySeconds"),
      KOORD_FIELD(selector, "selector").required(),
      KOORD_FIELD(template_, "template"),
  };
  static const Schema kSchema("ReplicaSetSpec", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<ReplicaSetStatus>() {
  using T = ReplicaSetStatus;
  static constexpr Field kRows[] = {
      KOORD_FIELD(replicas, "replicas").required(),
      KOORD_FIELD(fully_labeled_replicas, "fullyLabeledReplicas"),
      KOORD_FIELD(ready_replicas, "readyReplicas"),
      KOORD_FIELD(available_replicas, "availableReplicas"),
      KOORD_FIELD(observed_generation, "observedGeneration"),
  };
  static const Schema kSchema("ReplicaSetStatus", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<ReplicaSet>() {
  using T = ReplicaSet;
  static constexpr Field kRows[] = {
      KOORD_FIELD(metadata, "metadata"),
      KOORD_FIELD(spec, "spec"),
      KOORD_FIELD(status, "status"),
  };
  static const Schema kSchema("ReplicaSet", kRows, type_of<T>, &kReplicaSet);
  return kSchema;
}

}  // namespace koord::api
