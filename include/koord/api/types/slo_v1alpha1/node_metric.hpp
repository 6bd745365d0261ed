// slo.koordinator.sh/v1alpha1: NodeMetric, what a node uses.
#pragma once

#include "koord/api/types/scheduling_v1alpha1/device.hpp"

namespace koord::api {

struct ResourceMap {
  ResourceList resources;
  std::vector<DeviceInfo> devices;
  KOORD_STRUCT(ResourceMap);
};

struct AggregatedUsage {
  FlatMap<ResourceMap> usage;  // by avg, p50, p90, p95, p99
  std::optional<Duration> duration;
  KOORD_STRUCT(AggregatedUsage);
};

struct NumaUsage {
  int32_t numa_node_id = 0;
  ResourceMap node_usage;
  ResourceMap system_usage;
  KOORD_STRUCT(NumaUsage);
};

struct NodeMetricInfo {
  ResourceMap node_usage;
  std::vector<AggregatedUsage> aggregated_node_usages;
  ResourceMap system_usage;
  std::vector<AggregatedUsage> aggregated_system_usages;
  std::vector<NumaUsage> numa_usages;
  KOORD_STRUCT(NodeMetricInfo);
};

struct PodMetricInfo {
  std::string name;
  Symbol namespace_;
  ResourceMap pod_usage;
  Symbol priority;
  Symbol qos;
  RawJson extensions;
  KOORD_STRUCT(PodMetricInfo);
};

struct HostApplicationMetricInfo {
  Symbol name;
  ResourceMap usage;
  Symbol priority;
  Symbol qos;
  KOORD_STRUCT(HostApplicationMetricInfo);
};

struct NodeAggregatePolicy {
  std::vector<Duration> durations;
  KOORD_STRUCT(NodeAggregatePolicy);
};

struct NodeMetricCollectPolicy {
  std::optional<int64_t> aggregate_duration_seconds;
  std::optional<int64_t> report_interval_seconds;
  Box<NodeAggregatePolicy> node_aggregate_policy;
  Symbol node_memory_collect_policy;
  KOORD_STRUCT(NodeMetricCollectPolicy);
};

struct NodeMetricSpec {
  Box<NodeMetricCollectPolicy> metric_collect_policy;
  KOORD_STRUCT(NodeMetricSpec);
};

/// prodReclaimableMetric and prodPeakMetric.
struct PredictedMetric {
  ResourceMap resource;
  KOORD_STRUCT(PredictedMetric);
};

struct NodeMetricStatus {
  std::optional<Time> update_time;
  Box<NodeMetricInfo> node_metric;
  std::vector<PodMetricInfo> pods_metric;
  std::vector<HostApplicationMetricInfo> host_application_metric;
  Box<PredictedMetric> prod_reclaimable_metric;
  Box<PredictedMetric> prod_peak_metric;
  KOORD_STRUCT(NodeMetricStatus);
};

struct NodeMetric {
  ObjectMeta metadata;
  NodeMetricSpec spec;
  NodeMetricStatus status;
  KOORD_STRUCT(NodeMetric);
};

}  // namespace koord::api
