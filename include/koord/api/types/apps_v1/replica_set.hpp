// apps/v1: ReplicaSet, as far as koord follows owners and replicas.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct ReplicaSetSpec {
  std::optional<int32_t> replicas;
  int32_t min_ready_seconds = 0;
  LabelSelector selector;
  RawJson template_;  // a PodTemplateSpec, whole
  KOORD_STRUCT(ReplicaSetSpec);
};

struct ReplicaSetStatus {
  int32_t replicas = 0;
  int32_t fully_labeled_replicas = 0;
  int32_t ready_replicas = 0;
  int32_t available_replicas = 0;
  int64_t observed_generation = 0;
  KOORD_STRUCT(ReplicaSetStatus);
};

struct ReplicaSet {
  ObjectMeta metadata;
  ReplicaSetSpec spec;
  ReplicaSetStatus status;
  KOORD_STRUCT(ReplicaSet);
};

}  // namespace koord::api
