// The schema tables of koord/api/types/slo_v1alpha1/node_metric.hpp: NodeMetric.
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {
namespace {

constexpr std::string_view kMemoryPolicies[] = {"usageWithHotPageCache", "usageWithoutPageCache",
                                                "usageWithPageCache"};

}  // namespace

KOORD_SCHEMA(ResourceMap, ROW(resources), ROW(devices));
KOORD_SCHEMA(AggregatedUsage, ROW(usage), ROW(duration));
KOORD_SCHEMA(NumaUsage, ROW(numa_node_id).wire("numaNodeID").required().doc("Number of the NUMA node."),
             ROW(node_usage).always().doc("Usage of this NUMA node."),
             ROW(system_usage).always().doc("Usage of this NUMA node without pods."));
KOORD_SCHEMA(
    NodeMetricInfo, ROW(node_usage).always().doc("Usage of the whole node."),
    ROW(aggregated_node_usages).doc("Percentiles of the node usage, once there are enough samples."),
    ROW(system_usage).always().doc("nodeUsage without pods and host applications."),
    ROW(aggregated_system_usages).doc("Percentiles of the system usage, once there are enough samples."),
    ROW(numa_usages).doc("Usage of each NUMA node."));
KOORD_SCHEMA(PodMetricInfo, ROW(name), ROW(namespace_), ROW(pod_usage).always().doc("Usage of the pod."),
             ROW(priority).doc("Koordinator priority class."), ROW(qos).doc("Koordinator QoS class."),
             ROW(extensions).preserve_unknown().doc("For third parties."));
KOORD_SCHEMA(HostApplicationMetricInfo, ROW(name).doc("Name of the application."),
             ROW(usage).always().doc("Usage of the application."),
             ROW(priority).doc("Koordinator priority class."), ROW(qos).doc("Koordinator QoS class."));
KOORD_SCHEMA(NodeAggregatePolicy, ROW(durations));
KOORD_SCHEMA(
    NodeMetricCollectPolicy,
    ROW(aggregate_duration_seconds).doc("Period over which usage is aggregated, seconds."),
    ROW(report_interval_seconds).doc("Period of reports, seconds."),
    ROW(node_aggregate_policy).doc("Windows of the aggregated node usage."),
    ROW(node_memory_collect_policy).one_of(kMemoryPolicies).doc("Which page cache counts as used memory."));
KOORD_SCHEMA(NodeMetricSpec, ROW(metric_collect_policy));
KOORD_SCHEMA(PredictedMetric, ROW(resource).always());
KOORD_SCHEMA(NodeMetricStatus, ROW(update_time).doc("Time of the last report."),
             ROW(node_metric).doc("Usage of the node."), ROW(pods_metric).doc("Usage of each pod."),
             ROW(host_application_metric).doc("Usage of each host application."),
             ROW(prod_reclaimable_metric).doc("What prod pods requested and will not use, as predicted."),
             ROW(prod_peak_metric).doc("Predicted peak usage of prod pods."));
KOORD_OBJECT(NodeMetric,
             Kind("slo.koordinator.sh/v1alpha1", "NodeMetric", "nodemetrics")
                 .cluster_scoped()
                 .custom_resource("What a node uses, reported by its node agent."),
             ROW(metadata), ROW(spec), ROW(status));

}  // namespace koord::api
