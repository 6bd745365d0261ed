// ProcessMetrics: what belongs to the process, shown among the metrics of each role.
#pragma once

#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"

namespace koord::app {

class ProcessMetrics {
 public:
  static const metrics::Table kMetrics;
  /// Both outlive the registries that are added to.
  ProcessMetrics(const AsyncLogSink& log, const Clock& clock);
  /// Prometheus' process_* and koord's own; read when somebody looks.
  void add_to(metrics::Registry& registry) const;

 private:
  const AsyncLogSink& log_;
  WallTime start_;
};

}  // namespace koord::app
