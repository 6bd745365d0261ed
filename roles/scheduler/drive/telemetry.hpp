// Telemetry: the scheduler's metrics, by kube-scheduler's names.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drive/engine_thread.hpp"
#include "koord/base/metrics.hpp"

namespace koord::scheduler {

/// Used on the event loop's thread.
class Telemetry {
 public:
  static const metrics::Table kMetrics;
  Telemetry(metrics::Registry& registry, std::span<const scheduling::Profile> profiles);

  /// One attempt is over, its binding included: "scheduled", "unschedulable" or "error".
  void attempt(const scheduling::Decision& decision, std::string_view result, nanoseconds took);
  /// So many pods were chosen to go for another.
  void victims(std::size_t chosen);
  /// They were asked to go; false: not all of them could be.
  void preempted(bool all, nanoseconds took);
  /// An attempt takes, or took, longer than it may.
  void slow(std::string_view profile);
  /// The pod is bound.
  void bound(const scheduling::Decision& decision, MonoTime now);
  /// How long the bind plugin ran; `status` is "Success" or "Error".
  void bind_call(const scheduling::Decision& decision, std::string_view status, nanoseconds took);
  /// The same of all that was done before, if anything was.
  void pre_bind_call(const scheduling::Decision& decision, std::string_view status, nanoseconds took);
  /// What the engine has counted since its last report.
  void counted(const EngineReport& report);
  /// What the gauges show from now on; `binding`: bindings on their way.
  void gauges(const EngineReport& report, std::size_t binding);

 private:
  /// The handles of one profile's hot paths, found once.
  struct OfProfile {
    metrics::Histogram filtered, filtered_none, scored;
    std::vector<metrics::Counter> filtering, scoring;
  };
  /// The plugins of a profile that have a say in every attempt, and in those that find nodes: (plugin,
  /// point).
  struct Says {
    std::vector<std::pair<std::string, std::string>> filtering, scoring;
  };
  const OfProfile& of(std::string_view profile);

  metrics::Family<metrics::Counter> attempts_, incoming_;
  metrics::Family<metrics::Histogram> attempt_seconds_, sli_seconds_, extension_point_seconds_,
      plugin_seconds_;
  metrics::Histogram algorithm_seconds_, attempts_per_pod_, evaluated_nodes_, feasible_nodes_;
  metrics::Family<metrics::Gauge> pending_, cache_size_, unschedulable_, goroutines_, old_goroutines_,
      inflight_;
  metrics::Family<metrics::Counter> evaluations_;
  metrics::Family<metrics::Counter> slow_;
  metrics::Counter preemptions_;
  metrics::Histogram victims_;
  metrics::Family<metrics::Counter> preemption_tasks_;
  metrics::Family<metrics::Histogram> preemption_seconds_;
  metrics::Family<metrics::Histogram> end_to_end_seconds_, pod_seconds_, event_seconds_, hint_seconds_,
      permit_seconds_;
  std::map<std::string, Says, std::less<>> says_;
  std::map<std::string, OfProfile, std::less<>> profiles_;
  scheduling::Queue::Incoming incoming_told_;
  std::string bind_;  // the label
};

}  // namespace koord::scheduler
