// What is known of a node, as its agent and anybody who may annotate wrote it: what it lends is never below 0
// nor more than it has, what is written is the same the second time, and its zones lend no more than they
// have. The input is
// {"node":..., "pods":[...], "metric":..., "topology":..., "device":..., "config":{...}} .
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "framework/noderesource/cpu_memory.hpp"
#include "framework/noderesource/plan.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"
#include "plugins.hpp"

using namespace koord;
using namespace koord::manager;

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

template <class T>
T take(const json::Value& all, std::string_view key) {
  const json::Value* const value = json::find(all, key);
  auto made = value ? api::decode<T>(json::to_text(*value)) : Result<T>(T());
  return made ? std::move(*made) : T();
}

/// Thresholds above 100 lend more than there is on purpose.
bool is_modest(const ColocationStrategy& strategy) {
  return strategy.cpu_reclaim_threshold_percent.value_or(0) <= 100 &&
         strategy.memory_reclaim_threshold_percent.value_or(0) <= 100;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto all = json::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!all || !all->is_object()) return 0;
  const auto node = take<api::Node>(*all, "node");
  const auto topology = take<api::NodeResourceTopology>(*all, "topology");
  const auto device = take<api::Device>(*all, "device");
  api::NodeMetric metric;
  metric.status = take<api::NodeMetricStatus>(*all, "metric");
  std::vector<std::shared_ptr<const api::Pod>> pods;
  if (const json::Value* list = json::find(*all, "pods"))
    for (const json::Value& one : list->elements())
      if (auto pod = api::decode<api::Pod>(json::to_text(one)))
        pods.push_back(std::make_shared<const api::Pod>(std::move(*pod)));
  api::ConfigMap map;
  if (const json::Value* config = json::find(*all, "config"))
    for (const json::Member& member : config->members()) map.data[member.key()] = json::to_text(member.value);
  SloConfig config;
  config.set(map);
  const api::Time now = api::Time::parse("2026-01-02T03:00:00Z").value();
  const ColocationStrategy strategy = colocation_of(config.colocation(), node);
  NodeFacts facts{.node = node,
                  .pods = pods,
                  .metric = &metric,
                  .topology = &topology,
                  .device = &device,
                  .now = now,
                  .level = OvercommitLevel::of(node)};
  static constexpr FeatureGate kGates[] = {gate_on("EnableSyncGPUSharedResource")};
  static const ResourcePlugins plugins =
      choose_plugins(resource_plugin_table(), FeatureGates(kGates), [](auto) { return true; });
  const NodePlan plan = plan_node(facts, config, strategy, plugins);
  const CpuMemory capacity = CpuMemory::of(node.status.capacity);
  for (const OvercommitResource& one : plan.overcommit) {
    if (!one.amount) continue;
    check(one.amount->cpu.sign() >= 0 && one.amount->memory.sign() >= 0);
    if (!is_modest(strategy)) continue;
    check(one.amount->cpu.value() <= capacity.cpu.milli_value());
    check(one.amount->memory.value() <= capacity.memory.value());
  }
  for (const OvercommitAmount& zone : *plan.zones) check(zone.cpu.sign() >= 0 && zone.memory.sign() >= 0);
  if (const auto written = with_zone_amounts(topology, *plan.zones, plan.ratio, 0))
    check(!with_zone_amounts(*written, *plan.zones, plan.ratio, 0));
  const api::Node after = with_meta(with_status(node, plan, plugins.table), plan, plugins.table);
  const NodeFacts again{.node = after,
                        .pods = pods,
                        .metric = &metric,
                        .topology = &topology,
                        .device = &device,
                        .now = now,
                        .level = OvercommitLevel::of(after)};
  // What is lent follows from the kubelet's figures, the devices' from the Device: neither moves by being
  // written.
  const NodePlan second = plan_node(again, config, colocation_of(config.colocation(), after), plugins);
  check(second.overcommit.size() == plan.overcommit.size());
  for (std::size_t i = 0; i < plan.overcommit.size(); ++i)
    check(second.overcommit[i].amount == plan.overcommit[i].amount);
  return 0;
}
