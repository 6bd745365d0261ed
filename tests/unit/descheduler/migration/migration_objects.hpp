// Jobs and pods for tests of migrations.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "koord/api/koordinator/migration.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/pod_migration_job.hpp"
#include "migration/workloads.hpp"

namespace koord::descheduler::migration::test {

using PodPtr = std::shared_ptr<const api::Pod>;

inline api::Pod make_pod(std::string name, std::string_view node = "test-node", std::string_view owner = {},
                         std::string_view ns = "default") {
  api::Pod pod;
  pod.metadata.namespace_ = Symbol(ns);
  pod.metadata.uid = "uid-" + std::string(ns) + "-" + name;
  pod.metadata.name = std::move(name);
  pod.spec.node_name = Symbol(node);
  pod.spec.scheduler_name = "koord-scheduler";
  pod.status.phase = "Running";
  if (!owner.empty()) {
    api::OwnerReference& reference = pod.metadata.owner_references.emplace_back();
    reference.api_version = "apps/v1";
    reference.kind = "StatefulSet";
    reference.name = Symbol(owner);
    reference.uid = Symbol(owner);
    reference.controller = true;
  }
  return pod;
}

inline void make_ready(api::Pod& pod) {
  api::PodCondition& condition = pod.status.conditions.emplace_back();
  condition.type = "Ready";
  condition.status = "True";
}

inline api::PodMigrationJob make_job(std::string name, const api::Pod& pod, bool passed = false,
                                     std::string_view phase = {}) {
  api::PodMigrationJob job;
  job.metadata.name = std::move(name);
  job.metadata.uid = "uid-" + job.metadata.name;
  if (passed) job.metadata.annotations[api::kPassedArbitrationAnnotation] = "true";
  api::ObjectReference& ref = job.spec.pod_ref.ensure();
  ref.namespace_ = pod.metadata.namespace_;
  ref.name = pod.metadata.name;
  ref.uid = pod.metadata.uid;
  job.status.phase = Symbol(phase);
  return job;
}

/// All controllers have the same number of replicas, unless one is named.
struct FakeWorkloads final : Workloads {
  Workload find(const api::OwnerReference& controller, std::string_view) override {
    const auto it = of.find(controller.uid.str());
    if (it != of.end()) return it->second;
    return {.known = known, .replicas = replicas, .owners = {controller.uid.str()}};
  }
  std::vector<PodPtr> pods_of(std::string_view owner) override {
    if (of_cluster) return of_cluster(owner);
    return every ? pods["*"] : pods[std::string(owner)];
  }
  std::function<std::vector<PodPtr>(std::string_view)> of_cluster;
  bool known = true;
  bool every = false;  // as upstream's fake: whoever asks gets all
  std::int64_t replicas = 10;
  std::map<std::string, Workload> of;
  std::map<std::string, std::vector<PodPtr>> pods;
};

}  // namespace koord::descheduler::migration::test
