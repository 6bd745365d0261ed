// Reporter: writes what was measured to the API server, as the status of the node's NodeMetric.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "framework/predict/predictor.hpp"
#include "framework/report/forecast_gauges.hpp"
#include "framework/report/node_metric.hpp"
#include "koord/async/token_bucket.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"
#include "koord/kube/informer.hpp"

namespace koord::kube {
class Client;
}

namespace koord::koordlet {

/// NodeMetric as metrics (gate NodeMetricPromMetrics).
class NodeMetricGauges {
 public:
  static const metrics::Table kMetrics;
  explicit NodeMetricGauges(metrics::Registry& registry);
  void show(const api::NodeMetricStatus& status) const;

 private:
  metrics::Family<metrics::Gauge> node_usage_, system_usage_, numa_node_usage_, numa_system_usage_;
};

/// The event loop's thread; everything outlives it.
class Reporter {
 public:
  struct Parts {
    Clock& clock;
    Logger& log;
    metrics::Registry& metrics;
    metrics::Registry& external;
    kube::Client& client;
    kube::InformerSet& informers;
    const InventoryHub& hub;
    const SeriesStore& series;
    const Predictor& predictor;
    /// The time of the last tick; nothing: there was none yet.
    std::function<std::optional<MonoTime>()> last_tick;
    /// When the list of pods was last known to be true; nothing: it never was.
    std::function<std::optional<MonoTime>()> pods_listed;
    /// What pods lose to others, as of the last tick; null: not known.
    std::function<const Interference*()> interference = {};
    /// Which GPUs there are, and what they are used for; null: not known.
    std::function<const GpuUse*()> gpus = {};
    /// What of the huge pages is in use; null: not known.
    std::function<const HugeUse*()> huge_pages = {};
  };
  /// Declares the informer of the node's NodeMetric. `show`: as metrics, too (NodeMetricPromMetrics).
  Reporter(Parts parts, std::string node, bool show);

  /// Until it is cancelled: a report each interval, the first one interval after the start. Nothing is
  /// reported without a NodeMetric (koord-manager makes it), before the pods were listed, once that is five
  /// minutes ago, or while none of them can be measured: who reads a report takes what is missing in it for
  /// idle. A report that is due waits for them.
  Task<Result<>> run();

 private:
  /// One report now, if there is what it needs. False: not yet.
  Task<Result<bool>> report();
  Task<Result<>> write(api::NodeMetricStatus status);
  ReportPolicy policy() const;
  /// Why nothing can be reported; empty: it can.
  std::string_view obstacle() const;

  Parts parts_;
  std::string node_;
  kube::Informer<api::NodeMetric> informer_;
  TokenBucket limit_;
  std::string_view told_;  // the obstacle that the log knows of
  std::optional<MonoTime> first_listed_;
  bool failing_ = false;
  std::optional<NodeMetricGauges> gauges_;
  ForecastGauges forecast_gauges_;
};

}  // namespace koord::koordlet
