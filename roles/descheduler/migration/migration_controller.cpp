// MigrationController: makes a PodMigrationJob of each pod that is to go, and goes on with all jobs.
#include <fmt/format.h>

#include <chrono>

#include "framework/plugin_table.hpp"
#include "koord/api/koordinator/migration.hpp"
#include "koord/api/rules/selector.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/scheduling_v1/priority_class.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/kube/event_recorder.hpp"
#include "koord/kube/leader_election.hpp"
#include "migration/api_workloads.hpp"
#include "migration/controller.hpp"

namespace koord::descheduler {

namespace migration {
namespace {

constexpr std::string_view kName = "MigrationController", kWithoutClaims = "DisablePVCReservation";
/// How old what a pass has counted of workloads may be.
constexpr std::chrono::seconds kCountsKept{1};
/// How long a node that a pod has left stays without pods of its workload that are migrated: as many passes,
/// and at least as long as what nodes report is an average of.
constexpr int kStaysAwayPasses = 10;
constexpr std::chrono::minutes kStaysAway{5};

std::string random_uuid() { return kube::make_identity("-").substr(2); }

template <class T>
void record(kube::EventRecorder* events, const T& object, const JobEvent& event) {
  if (events == nullptr) return;
  events->record({.regarding = kube::event_object(object),
                  .type = event.warning ? kube::EventType::warning : kube::EventType::normal,
                  .reason = event.reason,
                  .action = "Migrating",
                  .note = event.note});
}

/// One for all profiles: two controllers would each go on with every job.
struct Shared {
  explicit Shared(PluginContext& context)
      : workloads(ApiWorkloads::parts(context.clock, context.log, *context.client, *context.informers)),
        classes(context.informers->informer<api::PriorityClass>(*context.client)),
        controller(parts(context)),
        process(random_uuid()) {}

  Controller::Parts parts(PluginContext& context) {
    kube::EventRecorder* const events = context.events;
    PodEvictions* const evictions = context.evictions;
    return {.clock = context.clock,
            .log = context.log,
            .client = *context.client,
            .jobs = context.informers->informer<api::PodMigrationJob>(*context.client),
            .reservations = context.informers->informer<api::Reservation>(*context.client),
            .pods = context.informers->informer<api::Pod>(*context.client),
            .workloads = workloads,
            .ask =
                [evictions](PodPtr pod, EvictionPolicy policy, EvictOptions options) {
                  return evictions->ask(std::move(pod), policy, std::move(options));
                },
            .may_write = context.may_write,
            .tell = [events](const api::PodMigrationJob& job,
                             const JobEvent& event) { record(events, job, event); },
            .tell_pod = [events](const api::Pod& pod, const JobEvent& event) { record(events, pod, event); },
            .without_claims = context.gates.known(kWithoutClaims) && context.gates.enabled(kWithoutClaims),
            .dry_run = context.dry_run,
            .stays_away = std::max<nanoseconds>(kStaysAwayPasses * context.interval, kStaysAway)};
  }

  ApiWorkloads workloads;
  kube::Informer<api::PriorityClass> classes;
  Controller controller;
  const std::string process;  // for people: whose jobs these are
};

std::shared_ptr<Shared> shared_of(PluginContext& context) {
  if (context.shared == nullptr) return std::make_shared<Shared>(context);
  std::shared_ptr<void>& place = (*context.shared)[std::string(kName)];
  if (!place) place = std::make_shared<Shared>(context);
  return std::static_pointer_cast<Shared>(place);
}

class Migrator final : public Evictor {
 public:
  /// Without a client a configuration is being checked, and nothing may be asked.
  Migrator(std::shared_ptr<const MigrationControllerArgs> args, PluginContext& context)
      : args_(std::move(args)), context_(context) {
    if (context.client == nullptr || context.informers == nullptr) return;
    if (const auto nodes = api::Selector::parse(args_->node_selector)) nodes_ = *nodes;
    shared_ = shared_of(context);
    Shared& shared = *shared_;
    filters_ = &shared.controller.add_profile(
        context.profile, args_, [&shared](std::string_view name) -> std::optional<std::int32_t> {
          const auto found = shared.classes.get({}, name);
          return found ? std::optional(found->value) : std::nullopt;
        });
  }

  std::string why_not(const api::Pod& pod) override {
    if (!shared_ || !shared_->controller.synced()) return "PodMigrationJobs are not known yet";
    if (context_.dry_run) begin_rehearsal();
    const MonoTime now = context_.clock.mono();
    if (now - counted_at_ >= kCountsKept) {
      filters_->forget_workloads();
      counted_at_ = now;
    }
    return filters_->candidate(pod).why;
  }

  std::string why_not_now(const api::Pod& pod) override {
    if (!args_->node_fit || args_->skips("NodeFit")) return {};
    Pass* const pass = context_.pass();
    if (pass == nullptr) return "whether it fits another node is not known now";
    for (const NodeView* node : pass->nodes())
      if (pod.spec.node_name.view() != node->node->metadata.name &&
          nodes_.matches(node->node->metadata.labels) && pass->node_fit().fits(pod, *node))
        return {};
    return "it fits no other node";
  }

  Task<Result<>> evict(PodPtr pod, const EvictOptions& options) override {
    if (args_->dry_run) {
      context_.log.info("a pod would be migrated", kv("pod", name_of(*pod)), kv("plugin", options.plugin),
                        kv("reason", options.reason));
      co_return Result<>();
    }
    api::PodMigrationJob job = job_for(*pod, options);
    KOORD_CO_CHECK(co_await agree(*pod));
    co_return co_await shared_->controller.create(std::move(job));
  }

  Task<Result<>> rehearse(PodPtr pod, const EvictOptions& options) override {
    api::PodMigrationJob job = job_for(*pod, options);
    KOORD_CO_CHECK(co_await agree(*pod));
    shared_->controller.rehearse(std::move(job));
    co_return Result<>();
  }

  void start(TaskGroup& tasks) override {
    if (!shared_) return;
    Shared& shared = *shared_;
    shared.workloads.start(tasks, [&shared] { shared.controller.wake(); });
    shared.controller.start(tasks);
  }
  Task<Result<>> ready() override {
    if (!shared_) co_return Result<>();
    KOORD_CO_CHECK(co_await shared_->workloads.wait_synced());
    co_return co_await shared_->controller.wait_synced();
  }
  void stop() override {
    if (shared_) shared_->controller.stop();
  }

 private:
  /// It may go, now, by what is known at this moment.
  Task<Result<>> agree(const api::Pod& pod) {
    if (shared_)
      if (const api::OwnerReference* owner = api::controller_of(pod.metadata))
        co_await shared_->workloads.refresh(*owner, pod.metadata.namespace_.str());
    std::string why = why_not(pod);
    if (why.empty()) why = why_not_now(pod);
    if (why.empty() && shared_->controller.held_back(pod, context_.profile).count() > 0)
      why = "pods like it were evicted lately";
    if (why.empty() && shared_->controller.has_just_come(pod))
      why = "its node was found for a pod of its workload a moment ago";
    if (!why.empty()) co_return Error(Code::invalid, fmt::format("Pod {}: {}", name_of(pod), why));
    co_return Result<>();
  }

  /// What a pass before has rehearsed counts for it alone.
  void begin_rehearsal() {
    const Snapshot* snapshot = context_.snapshot();
    shared_->controller.begin_rehearsal(snapshot != nullptr ? snapshot->id() : 0);
  }

  static std::string name_of(const api::Pod& pod) {
    return fmt::format("{}/{}", pod.metadata.namespace_.view(), pod.metadata.name);
  }

  api::PodMigrationJob job_for(const api::Pod& pod, const EvictOptions& options) const {
    api::PodMigrationJob job;
    job.metadata.name = random_uuid();
    job.metadata.annotations[api::kEvictReasonAnnotation] = Symbol(options.reason);
    job.metadata.annotations[api::kEvictTriggerAnnotation] = Symbol(options.plugin);
    if (shared_) job.metadata.annotations[api::kJobCreatedByAnnotation] = Symbol(shared_->process);
    job.metadata.annotations[api::kJobProfileAnnotation] = Symbol(context_.profile);
    api::ObjectReference& ref = job.spec.pod_ref.ensure();
    ref.namespace_ = pod.metadata.namespace_;
    ref.name = pod.metadata.name;
    ref.uid = pod.metadata.uid;
    job.spec.mode = Symbol(args_->default_job_mode);
    job.spec.ttl = args_->default_job_ttl;
    job.spec.paused = args_->default_job_paused;
    if (options.delete_options)
      job.spec.delete_options = *options.delete_options;
    else if (args_->default_delete_options)
      job.spec.delete_options = *args_->default_delete_options;
    return job;
  }

  const std::shared_ptr<const MigrationControllerArgs> args_;
  PluginContext& context_;
  api::Selector nodes_;
  std::shared_ptr<Shared> shared_;
  Filters* filters_ = nullptr;
  MonoTime counted_at_{};
};

Result<std::unique_ptr<Evictor>> make_migrator(const Args& args, PluginContext& context) {
  return std::unique_ptr<Evictor>(
      std::make_unique<Migrator>(std::static_pointer_cast<const MigrationControllerArgs>(args), context));
}

}  // namespace
}  // namespace migration

extern const PluginEntry kMigrationController;
const PluginEntry kMigrationController = {.name = migration::kName,
                                          .args = &scheduling::args_type<migration::MigrationControllerArgs>,
                                          .make_evictor = migration::make_migrator};

}  // namespace koord::descheduler
