// Reporter: writes what was measured to the API server, as the status of the node's NodeMetric.
#pragma once

#include <functional>
#include <optional>
#include <string>

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
    kube::Client& client;
    kube::InformerSet& informers;
    const InventoryHub& hub;
    const SeriesStore& series;
    /// The time of the last tick; nothing: there was none yet.
    std::function<std::optional<MonoTime>()> last_tick;
  };
  /// Declares the informer of the node's NodeMetric. `show`: as metrics, too (NodeMetricPromMetrics).
  Reporter(Parts parts, std::string node, bool show);

  /// Until it is cancelled: a report each interval, the first after one. Without a NodeMetric (koord-manager
  /// makes it) nothing is reported.
  Task<Result<>> run();
  /// One report now.
  Task<Result<>> report();

 private:
  Task<Result<>> write(api::NodeMetricStatus status);
  ReportPolicy policy() const;

  Parts parts_;
  std::string node_;
  kube::Informer<api::NodeMetric> informer_;
  TokenBucket limit_;
  bool missing_told_ = false, failing_ = false;
  std::optional<NodeMetricGauges> gauges_;
};

}  // namespace koord::koordlet
