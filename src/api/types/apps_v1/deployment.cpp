// The schema tables of koord/api/types/apps_v1/deployment.hpp: Deployment.
#include "koord/api/types/apps_v1/deployment.hpp"

#include <cstddef>

namespace koord::api {
namespace {

constexpr std::string_view kDeploymentShort[] = {"deploy"};
constexpr Kind kDeployment = {.group = "apps",
                              .version = "v1",
                              .kind = "Deployment",
                              .plural = "deployments",
                              .singular = "deployment",
                              .short_names = kDeploymentShort,
                              .has_status = true};

}  // namespace

template <>
const Schema& schema<RollingUpdateDeployment>() {
  using T = RollingUpdateDeployment;
  static constexpr Field kRows[] = {
      KOORD_FIELD(max_unavailable, "maxUnavailable"),
      KOORD_FIELD(max_surge, "maxSurge"),
  };
  static const Schema kSchema("RollingUpdateDeployment", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<DeploymentStrategy>() {
  using T = DeploymentStrategy;
  static constexpr Field kRows[] = {
      KOORD_FIELD(type, "type"),
      KOORD_FIELD(rolling_update, "rollingUpdate"),
  };
  static const Schema kSchema("DeploymentStrategy", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<DeploymentSpec>() {
  using T = DeploymentSpec;
  static constexpr Field kRows[] = {
      KOORD_FIELD(replicas, "replicas"),
      KOORD_FIELD(selector, "selector").required(),
      KOORD_FIELD(template_, "template").required(),
      KOORD_FIELD(strategy, "strategy"),
      KOORD_FIELD(min_ready_seconds, "minReadySeconds"),
      KOORD_FIELD(revision_history_limit, "revisionHistoryLimit"),
      KOORD_FIELD(paused, "paused"),
      KOORD_FIELD(progress_deadline_seconds, "progressDeadlineSeconds"),
  };
  static const Schema kSchema("DeploymentSpec", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<DeploymentCondition>() {
  using T = DeploymentCondition;
  static constexpr Field kRows[] = {
      KOORD_FIELD(type, "type").required(),
      KOORD_FIELD(status, "status").required(),
      KOORD_FIELD(last_update_time, "lastUpdateTime"),
      KOORD_FIELD(last_transition_time, "lastTransitionTime"),
      KOORD_FIELD(reason, "reason"),
      KOORD_FIELD(message, "message"),
  };
  static const Schema kSchema("DeploymentCondition", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<DeploymentStatus>() {
  using T = DeploymentStatus;
  static constexpr Field kRows[] = {
      KOORD_FIELD(observed_generation, "observedGeneration"),
      KOORD_FIELD(replicas, "replicas"),
      KOORD_FIELD(updated_replicas, "updatedReplicas"),
      KOORD_FIELD(ready_replicas, "readyReplicas"),
      KOORD_FIELD(available_replicas, "availableReplicas"),
      KOORD_FIELD(unavailable_replicas, "unavailableReplicas"),
      KOORD_FIELD(conditions, "conditions").merge_key("type"),
  };
  static const Schema kSchema("DeploymentStatus", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<Deployment>() {
  using T = Deployment;
  static constexpr Field kRows[] = {
      KOORD_FIELD(metadata, "metadata"),
      KOORD_FIELD(spec, "spec"),
      KOORD_FIELD(status, "status"),
  };
  static const Schema kSchema("Deployment", kRows, type_of<T>, &kDeployment);
  return kSchema;
}

}  // namespace koord::api
