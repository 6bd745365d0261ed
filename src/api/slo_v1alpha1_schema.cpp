// The schema tables of koord/api/slo_v1alpha1.hpp: NodeMetric.
#include "koord/api/slo_v1alpha1.hpp"

#include <cstddef>

namespace koord::api {
namespace {

constexpr std::string_view kMemoryPolicies[] = {"usageWithHotPageCache", "usageWithoutPageCache",
                                                "usageWithPageCache"};
constexpr Kind kNodeMetric = {.group = "slo.koordinator.sh",
                              .version = "v1alpha1",
                              .kind = "NodeMetric",
                              .plural = "nodemetrics",
                              .singular = "nodemetric",
                              .namespaced = false,
                              .custom = true,
                              .has_status = true};

}  // namespace

template <>
const Schema& schema<ResourceMap>() {
  using T = ResourceMap;
  static constexpr Field kRows[] = {
      KOORD_FIELD(resources, "resources"),
      KOORD_FIELD(devices, "devices"),
  };
  static const Schema kSchema("ResourceMap", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<AggregatedUsage>() {
  using T = AggregatedUsage;
  static constexpr Field kRows[] = {
      KOORD_FIELD(usage, "usage"),
      KOORD_FIELD(duration, "duration"),
  };
  static const Schema kSchema("AggregatedUsage", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<NumaUsage>() {
  using T = NumaUsage;
  static constexpr Field kRows[] = {
      KOORD_FIELD(numa_node_id, "numaNodeID").required(),
      KOORD_FIELD(node_usage, "nodeUsage"),
      KOORD_FIELD(system_usage, "systemUsage"),
  };
  static const Schema kSchema("NumaUsage", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<NodeMetricInfo>() {
  using T = NodeMetricInfo;
  static constexpr Field kRows[] = {
      KOORD_FIELD(node_usage, "nodeUsage"),
      KOORD_FIELD(aggregated_node_usages, "aggregatedNodeUsages"),
      KOORD_FIELD(system_usage, "systemUsage"),
      KOORD_FIELD(aggregated_system_usages, "aggregatedSystemUsages"),
      KOORD_FIELD(numa_usages, "numaUsages"),
  };
  static const Schema kSchema("NodeMetricInfo", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<PodMetricInfo>() {
  using T = PodMetricInfo;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name"),
      KOORD_FIELD(namespace_, "namespace"),
      KOORD_FIELD(pod_usage, "podUsage"),
      KOORD_FIELD(priority, "priority"),
      KOORD_FIELD(qos, "qos"),
      KOORD_FIELD(extensions, "extensions").preserve_unknown(),
  };
  static const Schema kSchema("PodMetricInfo", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<HostApplicationMetricInfo>() {
  using T = HostApplicationMetricInfo;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name"),
      KOORD_FIELD(usage, "usage"),
      KOORD_FIELD(priority, "priority"),
      KOORD_FIELD(qos, "qos"),
  };
  static const Schema kSchema("HostApplicationMetricInfo", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<NodeAggregatePolicy>() {
  using T = NodeAggregatePolicy;
  static constexpr Field kRows[] = {
      KOORD_FIELD(durations, "durations"),
  };
  static const Schema kSchema("NodeAggregatePolicy", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<NodeMetricCollectPolicy>() {
  using T = NodeMetricCollectPolicy;
  static constexpr Field kRows[] = {
      KOORD_FIELD(aggregate_duration_seconds, "aggregateDurationSeconds"),
      KOORD_FIELD(report_interval_seconds, "reportIntervalSeconds"),
      KOORD_FIELD(node_aggregate_policy, "nodeAggregatePolicy"),
      KOORD_FIELD(node_memory_collect_policy, "nodeMemoryCollectPolicy").one_of(kMemoryPolicies),
  };
  static const Schema kSchema("NodeMetricCollectPolicy", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<NodeMetricSpec>() {
  using T = NodeMetricSpec;
  static constexpr Field kRows[] = {
      KOORD_FIELD(metric_collect_policy, "metricCollectPolicy"),
  };
  static const Schema kSchema("NodeMetricSpec", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<PredictedMetric>() {
  using T = PredictedMetric;
  static constexpr Field kRows[] = {
      KOORD_FIELD(resource, "resource"),
  };
  static const Schema kSchema("PredictedMetric", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<NodeMetricStatus>() {
  using T = NodeMetricStatus;
  static constexpr Field kRows[] = {
      KOORD_FIELD(update_time, "updateTime"),
      KOORD_FIELD(node_metric, "nodeMetric"),
      KOORD_FIELD(pods_metric, "podsMetric"),
      KOORD_FIELD(host_application_metric, "hostApplicationMetric"),
      KOORD_FIELD(prod_reclaimable_metric, "prodReclaimableMetric"),
      KOORD_FIELD(prod_peak_metric, "prodPeakMetric"),
  };
  static const Schema kSchema("NodeMetricStatus", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<NodeMetric>() {
  using T = NodeMetric;
  static constexpr Field kRows[] = {
      KOORD_FIELD(metadata, "metadata"),
      KOORD_FIELD(spec, "spec"),
      KOORD_FIELD(status, "status"),
  };
  static const Schema kSchema("NodeMetric", kRows, type_of<T>, &kNodeMetric);
  return kSchema;
}

}  // namespace koord::api
