// What agents report of the nodes of the scheduler's bench.
#include <fmt/format.h>

#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/koordinator/devices.hpp"
#include "scheduler_workloads.hpp"

namespace koord::scheduling::bench {

api::NodeMetric make_report(int node, int report, WallTime now) {
  const auto usage = [&](int milli, int mebibytes) {
    api::ResourceMap map;
    map.resources = {{"cpu", api::Quantity::from_milli(milli)},
                     {"memory", api::Quantity::must(fmt::format("{}Mi", mebibytes))}};
    return map;
  };
  const int busy = (node * 7 + report * 13) % 100;
  api::NodeMetric metric;
  metric.metadata.name = fmt::format("node-{}", node);
  metric.status.update_time = api::Time(now);
  api::NodeMetricInfo& info = metric.status.node_metric.ensure();
  info.node_usage = usage(500 + 10 * busy, 4096 + 32 * busy);
  for (const int minutes : {5, 10, 30}) {
    api::AggregatedUsage& aggregated = info.aggregated_node_usages.emplace_back();
    aggregated.duration = api::Duration(std::chrono::minutes(minutes));
    for (const std::string_view type : {"avg", "p50", "p90", "p95", "p99"})
      aggregated.usage[type] = usage(500 + 11 * busy, 4096 + 33 * busy);
  }
  for (int i = 0; i < 20; ++i) {
    api::PodMetricInfo& pod = metric.status.pods_metric.emplace_back();
    pod.namespace_ = "sched-0";
    pod.name = fmt::format("there-{}-{}", node, i);
    pod.priority = "koord-prod";
    pod.pod_usage = usage(20 + busy / 2, 180 + busy);
  }
  return metric;
}

api::NodeResourceTopology make_topology(const Workload& workload, int node) {
  api::NodeResourceTopology made;
  made.metadata.name = fmt::format("node-{}", node);
  api::CpuTopology cpus;
  for (int cpu = 0; cpu < 2 * kCores; ++cpu) {
    const int core = cpu % kCores;
    cpus.detail.push_back({.id = cpu,
                           .core = core,
                           .socket = core * 2 / kCores,
                           .node = core * workload.memory_nodes / kCores});
  }
  api::set_annotation(made.metadata.annotations, cpus);
  for (int i = 0; i < workload.memory_nodes; ++i) {
    api::TopologyZone& zone = made.zones.emplace_back();
    zone.name = Symbol(fmt::format("node-{}", i));
    zone.type = Symbol("Node");
    const auto cpu = api::Quantity::from_int(2 * kCores / workload.memory_nodes),
               memory = api::Quantity::must(fmt::format("{}Gi", 512 / workload.memory_nodes));
    zone.resources = {{Symbol("cpu"), cpu, cpu, cpu}, {Symbol("memory"), memory, memory, memory}};
  }
  return made;
}

api::Device make_device(int node) {
  api::Device made;
  made.metadata.name = fmt::format("node-{}", node);
  made.metadata.uid = made.metadata.name;
  made.metadata.resource_version = "1";
  const auto add = [&](std::string_view type, int minor) -> api::DeviceInfo& {
    api::DeviceInfo& info = made.spec.devices.emplace_back();
    info.type = Symbol(type);
    info.minor = minor;
    info.id = fmt::format("{}-{}-{}", type, node, minor);
    info.health = true;
    api::DeviceTopology& topology = info.topology.ensure();
    topology.node_id = minor * 2 / kGpus;
    topology.pcie_id = std::to_string(minor);
    return info;
  };
  for (int i = 0; i < kGpus; ++i) {
    add("gpu", i).resources = {{api::kGpuCore, api::Quantity::from_int(100)},
                               {api::kGpuMemoryRatio, api::Quantity::from_int(100)},
                               {api::kGpuMemory, api::Quantity::must("80Gi")}};
    api::DeviceInfo& nic = add("rdma", i);
    nic.resources = {{api::kRdma, api::Quantity::from_int(100)}};
    api::VirtualFunctionGroup& group = nic.vf_groups.emplace_back();
    for (int f = 0; f < 8; ++f) group.vfs.push_back({f, fmt::format("0000:{}f:00.{}", i, f)});
  }
  return made;
}

}  // namespace koord::scheduling::bench
