// NodeMetric's status from what was measured: what the original writes, in its units and forms.
#pragma once

#include <vector>

#include "framework/model/inventory.hpp"
#include "framework/predict/prod.hpp"
#include "framework/series/series.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"

namespace koord::koordlet {

struct GpuUse;
struct HugeUse;
struct Interference;

/// NodeMetric.spec.metricCollectPolicy, completed: what is absent or too small has the original's default or
/// least value.
struct ReportPolicy {
  nanoseconds interval = std::chrono::seconds(60);    // at least 30 s
  nanoseconds aggregate = std::chrono::seconds(300);  // at least 60 s; of what is no aggregate
  std::vector<nanoseconds> windows = {std::chrono::minutes(5), std::chrono::minutes(10),
                                      std::chrono::minutes(30)};  // of the aggregates
  bool with_page_cache = false;                                   // memory
  bool with_hot_pages = false;  // the same less what is cold; without it where that is not measured
};
ReportPolicy report_policy(const api::NodeMetricSpec& spec);

/// A usage is an empty ResourceMap while there is no sample, an aggregate too while the samples span less
/// than half of its window. Pods and applications without samples are left out. `now` is the last tick's.
/// `prod` is given the pods that are in it. `interference` (null: not known) is told in the pods' extensions.
/// `gpus` (null: not known) are those whose use is told, as devices: of the node, its aggregates, and of pods
/// that have used one within the aggregate's duration. `huge` (null: not known) are huge pages in use, told
/// among the resources of the node and of its memory nodes, as they are now.
api::NodeMetricStatus node_metric_status(const SeriesStore& series, const Inventory& inventory,
                                         const ReportPolicy& policy, MonoTime now, WallTime wall,
                                         ProdPredictor& prod, const Interference* interference = nullptr,
                                         const GpuUse* gpus = nullptr, const HugeUse* huge = nullptr);

/// prodReclaimableMetric, an empty one where nothing is predicted, and prodPeakMetric, none there.
void set_forecast(api::NodeMetricStatus& status, const Forecast& forecast);

}  // namespace koord::koordlet
