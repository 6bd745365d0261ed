// LowNodeLoadArgs: pools of nodes, and how much use of them is too much or too little.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "koord/api/types/meta_v1/meta.hpp"
#include "plugins/choice.hpp"
#include "plugins/low_node_load/loads.hpp"

namespace koord::descheduler::low_node_load {

using Weights = api::FlatMap<std::int64_t>;

struct AnomalyConditionArgs {
  std::optional<api::Duration> timeout;
  std::int64_t consecutive_abnormalities = 0, consecutive_normalities = 0;
  KOORD_STRUCT(AnomalyConditionArgs);
};

struct PodSelectorArgs {
  std::string name;
  api::Box<api::LabelSelector> selector;
  KOORD_STRUCT(PodSelectorArgs);
};

/// For ROW(pool).inlined(): what a pool says, and what the top level says of nodes in no other pool. What is
/// absent in a pool is the top level's, but for the deviation and the time-out of an anomaly.
struct PoolArgs {
  api::Box<api::LabelSelector> node_selector;  // absent: every node, those of earlier pools too
  bool use_deviation_thresholds = false;
  api::Box<Percentages> high_thresholds, low_thresholds, prod_high_thresholds, prod_low_thresholds;
  api::Box<Weights> resource_weights;
  api::Box<AnomalyConditionArgs> anomaly_condition;
  KOORD_STRUCT(PoolArgs);
};

struct NodePoolArgs {
  std::string name;
  PoolArgs pool;
  KOORD_STRUCT(NodePoolArgs);
};

struct LowNodeLoadArgs {
  bool paused = false, dry_run = false;
  std::int32_t number_of_nodes = 0;
  std::optional<std::int64_t> node_metric_expiration_seconds;
  api::Box<NamespaceChoice> evictable_namespaces;
  std::vector<PodSelectorArgs> pod_selectors;
  std::optional<bool> node_fit;
  PoolArgs pool;
  std::optional<api::Duration> detector_cache_timeout;
  std::vector<NodePoolArgs> node_pools;

  void complete();
  /// In Koordinator's words. Also refuses by name what would make every node that uses anything an
  /// overutilized one: a resource that only lowThresholds names, and a high threshold of 0.
  void validate(const std::string& path, api::FieldErrors& errors) const;
  KOORD_STRUCT(LowNodeLoadArgs);
};

}  // namespace koord::descheduler::low_node_load
