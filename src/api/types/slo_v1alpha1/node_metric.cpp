// The schema tables of koord/api/types/slo_v1alpha1/node_metric.hpp: NodeMetric.
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"

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
      KOORD_FIELD(numa_node_id, "numaNodeID").required().doc("Number of the NUMA node."),
      KOORD_FIELD(node_usage, "nodeUsage").always().doc("Usage of this NUMA node."),
      KOORD_FIELD(system_usage, "systemUsage").always().doc("Usage of this NUMA node without pods."),
  };
  static const Schema kSchema("NumaUsage", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<NodeMetricInfo>() {
  using T = NodeMetricInfo;
  static constexpr Field kRows[] = {
      KOORD_FIELD(node_usage, "nodeUsage").always().doc("Usage of the whole node."),
      KOORD_FIELD(aggregated_node_usages, "aggregatedNodeUsages")
          .doc("Percentiles of the node usage, once there are enough samples."),
      KOORD_FIELD(system_usage, "systemUsage").always().doc("nodeUsage without pods and host applications."),
      KOORD_FIELD(aggregated_system_usages, "aggregatedSystemUsages")
          .doc("Percentiles of the system usage, once there are enough samples."),
      KOORD_FIELD(numa_usages, "numaUsages").doc("Usage of each NUMA node."),
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
      KOORD_FIELD(pod_usage, "podUsage").always().doc("Usage of the pod."),
      KOORD_FIELD(priority, "priority").doc("Koordinator priority class."),
      KOORD_FIELD(qos, "qos").doc("Koordinator QoS class."),
      KOORD_FIELD(extensions, "extensions").preserve_unknown().doc("For third parties."),
  };
  static const Schema kSchema("PodMetricInfo", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<HostApplicationMetricInfo>() {
  using T = HostApplicationMetricInfo;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name").doc("Name of the application."),
      KOORD_FIELD(usage, "usage").always().doc("Usage of the application."),
      KOORD_FIELD(priority, "priority").doc("Koordinator priority class."),
      KOORD_FIELD(qos, "qos").doc("Koordinator QoS class."),
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
      KOORD_FIELD(aggregate_duration_seconds, "aggregateDurationSeconds")
          .doc("Period over which usage is aggregated, seconds."),
      KOORD_FIELD(report_interval_seconds, "reportIntervalSeconds").doc("Period of reports, seconds."),
      KOORD_FIELD(node_aggregate_policy, "nodeAggregatePolicy").doc("Windows of the aggregated node usage."),
      KOORD_FIELD(node_memory_collect_policy, "nodeMemoryCollectPolicy")
          .one_of(kMemoryPolicies)
          .doc("Which page cache counts as used memory."),
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
      KOORD_FIELD(resource, "resource").always(),
  };
  static const Schema kSchema("PredictedMetric", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<NodeMetricStatus>() {
  using T = NodeMetricStatus;
  static constexpr Field kRows[] = {
      KOORD_FIELD(update_time, "updateTime").doc("Time of the last report."),
      KOORD_FIELD(node_metric, "nodeMetric").doc("Usage of the node."),
      KOORD_FIELD(pods_metric, "podsMetric").doc("Usage of each pod."),
      KOORD_FIELD(host_application_metric, "hostApplicationMetric").doc("Usage of each host application."),
      KOORD_FIELD(prod_reclaimable_metric, "prodReclaimableMetric")
          .doc("What prod pods requested and will not use, as predicted."),
      KOORD_FIELD(prod_peak_metric, "prodPeakMetric").doc("Predicted peak usage of prod pods."),
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
  static const Schema kSchema("NodeMetric", kRows, type_of<T>, &kNodeMetric,
                              "What a node uses, reported by its node agent.");
  return kSchema;
}

}  // namespace koord::api
