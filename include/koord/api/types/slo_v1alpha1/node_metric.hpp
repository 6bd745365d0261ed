// slo.koordinator.sh/v1alpha1: NodeMetric, what a node uses.
#pragma once

#include "koord/api/types/scheduling_v1alpha1/device.hpp"

namespace koord::api {

struct ResourceMap {
  ResourceList resources;
  std::vector<DeviceInfo> devices;

  friend bool operator==(const ResourceMap&, const ResourceMap&) = default;
};
KOORD_API_SCHEMA(ResourceMap);

struct AggregatedUsage {
  FlatMap<ResourceMap> usage;  // by avg, p50, p90, p95, p99
  std::optional<Duration> duration;

  friend bool operator==(const AggregatedUsage&, const AggregatedUsage&) = default;
};
KOORD_API_SCHEMA(AggregatedUsage);

struct NumaUsage {
  int32_t numa_node_id = 0;
  ResourceMap node_usage;
  ResourceMap system_usage;

  friend bool operator==(const NumaUsage&, const NumaUsage&) = default;
};
KOORD_API_SCHEMA(NumaUsage);

struct NodeMetricInfo {
  ResourceMap node_usage;
  std::vector<AggregatedUsage> aggregated_node_usages;
  ResourceMap system_usage;
  std::vector<AggregatedUsage> aggregated_system_usages;
  std::vector<NumaUsage> numa_usages;

  friend bool operator==(const NodeMetricInfo&, const NodeMetricInfo&) = default;
};
KOORD_API_SCHEMA(NodeMetricInfo);

struct PodMetricInfo {
  std::string name;
  Symbol namespace_;
  ResourceMap pod_usage;
  Symbol priority;
  Symbol qos;
  RawJson extensions;

  friend bool operator==(const PodMetricInfo&, const PodMetricInfo&) = default;
};
KOORD_API_SCHEMA(PodMetricInfo);

struct HostApplicationMetricInfo {
  Symbol name;
  ResourceMap usage;
  Symbol priority;
  Symbol qos;

  friend bool operator==(const HostApplicationMetricInfo&, const HostApplicationMetricInfo&) = default;
};
KOORD_API_SCHEMA(HostApplicationMetricInfo);

struct NodeAggregatePolicy {
  std::vector<Duration> durations;

  friend bool operator==(const NodeAggregatePolicy&, const NodeAggregatePolicy&) = default;
};
KOORD_API_SCHEMA(NodeAggregatePolicy);

struct NodeMetricCollectPolicy {
  std::optional<int64_t> aggregate_duration_seconds;
  std::optional<int64_t> report_interval_seconds;
  Box<NodeAggregatePolicy> node_aggregate_policy;
  Symbol node_memory_collect_policy;

  friend bool operator==(const NodeMetricCollectPolicy&, const NodeMetricCollectPolicy&) = default;
};
KOORD_API_SCHEMA(NodeMetricCollectPolicy);

struct NodeMetricSpec {
  Box<NodeMetricCollectPolicy> metric_collect_policy;

  friend bool operator==(const NodeMetricSpec&, const NodeMetricSpec&) = default;
};
KOORD_API_SCHEMA(NodeMetricSpec);

/// prodReclaimableMetric and prodPeakMetric.
struct PredictedMetric {
  ResourceMap resource;

  friend bool operator==(const PredictedMetric&, const PredictedMetric&) = default;
};
KOORD_API_SCHEMA(PredictedMetric);

struct NodeMetricStatus {
  std::optional<Time> update_time;
  Box<NodeMetricInfo> node_metric;
  std::vector<PodMetricInfo> pods_metric;
  std::vector<HostApplicationMetricInfo> host_application_metric;
  Box<PredictedMetric> prod_reclaimable_metric;
  Box<PredictedMetric> prod_peak_metric;

  friend bool operator==(const NodeMetricStatus&, const NodeMetricStatus&) = default;
};
KOORD_API_SCHEMA(NodeMetricStatus);

struct NodeMetric {
  ObjectMeta metadata;
  NodeMetricSpec spec;
  NodeMetricStatus status;

  friend bool operator==(const NodeMetric&, const NodeMetric&) = default;
};
KOORD_API_SCHEMA(NodeMetric);

}  // namespace koord::api
