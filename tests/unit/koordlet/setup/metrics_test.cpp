// The original's metrics: names and labels that dashboards ask for, and which part brings what is not there.
#include "setup/metrics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <catch2/catch.hpp>

#include <string>
#include <string_view>

#include "collectors.hpp"
#include "framework/report/reporter.hpp"
#include "framework/serve/resource_gauges.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/host/text.hpp"
#include "plugins.hpp"

namespace koord::koordlet {
namespace {

const metrics::Metric* find(std::string_view name) {
  for (const metrics::Table& table : metric_tables(strategy_table(), collector_table()))
    for (const metrics::Metric* row : table)
      if (row->name == name) return row;
  return nullptr;
}

struct Row {
  std::string_view name, labels;  // without koordlet_, and without the label `node` that all have
  std::string_view part = "";     // that brings it; empty: it is there
};

// Those of Go's runtime and of Prometheus' database have no counterpart.
constexpr Row kRows[] = {
    {"start_time", ""},
    {"collect_node_cpu_info_status", "status"},
    {"collect_node_numa_info_status", "status"},
    {"collect_node_local_storage_info_status", "status", "local storage"},
    {"pod_eviction", "reason"},
    {"pod_eviction_detail", "pod_namespace, pod_name, reason"},
    {"node_used_cpu_cores", ""},
    {"node_used_memory_bytes", ""},
    {"be_suppress_cpu_cores", "type"},
    {"be_suppress_ls_used_cpu_cores", ""},
    {"be_suppress_be_used_cpu_cores", ""},
    {"container_scaled_cfs_burst_us", "pod_namespace, pod_name, container_id, container_name"},
    {"container_scaled_cfs_quota_us", "pod_namespace, pod_name, container_id, container_name"},
    {"cpuset_share_pool_cpu_cores", ""},
    {"cpuset_be_share_pool_cpu_cores", ""},
    {"cpuset_share_pool_info", "cpu"},
    {"cpuset_be_share_pool_info", "cpu"},
    {"container_oom_score_adj", "pod_name, pod_namespace, pod_uid, container_name"},
    {"runtime_hook_reconciler_invoked_duration_milliseconds", "level, resource_type, status"},
    {"runtime_hook_invoked_duration_milliseconds", "hook, stage, status", "NRI and the CRI proxy"},
    {"container_core_sched_cookie",
     "pod_name, pod_namespace, pod_uid, container_name, container_id, core_sched_group, core_sched_cookie"},
    {"core_sched_cookie_manage_status", "core_sched_group, status"},
    {"node_predicted_resource_reclaimable", "predictor, resource, unit"},
    {"node_predicted_resource_peak", "predictor, resource, unit"},
    {"node_metric_node_usage", "resource, unit"},
    {"node_metric_system_usage", "resource, unit"},
    {"node_metric_numa_node_usage", "numa_node_id, resource, unit"},
    {"node_metric_numa_system_usage", "numa_node_id, resource, unit"},
    {"host_application_resource_usage", "host_application_name, resource, priority_class, qos"},
    {"resource_update_duration_milliseconds", "type, status"},
    {"kubelet_request_duration_seconds", "verb, path, code"},
    {"node_resource_allocatable", "resource, unit"},
    {"node_priority_resource_reclaimable", "priority, resource, unit"},
    {"node_resource_priority_reclaimable_status", "priority"},
    {"container_resource_requests",
     "resource, unit, pod_uid, pod_name, pod_namespace, container_id, container_name"},
    {"container_resource_limits",
     "resource, unit, pod_uid, pod_name, pod_namespace, container_id, container_name"},
    {"container_cpi", "container_id, container_name, pod_uid, pod_name, pod_namespace, cpi_field"},
    {"container_psi",
     "container_id, container_name, pod_uid, pod_name, pod_namespace, psi_resource_type, psi_precision, "
     "psi_degree, cpu_full_supported"},
    {"pod_psi",
     "pod_uid, pod_name, pod_namespace, psi_resource_type, psi_precision, psi_degree, cpu_full_supported"},
    {"resctrl_llc_occupancy", "cache_id, qos"},
    {"resctrl_memory_bandwidth", "cache_id, qos, mb_type"},
};

TEST_CASE("The original's metrics have their names and labels") {
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    const metrics::Metric* const found = find(fmt::format("koordlet_{}", row.name));
    CHECK((found != nullptr || !row.part.empty()));
    if (found != nullptr) CHECK(fmt::format("{}", fmt::join(found->labels, ", ")) == row.labels);
  }
}

/// The series of koordlet's metrics whose names begin like this, without their prefix.
std::string shown(const metrics::Registry& registry, std::string_view begin) {
  const std::string text = registry.exposition();
  std::string_view rest = text, line;
  std::string out;
  while (host::next_line(rest, line))
    if (line.starts_with(fmt::format("koordlet_{}", begin))) out += fmt::format("{}\n", line.substr(9));
  return out;
}

TEST_CASE("Batch and mid resources of containers and of the node, with the original's units") {
  metrics::Registry internal, external;
  ResourceGauges gauges(internal, external, WallTime(std::chrono::milliseconds(1'700'000'000'900)));
  CHECK(shown(internal, "start_time") == "start_time 1.7e+09\n");
  Inventory now;
  gauges.inventory(now);
  CHECK(shown(external, "").empty());  // nobody knows the node

  now.node.allocatable_milli_cpu = 4000;
  now.node.extended = {{"kubernetes.io/batch-cpu", 2500}, {"kubernetes.io/mid-memory", 4096}};
  auto object = api::decode<api::Pod>(
      R"({"metadata":{"name":"p","namespace":"d","uid":"u"},"spec":{"containers":[)"
      R"({"name":"c","resources":{"requests":{"cpu":"9","kubernetes.io/batch-cpu":"1k"},)"
      R"("limits":{"kubernetes.io/batch-memory":"1Ki"}}},)"
      R"({"name":"waits","resources":{"requests":{"kubernetes.io/mid-cpu":"7"}}}]}})");
  REQUIRE(object.has_value());
  auto pod = std::make_shared<PodInfo>();
  pod->uid = "u";
  pod->name = "p";
  pod->ns = "d";
  pod->object = std::make_shared<const api::Pod>(std::move(*object));
  pod->containers.push_back({.name = "c", .id = "i"});
  pod->containers.back().full_id = "containerd://i";
  now.pods.push_back(pod);
  gauges.inventory(now);
  CHECK(shown(external, "node_resource_allocatable") ==
        "node_resource_allocatable{resource=\"kubernetes.io/batch-cpu\",unit=\"integer\"} 2500\n"
        "node_resource_allocatable{resource=\"kubernetes.io/batch-memory\",unit=\"byte\"} 0\n"
        "node_resource_allocatable{resource=\"kubernetes.io/mid-cpu\",unit=\"integer\"} 0\n"
        "node_resource_allocatable{resource=\"kubernetes.io/mid-memory\",unit=\"byte\"} 4096\n");
  const std::string_view whose =
      "pod_uid=\"u\",pod_name=\"p\",pod_namespace=\"d\",container_id=\"containerd://i\",container_name=\"c\"";
  CHECK(shown(external, "container_") ==
        fmt::format(
            "container_resource_limits{{resource=\"kubernetes.io/batch-memory\",unit=\"byte\",{0}}} 1024\n"
            "container_resource_requests{{resource=\"kubernetes.io/batch-cpu\",unit=\"integer\",{0}}} 1000\n",
            whose));
  now.pods.clear();
  gauges.inventory(now);
  CHECK(shown(external, "container_").empty());
}

TEST_CASE("NodeMetric as metrics; what is reported no more goes") {
  metrics::Registry registry;
  const NodeMetricGauges gauges(registry);
  const auto show = [&](const char* text) {
    const auto status = api::decode<api::NodeMetricStatus>(text);
    REQUIRE(status.has_value());
    gauges.show(*status);
  };
  show(R"({"nodeMetric":{"nodeUsage":{"resources":{"cpu":"1500m","memory":"1Ki"}},)"
       R"("systemUsage":{"resources":{"cpu":"250m"}},"numaUsages":[)"
       R"({"numaNodeID":1,"nodeUsage":{"resources":{"cpu":"2","memory":"8"}},)"
       R"("systemUsage":{"resources":{"memory":"3"}}}]}})");
  CHECK(shown(registry, "node_metric_") ==
        "node_metric_node_usage{resource=\"cpu\",unit=\"core\"} 1.5\n"
        "node_metric_node_usage{resource=\"memory\",unit=\"byte\"} 1024\n"
        "node_metric_numa_node_usage{numa_node_id=\"1\",resource=\"cpu\",unit=\"core\"} 2\n"
        "node_metric_numa_node_usage{numa_node_id=\"1\",resource=\"memory\",unit=\"byte\"} 8\n"
        "node_metric_numa_system_usage{numa_node_id=\"1\",resource=\"memory\",unit=\"byte\"} 3\n"
        "node_metric_system_usage{resource=\"cpu\",unit=\"core\"} 0.25\n");
  show(R"({"nodeMetric":{"nodeUsage":{"resources":{"cpu":"1"}}}})");
  CHECK(shown(registry, "node_metric_") == "node_metric_node_usage{resource=\"cpu\",unit=\"core\"} 1\n");
}

}  // namespace
}  // namespace koord::koordlet
