// Telemetry: the scheduler's metrics, by kube-scheduler's names.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "framework/engine_thread.hpp"
#include "koord/base/metrics.hpp"

namespace koord::scheduler {

/// Used on the event loop's thread.
class Telemetry {
 public:
  static const metrics::Table kMetrics;
  explicit Telemetry(metrics::Registry& registry);

  /// One attempt is over, its binding included: "scheduled", "unschedulable" or "error".
  void attempt(const Decision& decision, std::string_view result, nanoseconds took);
  /// The pod is bound.
  void bound(const Decision& decision, MonoTime now);
  /// How long the bind plugin ran; `status` is "Success" or "Error".
  void bind_call(const Decision& decision, std::string_view status, nanoseconds took);
  /// What the gauges show from now on; `binding`: bindings on their way.
  void gauges(const EngineReport& report, std::size_t binding);

 private:
  /// The handles of one profile's hot paths, found once.
  struct OfProfile {
    metrics::Histogram filtered, filtered_none, scored;
  };
  const OfProfile& of(std::string_view profile);

  metrics::Family<metrics::Counter> attempts_, incoming_;
  metrics::Family<metrics::Histogram> attempt_seconds_, sli_seconds_, extension_point_seconds_,
      plugin_seconds_;
  metrics::Histogram algorithm_seconds_, attempts_per_pod_, evaluated_nodes_, feasible_nodes_;
  metrics::Family<metrics::Gauge> pending_, cache_size_, unschedulable_, goroutines_;
  std::map<std::string, OfProfile, std::less<>> profiles_;
  Queue::Incoming incoming_told_;
  std::string bind_;  // the label
};

}  // namespace koord::scheduler
