// ApiWorkloads: Workloads as the cluster has them.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "koord/api/types/apps_v1/deployment.hpp"
#include "koord/api/types/apps_v1/replica_set.hpp"
#include "koord/api/types/apps_v1/stateful_set.hpp"
#include "koord/api/types/core_v1/replication_controller.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/log.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/informer.hpp"
#include "migration/workloads.hpp"

namespace koord::descheduler::migration {

/// Of Kubernetes' own kinds from informers: a ReplicaSet that a Deployment controls stands for that
/// Deployment, with the pods of all its ReplicaSets. Of others (Kruise's, anybody's) from their subresource
/// `scale`; what has none has no replicas. What was asked for is kept for kFresh, then asked for again, the
/// old answer counting meanwhile for kKept; after a failure it is unknown and asked for anew after kRetry.
class ApiWorkloads final : public Workloads {
 public:
  static constexpr std::chrono::seconds kFresh{30}, kRetry{5};
  static constexpr std::chrono::minutes kKept{60};
  static constexpr std::size_t kMost = 20'000;  // answers kept; beyond that nothing more is known

  struct Parts {
    Clock& clock;
    Logger log;
    kube::Client& client;
    kube::Informer<api::ReplicaSet> replica_sets;  // indexed by "owner"
    kube::Informer<api::Deployment> deployments;
    kube::Informer<api::StatefulSet> stateful_sets;
    kube::Informer<api::ReplicationController> replication_controllers;
    kube::Informer<api::Pod> pods;  // indexed by "owner"
  };
  explicit ApiWorkloads(Parts parts) : parts_(std::move(parts)) {}
  /// Declares what it reads.
  static Parts parts(Clock& clock, const Logger& log, kube::Client& client, kube::InformerSet& informers);

  /// From now on there is somebody to ask: requests run in `tasks`. `on_known` is told when an answer came.
  void start(TaskGroup& tasks, std::function<void()> on_known);
  /// Waits for an answer that is no older than kFresh; at once of what informers know.
  Task<> refresh(api::OwnerReference controller, std::string ns);
  bool synced() const;
  Task<Result<>> wait_synced();

  Workload find(const api::OwnerReference& controller, std::string_view ns) override;
  std::vector<std::shared_ptr<const api::Pod>> pods_of(std::string_view owner) override;

 private:
  struct Answer {
    bool asking = false;
    bool known = false;
    std::int64_t replicas = 0;
    MonoTime at{};  // of the answer, or of the failure
    bool told = false;
  };
  struct Resource {
    std::string plural;  // empty: nothing of that kind has replicas
    MonoTime at{};
  };
  static std::string key_of(const api::OwnerReference& controller, std::string_view ns);
  Workload from_api(const api::OwnerReference& controller, std::string_view ns);
  bool is_fresh(const Answer& answer) const;
  Task<> ask(api::OwnerReference controller, std::string ns);
  Task<Result<std::int64_t>> scale(const api::OwnerReference& controller, const std::string& ns);
  Task<Result<std::string>> plural_of(std::string api_version, std::string kind);

  Parts parts_;
  TaskGroup* tasks_ = nullptr;
  std::function<void()> on_known_;
  std::unordered_map<std::string, Answer> answers_;
  std::unordered_map<std::string, Resource> resources_;  // by "API_VERSION/KIND"
};

}  // namespace koord::descheduler::migration
