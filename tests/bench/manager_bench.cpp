// The manager without an API server: what all nodes lend and shall be told, worked out anew, without the
// writes.
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <memory>
#include <vector>

#include "controllers/node_resources.hpp"
#include "controllers/specs.hpp"
#include "framework/noderesource/plan.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/api/schema/codec.hpp"
#include "plugins.hpp"

namespace {

using namespace koord;
using namespace koord::manager;

struct Row {
  api::Node node;
  api::NodeMetric metric;
  std::vector<std::shared_ptr<const api::Pod>> pods;
};

api::ResourceList amounts(std::int64_t milli, std::int64_t mib) {
  return {{"cpu", api::Quantity::from_milli(milli)},
          {"memory", api::Quantity::from_int(mib << 20, api::Quantity::Format::binary_si)}};
}

Row make_row(int number, int pods, api::Time now) {
  Row row;
  row.node.metadata.name = fmt::format("node-{:05}", number);
  row.node.metadata.labels["pool"] = Symbol(number % 10 == 0 ? "a" : "b");
  row.node.status.capacity = row.node.status.allocatable = amounts(64'000, 256 << 10);
  row.metric.metadata.name = row.node.metadata.name;
  row.metric.status.update_time = now;
  api::NodeMetricInfo& info = row.metric.status.node_metric.emplace();
  info.node_usage.resources = amounts(20'000, 90 << 10);
  info.system_usage.resources = amounts(1'500, 4 << 10);
  for (int i = 0; i < pods; ++i) {
    auto pod = std::make_shared<api::Pod>();
    pod->metadata.namespace_ = Symbol("team");
    pod->metadata.name = fmt::format("pod-{}-{}", number, i);
    pod->metadata.labels[api::kQosLabel] = Symbol(i % 3 == 0 ? "BE" : "LS");
    pod->status.phase = Symbol("Running");
    pod->spec.node_name = Symbol(row.node.metadata.name);
    pod->spec.containers.emplace_back().resources.requests = amounts(1'000 + 100 * (i % 7), 2 << 10);
    api::PodMetricInfo& used = row.metric.status.pods_metric.emplace_back();
    used.name = pod->metadata.name;
    used.namespace_ = pod->metadata.namespace_;
    used.pod_usage.resources = amounts(350 + 10 * (i % 11), 900 + i);
    row.pods.push_back(std::move(pod));
  }
  return row;
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

int main(int argc, char** argv) {
  const int nodes = argc > 1 ? std::atoi(argv[1]) : 10'000, pods = argc > 2 ? std::atoi(argv[2]) : 30;
  if (nodes < 1 || pods < 0) return 2;
  SloConfig config;
  api::ConfigMap map;
  map.data["colocation-config"] =
      R"({"enable":true,"nodeConfigs":[{"nodeSelector":{"matchLabels":{"pool":"a"}},"cpuReclaimThresholdPercent":70}]})";
  map.data["resource-threshold-config"] = R"({"clusterStrategy":{"enable":true}})";
  config.set(map);
  const api::Time now(std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
  std::vector<Row> rows;
  rows.reserve(static_cast<std::size_t>(nodes));
  for (int i = 0; i < nodes; ++i) rows.push_back(make_row(i, pods, now));

  static constexpr FeatureGate kGates[] = {gate_off("EnableSyncGPUSharedResource")};
  const ResourcePlugins plugins =
      choose_plugins(resource_plugin_table(), FeatureGates(kGates), [](auto) { return true; });
  std::int64_t lent = 0;
  std::size_t changed = 0;
  const auto lend = [&] {
    for (Row& row : rows) {
      const ColocationStrategy strategy = colocation_of(config.colocation(), row.node);
      const NodeFacts facts{.node = row.node, .pods = row.pods, .metric = &row.metric, .now = now};
      const NodePlan plan = plan_node(facts, config, strategy, plugins);
      const NodeChanges changes =
          changes_of(row.node, plan, strategy.resource_diff_threshold.value_or(0.1), plugins.table);
      if (!changes.status && !changes.meta) continue;
      api::Node after = with_meta(with_status(row.node, plan, plugins.table), plan, plugins.table);
      lent += after.status.allocatable.find(api::kBatchCpu)->value();
      ++changed;
      row.node = std::move(after);
    }
  };
  const auto tell = [&] {
    SpecParts parts;
    std::size_t size = 0;
    for (const Row& row : rows) {
      parts.clear();
      size += api::encode(node_slo_spec(config, row.node, nullptr, parts)).size();
      size += api::encode(node_metric_spec(config, row.node, nullptr, parts)).size();
    }
    return size;
  };
  fmt::print("{} nodes of {} pods; CPU seconds for all of them, us for one\n", nodes, pods);
  const auto measure = [&](const char* what, auto&& run) {
    const double began = cpu_seconds();
    run();
    const double took = cpu_seconds() - began;
    fmt::print("{:<44} {:>8.3f} s {:>8.1f} us\n", what, took, took * 1e6 / nodes);
  };
  measure("what they lend, all changed", lend);
  const std::size_t first = changed;
  measure("again, nothing changed", lend);
  measure("NodeSLO and NodeMetric specs, and their JSON", tell);
  fmt::print("{} nodes changed, then {}; {} batch milli-cores lent\n", first, changed - first, lent);
  return first == static_cast<std::size_t>(nodes) && changed == first ? 0 : 1;
}
