// apps/v1: Deployment, as far as koord follows owners and replicas.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"
#include "koord/api/values/int_or_string.hpp"

namespace koord::api {

struct RollingUpdateDeployment {
  std::optional<IntOrString> max_unavailable;
  std::optional<IntOrString> max_surge;
  KOORD_STRUCT(RollingUpdateDeployment);
};

struct DeploymentStrategy {
  Symbol type;  // RollingUpdate, Recreate
  Box<RollingUpdateDeployment> rolling_update;
  KOORD_STRUCT(DeploymentStrategy);
};

struct DeploymentSpec {
  std::optional<int32_t> replicas;
  LabelSelector selector;
  RawJson template_;  // a PodTemplateSpec, whole
  DeploymentStrategy strategy;
  int32_t min_ready_seconds = 0;
  std::optional<int32_t> revision_history_limit;
  bool paused = false;
  std::optional<int32_t> progress_deadline_seconds;
  KOORD_STRUCT(DeploymentSpec);
};

struct DeploymentCondition {
  Symbol type;
  Symbol status;
  Time last_update_time;
  Time last_transition_time;
  Symbol reason;
  std::string message;
  KOORD_STRUCT(DeploymentCondition);
};

struct DeploymentStatus {
  int64_t observed_generation = 0;
  int32_t replicas = 0;
  int32_t updated_replicas = 0;
  int32_t ready_replicas = 0;
  int32_t available_replicas = 0;
  int32_t unavailable_replicas = 0;
  std::vector<DeploymentCondition> conditions;
  KOORD_STRUCT(DeploymentStatus);
};

struct Deployment {
  ObjectMeta metadata;
  DeploymentSpec spec;
  DeploymentStatus status;
  KOORD_STRUCT(Deployment);
};

}  // namespace koord::api
