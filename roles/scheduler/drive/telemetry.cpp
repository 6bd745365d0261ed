// Telemetry: see telemetry.hpp.
#include "drive/telemetry.hpp"

#include "koord/scheduling/config/config.hpp"
#include "koord/scheduling/config/extension_point.hpp"
#include "koord/scheduling/plugins.hpp"

namespace koord::scheduler {

namespace {

using metrics::exponential_bounds;
using metrics::Metric;
using metrics::Type;

constexpr Metric kAttempts{
    .name = "scheduler_schedule_attempts_total",
    .help =
        "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could "
        "not be scheduled, 'error' an internal problem.",
    .labels = {"result", "profile"}};
constexpr Metric kIncoming{.name = "scheduler_queue_incoming_pods_total",
                           .help = "Number of pods added to scheduling queues by event and queue type.",
                           .labels = {"queue", "event"}};
constexpr Metric kAttemptSeconds{.name = "scheduler_scheduling_attempt_duration_seconds",
                                 .type = Type::histogram,
                                 .help = "Latency of an attempt (decision and binding).",
                                 .labels = {"result", "profile"},
                                 .bounds = exponential_bounds(0.001, 2, 15)};
constexpr Metric kSliSeconds{
    .name = "scheduler_pod_scheduling_sli_duration_seconds",
    .type = Type::histogram,
    .help = "From the time that a pod enters the queue until it is bound, all attempts included.",
    .labels = {"attempts"},
    .bounds = exponential_bounds(0.01, 2, 20)};
constexpr Metric kExtensionPointSeconds{.name = "scheduler_framework_extension_point_duration_seconds",
                                        .type = Type::histogram,
                                        .help = "Latency of all plugins of an extension point.",
                                        .labels = {"extension_point", "status", "profile"},
                                        .bounds = scheduling::kPointBounds};
constexpr Metric kPluginSeconds{.name = "scheduler_plugin_execution_duration_seconds",
                                .type = Type::histogram,
                                .help = "Duration of a plugin at an extension point.",
                                .labels = {"plugin", "extension_point", "status"},
                                .bounds = exponential_bounds(0.00001, 1.5, 20)};
constexpr Metric kAlgorithmSeconds{.name = "scheduler_scheduling_algorithm_duration_seconds",
                                   .type = Type::histogram,
                                   .help = "Latency of a decision.",
                                   .bounds = exponential_bounds(0.001, 2, 15)};
constexpr Metric kAttemptsPerPod{.name = "scheduler_pod_scheduling_attempts",
                                 .type = Type::histogram,
                                 .help = "Number of attempts until a pod was bound.",
                                 .bounds = exponential_bounds(1, 2, 5)};
constexpr Metric kEvaluatedNodes{.name = "scheduler_pod_scheduling_evaluated_nodes",
                                 .type = Type::histogram,
                                 .help = "Number of nodes that were looked at for a pod.",
                                 .bounds = exponential_bounds(1, 2, 24)};
constexpr Metric kFeasibleNodes{.name = "scheduler_pod_scheduling_feasible_nodes",
                                .type = Type::histogram,
                                .help = "Number of nodes that would have done for a pod.",
                                .bounds = exponential_bounds(1, 2, 24)};
constexpr Metric kPending{.name = "scheduler_pending_pods",
                          .type = Type::gauge,
                          .help = "Number of pending pods, by the queue.",
                          .labels = {"queue"}};
constexpr Metric kCacheSize{
    .name = "scheduler_cache_size",
    .type = Type::gauge,
    .help = "Number of nodes, pods, and assumed (bound) pods in the scheduler's cache.",
    .labels = {"type"}};
constexpr Metric kUnschedulable{.name = "scheduler_unschedulable_pods",
                                .type = Type::gauge,
                                .help = "Number of unschedulable pods by the plugins that rejected them.",
                                .labels = {"plugin", "profile"}};
constexpr Metric kGoroutines{.name = "scheduler_goroutines",
                             .type = Type::gauge,
                             .help = "Number of tasks that are under way, by what they do: 'binding'.",
                             .labels = {"operation"}};
constexpr Metric kEventSeconds{.name = "scheduler_event_handling_duration_seconds",
                               .type = Type::histogram,
                               .help = "Duration of taking in a change of a node or a pod.",
                               .labels = {"event"},
                               .bounds = scheduling::kEventBounds};
constexpr Metric kInflight{.name = "scheduler_inflight_events",
                           .type = Type::gauge,
                           .help = "Number of pods that are decided and not bound yet: 'PodPopped'.",
                           .labels = {"event"}};
constexpr Metric kHintSeconds{
    .name = "scheduler_queueing_hint_execution_duration_seconds",
    .type = Type::histogram,
    .help =
        "Duration of asking a plugin whether an event makes a group of rejected pods "
        "worth another attempt.",
    .labels = {"plugin", "event", "hint"},
    .bounds = scheduling::kHintBounds};
constexpr Metric kEvaluations{.name = "scheduler_plugin_evaluation_total",
                              .help = "Number of attempts in which a plugin has a say at an extension point.",
                              .labels = {"plugin", "extension_point", "profile"}};
constexpr Metric kPreemptions{.name = "scheduler_preemption_attempts_total",
                              .help = "Number of attempts to preempt pods."};
constexpr Metric kVictims{.name = "scheduler_preemption_victims",
                          .type = Type::histogram,
                          .help = "Number of pods chosen to go for another.",
                          .bounds = exponential_bounds(1, 2, 7)};
constexpr Metric kPreemptionSeconds{.name = "scheduler_preemption_goroutines_duration_seconds",
                                    .type = Type::histogram,
                                    .help = "Duration of asking all victims of a pod to go.",
                                    .labels = {"result"},
                                    .bounds = exponential_bounds(0.01, 2, 20)};
constexpr Metric kPreemptionTasks{.name = "scheduler_preemption_goroutines_execution_total",
                                  .help = "Number of pods whose victims were asked to go.",
                                  .labels = {"result"}};
constexpr Metric kPermitSeconds{.name = "scheduler_permit_wait_duration_seconds",
                                .type = Type::histogram,
                                .help = "Duration of waiting for a permit.",
                                .labels = {"result"},
                                .bounds = scheduling::kPermitBounds};

// What koord has nothing to count for. kube-scheduler, Koordinator and their dashboards have it.
constexpr Metric kVolumeCache{.name = "scheduler_volume_binder_cache_requests_total",
                              .help = "Number of requests to a cache of volumes; koord has none.",
                              .labels = {"operation"}};
constexpr Metric kVolumeErrors{
    .name = "scheduler_volume_scheduling_stage_error_total",
    .help = "Number of errors with volumes; koord counts them with scheduler_schedule_attempts_total.",
    .labels = {"operation"}};
constexpr Metric kClaims{.name = "scheduler_resourceclaim_creates_total",
                         .help = "Number of ResourceClaims made; koord makes none.",
                         .labels = {"status"}};
constexpr Metric kCalls{.name = "scheduler_async_api_call_execution_total",
                        .help = "Number of API calls by the dispatcher of kube-scheduler; koord has none.",
                        .labels = {"call_type", "result"}};
constexpr Metric kCallSeconds{
    .name = "scheduler_async_api_call_execution_duration_seconds",
    .type = Type::histogram,
    .help = "Duration of API calls by the dispatcher of kube-scheduler; koord has none.",
    .labels = {"call_type", "result"},
    .bounds = exponential_bounds(0.001, 2, 15)};
constexpr Metric kCallsPending{
    .name = "scheduler_pending_async_api_calls",
    .type = Type::gauge,
    .help = "API calls that wait in the dispatcher of kube-scheduler; koord has none.",
    .labels = {"call_type"}};
constexpr Metric kTimeouts{.name = "scheduler_scheduling_timeout",
                           .help = "How often an attempt was found to take longer than --scheduling-timeout.",
                           .labels = {"profile"}};
constexpr Metric kQuotaSpec{.name = "scheduler_elastic_quota_spec",
                            .type = Type::gauge,
                            .help =
                                "Koordinator sets none: what an ElasticQuota says is in "
                                "scheduler_elastic_quota_status.",
                            .labels = {"name", "resource", "tree", "is_parent", "parent", "field"}};
constexpr Metric kQuotaSeconds{.name = "scheduler_elastic_quota_process_latency",
                               .type = Type::histogram,
                               .help = "Duration of work on ElasticQuotas; koord measures none.",
                               .labels = {"operation"},
                               .bounds = exponential_bounds(0.00001, 2, 24)};
constexpr Metric kQuotaHookSeconds{.name = "scheduler_elastic_quota_hook_plugin_latency",
                                   .type = Type::histogram,
                                   .help = "Duration of a hook of ElasticQuota; koord has none.",
                                   .labels = {"plugin", "operation"},
                                   .bounds = exponential_bounds(0.000001, 2, 24)};

// By names that kube-scheduler has given up and Koordinator's dashboard still reads.
constexpr Metric kEndToEndSeconds{.name = "scheduler_e2e_scheduling_duration_seconds",
                                  .type = Type::histogram,
                                  .help = "The same as scheduler_scheduling_attempt_duration_seconds.",
                                  .labels = {"result", "profile"},
                                  .bounds = kAttemptSeconds.bounds};
constexpr Metric kPodSeconds{.name = "scheduler_pod_scheduling_duration_seconds",
                             .type = Type::histogram,
                             .help = "The same as scheduler_pod_scheduling_sli_duration_seconds.",
                             .labels = {"attempts"},
                             .bounds = kSliSeconds.bounds};
constexpr Metric kOldGoroutines{.name = "scheduler_scheduler_goroutines",
                                .type = Type::gauge,
                                .help = "The same as scheduler_goroutines.",
                                .labels = {"work"}};

void register_later(metrics::Registry& r) {
  for (const Metric* row : {&kVolumeCache, &kVolumeErrors, &kClaims, &kCalls}) r.counters(*row);
  for (const Metric* row : {&kCallsPending, &kQuotaSpec}) r.gauges(*row);
  for (const Metric* row : {&kCallSeconds, &kQuotaSeconds, &kQuotaHookSeconds}) r.histograms(*row);
}

/// Whoever counts by the row finds it registered.
void register_row(metrics::Registry& r, const Metric& row) {
  const bool labels = !row.labels.empty();
  switch (row.type) {
    case Type::counter: return labels ? (void)r.counters(row) : (void)r.counter(row);
    case Type::gauge: return labels ? (void)r.gauges(row) : (void)r.gauge(row);
    case Type::histogram: return labels ? (void)r.histograms(row) : (void)r.histogram(row);
  }
}

double seconds(nanoseconds d) { return std::chrono::duration<double>(d).count(); }

}  // namespace

const metrics::Table Telemetry::kMetrics = {&kAttempts,
                                            &kIncoming,
                                            &kAttemptSeconds,
                                            &kSliSeconds,
                                            &kExtensionPointSeconds,
                                            &kPluginSeconds,
                                            &kAlgorithmSeconds,
                                            &kAttemptsPerPod,
                                            &kEvaluatedNodes,
                                            &kFeasibleNodes,
                                            &kPending,
                                            &kCacheSize,
                                            &kUnschedulable,
                                            &kGoroutines,
                                            &kEventSeconds,
                                            &kInflight,
                                            &kHintSeconds,
                                            &kEvaluations,
                                            &kPreemptions,
                                            &kVictims,
                                            &kPreemptionSeconds,
                                            &kPreemptionTasks,
                                            &kPermitSeconds,
                                            &kVolumeCache,
                                            &kVolumeErrors,
                                            &kClaims,
                                            &kCalls,
                                            &kCallSeconds,
                                            &kCallsPending,
                                            &kTimeouts,
                                            &kQuotaSpec,
                                            &kQuotaSeconds,
                                            &kQuotaHookSeconds,
                                            &kEndToEndSeconds,
                                            &kPodSeconds,
                                            &kOldGoroutines};

Telemetry::Telemetry(metrics::Registry& r, std::span<const scheduling::Profile> profiles)
    : attempts_(r.counters(kAttempts)),
      incoming_(r.counters(kIncoming)),
      attempt_seconds_(r.histograms(kAttemptSeconds)),
      sli_seconds_(r.histograms(kSliSeconds)),
      extension_point_seconds_(r.histograms(kExtensionPointSeconds)),
      plugin_seconds_(r.histograms(kPluginSeconds)),
      algorithm_seconds_(r.histogram(kAlgorithmSeconds)),
      attempts_per_pod_(r.histogram(kAttemptsPerPod)),
      evaluated_nodes_(r.histogram(kEvaluatedNodes)),
      feasible_nodes_(r.histogram(kFeasibleNodes)),
      pending_(r.gauges(kPending)),
      cache_size_(r.gauges(kCacheSize)),
      unschedulable_(r.gauges(kUnschedulable)),
      goroutines_(r.gauges(kGoroutines)),
      old_goroutines_(r.gauges(kOldGoroutines)),
      inflight_(r.gauges(kInflight)),
      evaluations_(r.counters(kEvaluations)),
      slow_(r.counters(kTimeouts)),
      preemptions_(r.counter(kPreemptions)),
      victims_(r.histogram(kVictims)),
      preemption_tasks_(r.counters(kPreemptionTasks)),
      preemption_seconds_(r.histograms(kPreemptionSeconds)),
      end_to_end_seconds_(r.histograms(kEndToEndSeconds)),
      pod_seconds_(r.histograms(kPodSeconds)),
      event_seconds_(r.histograms(kEventSeconds)),
      hint_seconds_(r.histograms(kHintSeconds)),
      permit_seconds_(r.histograms(kPermitSeconds)),
      bind_(scheduling::extension_point(&scheduling::Plugins::bind).label()) {
  for (const scheduling::Profile& p : profiles) {
    const auto note = [&](auto& says, const auto& registrations,
                          scheduling::PluginSet scheduling::Plugins::*point) {
      for (const auto& registered : registrations)
        says.emplace_back(p.plugin_name(registered.index), scheduling::extension_point(point).label());
    };
    Says& says = says_[p.scheduler_name];
    note(says.filtering, p.pre_filters, &scheduling::Plugins::pre_filter);
    note(says.filtering, p.filters, &scheduling::Plugins::filter);
    note(says.scoring, p.pre_scores, &scheduling::Plugins::pre_score);
    note(says.scoring, p.scores, &scheduling::Plugins::score);
  }
  register_later(r);
  for (const metrics::Table& table : scheduling::plugin_metrics())
    for (const Metric* row : table) register_row(r, *row);
}

const Telemetry::OfProfile& Telemetry::of(std::string_view profile) {
  auto it = profiles_.find(profile);
  if (it == profiles_.end()) {
    const std::string filter = scheduling::extension_point(&scheduling::Plugins::filter).label();
    const std::string score = scheduling::extension_point(&scheduling::Plugins::score).label();
    OfProfile handles{extension_point_seconds_.with({filter, "Success", profile}),
                      extension_point_seconds_.with({filter, "Unschedulable", profile}),
                      extension_point_seconds_.with({score, "Success", profile}),
                      {},
                      {}};
    const auto says = says_.find(profile);
    if (says != says_.end()) {
      for (const auto& [plugin, point] : says->second.filtering)
        handles.filtering.push_back(evaluations_.with({plugin, point, profile}));
      for (const auto& [plugin, point] : says->second.scoring)
        handles.scoring.push_back(evaluations_.with({plugin, point, profile}));
    }
    it = profiles_.emplace(profile, std::move(handles)).first;
  }
  return it->second;
}

void Telemetry::attempt(const scheduling::Decision& d, std::string_view result, nanoseconds took) {
  attempts_.with({result, d.profile}).inc();
  attempt_seconds_.with({result, d.profile}).observe(seconds(took));
  end_to_end_seconds_.with({result, d.profile}).observe(seconds(took));
  algorithm_seconds_.observe(seconds(d.took));
  if (d.preemption().tried) preemptions_.inc();
  if (d.evaluated_nodes == 0) return;
  evaluated_nodes_.observe(d.evaluated_nodes);
  feasible_nodes_.observe(d.feasible_nodes);
  const OfProfile& points = of(d.profile);
  (d.feasible_nodes > 0 ? points.filtered : points.filtered_none).observe(seconds(d.filtering));
  for (const metrics::Counter& says : points.filtering) says.inc();
  if (d.feasible_nodes == 0) return;
  points.scored.observe(seconds(d.scoring));
  for (const metrics::Counter& says : points.scoring) says.inc();
}

void Telemetry::victims(std::size_t chosen) { victims_.observe(static_cast<double>(chosen)); }

void Telemetry::preempted(bool all, nanoseconds took) {
  const char* result = all ? "success" : "error";
  preemption_tasks_.with({result}).inc();
  preemption_seconds_.with({result}).observe(seconds(took));
}

void Telemetry::slow(std::string_view profile) { slow_.with({profile}).inc(); }

void Telemetry::bound(const scheduling::Decision& d, MonoTime now) {
  attempts_per_pod_.observe(d.attempts);
  if (!d.first_attempt) return;
  std::string attempts = d.attempts >= 15 ? "15+" : std::to_string(d.attempts);
  for (const auto& family : {sli_seconds_, pod_seconds_})
    family.with({attempts}).observe(seconds(now - *d.first_attempt));
}

void Telemetry::pre_bind_call(const scheduling::Decision& d, std::string_view status, nanoseconds took) {
  extension_point_seconds_.with({"PreBind", status, d.profile}).observe(seconds(took));
}

void Telemetry::bind_call(const scheduling::Decision& d, std::string_view status, nanoseconds took) {
  extension_point_seconds_.with({bind_, status, d.profile}).observe(seconds(took));
  const auto* bind = d.as<scheduling::Decision::Bind>();
  if (bind != nullptr && !bind->binder.empty())
    plugin_seconds_.with({bind->binder, bind_, status}).observe(seconds(took));
}

void Telemetry::counted(const EngineReport& report) {
  for (const auto& [labels, counted] : report.hints)
    hint_seconds_.with(std::span<const std::string_view>(labels)).add_counts(counted.counts, counted.sum);
  for (const auto& [labels, counted] : report.handled)
    event_seconds_.with({labels[0]}).add_counts(counted.counts, counted.sum);
  for (const auto& [labels, counted] : report.points)
    extension_point_seconds_.with(std::span<const std::string_view>(labels))
        .add_counts(counted.counts, counted.sum);
  for (const auto& [labels, counted] : report.plugins)
    plugin_seconds_.with(std::span<const std::string_view>(labels)).add_counts(counted.counts, counted.sum);
  for (const auto& [labels, counted] : report.permits)
    permit_seconds_.with({labels[0]}).add_counts(counted.counts, counted.sum);
}

void Telemetry::gauges(const EngineReport& r, std::size_t binding) {
  goroutines_.with({"binding"}).set(static_cast<double>(binding));
  old_goroutines_.with({"binding"}).set(static_cast<double>(binding));
  inflight_.with({"PodPopped"}).set(static_cast<double>(r.assumed));
  pending_.with({"active"}).set(static_cast<double>(r.queue.active));
  pending_.with({"backoff"}).set(static_cast<double>(r.queue.backoff));
  pending_.with({"unschedulable"}).set(static_cast<double>(r.queue.unschedulable));
  pending_.with({"gated"}).set(static_cast<double>(r.queue.gated));
  cache_size_.with({"nodes"}).set(static_cast<double>(r.nodes));
  cache_size_.with({"pods"}).set(static_cast<double>(r.pods));
  cache_size_.with({"assumed_pods"}).set(static_cast<double>(r.assumed));
  for (const auto& [key, count] : r.incoming) {
    std::uint64_t& told = incoming_told_[key];
    if (count != told) incoming_.with({key.first, key.second}).add(static_cast<double>(count - told));
    told = count;
  }
  for (const auto& [key, count] : r.rejections) unschedulable_.with({key.second, key.first}).set(count);
}

}  // namespace koord::scheduler
