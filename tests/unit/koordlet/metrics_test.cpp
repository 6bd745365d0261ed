// The original's metrics: names and labels that dashboards ask for, and which part brings what is not there.
#include "metrics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <catch2/catch.hpp>

#include <string_view>

namespace koord::koordlet {
namespace {

const metrics::Metric* find(std::string_view name) {
  for (const metrics::Table& table : metric_tables())
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
     "pod_name, pod_namespace, pod_uid, container_name, container_id, core_sched_group, core_sched_cookie",
     "core scheduling"},
    {"core_sched_cookie_manage_status", "core_sched_group, status", "core scheduling"},
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
    {"container_cpi", "container_id, container_name, pod_uid, pod_name, pod_namespace, cpi_field", "CPI"},
    {"container_psi",
     "container_id, container_name, pod_uid, pod_name, pod_namespace, psi_resource_type, psi_precision, "
     "psi_degree, cpu_full_supported"},
    {"pod_psi",
     "pod_uid, pod_name, pod_namespace, psi_resource_type, psi_precision, psi_degree, cpu_full_supported"},
    {"resctrl_llc_occupancy", "cache_id, qos", "resctrl"},
    {"resctrl_memory_bandwidth", "cache_id, qos, mb_type", "resctrl"},
};

TEST_CASE("The original's metrics have their names and labels") {
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    const metrics::Metric* const found = find(fmt::format("koordlet_{}", row.name));
    CHECK((found != nullptr || !row.part.empty()));
    if (found != nullptr) CHECK(fmt::format("{}", fmt::join(found->labels, ", ")) == row.labels);
  }
}

}  // namespace
}  // namespace koord::koordlet
