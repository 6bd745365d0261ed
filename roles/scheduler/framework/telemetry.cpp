// Telemetry: see telemetry.hpp.
#include "framework/telemetry.hpp"

#include "framework/config.hpp"
#include "framework/extension_point.hpp"

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
                                        .bounds = exponential_bounds(0.0001, 2, 12)};
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

double seconds(nanoseconds d) { return std::chrono::duration<double>(d).count(); }

}  // namespace

const metrics::Table Telemetry::kMetrics = {
    &kAttempts,      &kIncoming,         &kAttemptSeconds, &kSliSeconds,     &kExtensionPointSeconds,
    &kPluginSeconds, &kAlgorithmSeconds, &kAttemptsPerPod, &kEvaluatedNodes, &kFeasibleNodes,
    &kPending,       &kCacheSize,        &kUnschedulable,  &kGoroutines};

Telemetry::Telemetry(metrics::Registry& r)
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
      bind_(extension_point(&Plugins::bind).label()) {}

const Telemetry::OfProfile& Telemetry::of(std::string_view profile) {
  auto it = profiles_.find(profile);
  if (it == profiles_.end()) {
    const std::string filter = extension_point(&Plugins::filter).label();
    const std::string score = extension_point(&Plugins::score).label();
    OfProfile handles{extension_point_seconds_.with({filter, "Success", profile}),
                      extension_point_seconds_.with({filter, "Unschedulable", profile}),
                      extension_point_seconds_.with({score, "Success", profile})};
    it = profiles_.emplace(profile, std::move(handles)).first;
  }
  return it->second;
}

void Telemetry::attempt(const Decision& d, std::string_view result, nanoseconds took) {
  attempts_.with({result, d.profile}).inc();
  attempt_seconds_.with({result, d.profile}).observe(seconds(took));
  algorithm_seconds_.observe(seconds(d.took));
  if (d.evaluated_nodes == 0) return;
  evaluated_nodes_.observe(d.evaluated_nodes);
  feasible_nodes_.observe(d.feasible_nodes);
  const OfProfile& points = of(d.profile);
  (d.feasible_nodes > 0 ? points.filtered : points.filtered_none).observe(seconds(d.filtering));
  if (d.feasible_nodes > 0) points.scored.observe(seconds(d.scoring));
}

void Telemetry::bound(const Decision& d, MonoTime now) {
  attempts_per_pod_.observe(d.attempts);
  if (!d.first_attempt) return;
  std::string attempts = d.attempts >= 15 ? "15+" : std::to_string(d.attempts);
  sli_seconds_.with({attempts}).observe(seconds(now - *d.first_attempt));
}

void Telemetry::bind_call(const Decision& d, std::string_view status, nanoseconds took) {
  extension_point_seconds_.with({bind_, status, d.profile}).observe(seconds(took));
  plugin_seconds_.with({"DefaultBinder", bind_, status}).observe(seconds(took));
}

void Telemetry::gauges(const EngineReport& r, std::size_t binding) {
  goroutines_.with({"binding"}).set(static_cast<double>(binding));
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
