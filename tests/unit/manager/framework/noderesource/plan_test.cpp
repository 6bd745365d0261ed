// What is written of a node: which plugin says what, with and without colocation, and what stays when nothing
// can be said. And the rule for abnormal nodes.
#include "framework/noderesource/plan.hpp"

#include <catch2/catch.hpp>

#include "flags.hpp"
#include "framework/noderesource/node_update.hpp"
#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/koordinator/node.hpp"
#include "node_case.hpp"

namespace koord::manager {
namespace {

constexpr std::string_view kGpu = "koordinator.sh/gpu", kRdma = "koordinator.sh/rdma";

struct Plant {
  Case c{{"100", "120G"}, {"7", "12G"}};
  SloConfig config;
  api::NodeResourceTopology topology;
  api::Device device;
  OvercommitLevel level;
  ResourcePlugins plugins = all_resource_plugins();
  bool topologies_known = true, devices_known = true, has_topology = true, has_device = true;

  explicit Plant(std::string_view colocation = R"({"enable":true})", std::string_view normalization = "",
                 std::string_view amplification = "") {
    api::ConfigMap map;
    map.data["colocation-config"] = colocation;
    if (!normalization.empty()) map.data["cpu-normalization-config"] = normalization;
    if (!amplification.empty()) map.data["resource-amplification-config"] = amplification;
    REQUIRE(config.set(map).problems.empty());
    topology.metadata.annotations[api::CpuBasicInfo::kAnnotation] =
        Symbol(R"({"cpuModel":"M","hyperThreadEnabled":true,"turboEnabled":true})");
    for (const std::string_view name : {"node-0", "node-1"}) {
      api::TopologyZone& zone = topology.zones.emplace_back();
      zone.name = Symbol(name);
      for (const auto& [resource, amount] : {std::pair{"cpu", "50"}, std::pair{"memory", "60G"}})
        zone.resources.push_back({Symbol(resource), api::Quantity::must(amount), api::Quantity::must(amount),
                                  api::Quantity::must(amount)});
    }
  }
  void add_device(std::string_view type, bool health) {
    api::DeviceInfo& info = device.spec.devices.emplace_back();
    info.type = Symbol(type);
    info.health = health;
    if (type == "gpu") info.resources = {{"koordinator.sh/gpu-core", api::Quantity::from_int(100)}};
  }
  NodePlan plan() {
    const ColocationStrategy strategy = colocation_of(config.colocation(), c.node);
    const NodeFacts facts{.node = c.node,
                          .pods = c.pods,
                          .metric = &c.metric,
                          .topology = has_topology ? &topology : nullptr,
                          .device = has_device ? &device : nullptr,
                          .topologies_known = topologies_known,
                          .devices_known = devices_known,
                          .now = c.now,
                          .level = level};
    return plan_node(facts, config, strategy, plugins);
  }
  std::string annotation(std::string_view name) {
    return std::string(api::value_or(plan().after.metadata.annotations, name));
  }
  std::optional<std::int64_t> allocatable(std::string_view name) {
    const NodePlan planned = plan();
    const api::Quantity* const found = planned.after.status.allocatable.find(name);
    return found ? std::optional(found->value()) : std::nullopt;
  }
};

constexpr std::string_view kModels =
    R"({"enable":true,"ratioModel":{"M":{"hyperThreadTurboEnabledRatio":1.5}}})";
constexpr std::string_view kAmplified =
    R"({"enable":true,"resourceAmplificationRatio":{"cpu":2,"memory":1.25}})";

TEST_CASE("Batch CPU counts in normal CPUs, before others take their part; mid does not") {
  Plant plant(R"({"enable":true,"midReclaimMode":"static","midStaticCPUReservedPercent":10})", kModels);
  CHECK(plant.allocatable(api::kBatchCpu) == 79'500);  // (60 - 7) * 1.5
  CHECK(plant.allocatable(api::kMidCpu) == 10'000);
  plant.c.node.metadata.annotations["node.koordinator.sh/thirdPartyAllocations"] = Symbol(
      R"({"allocations":[{"priority":"koord-batch","resources":{"kubernetes.io/batch-cpu":"9500"}}]})");
  CHECK(plant.allocatable(api::kBatchCpu) == 70'000);
  CHECK(plant.annotation(api::kCpuNormalizationRatio) == "1.50");
}

TEST_CASE("Without colocation nothing is lent or amplified; what normalization and devices say stays") {
  Plant plant(R"({"enable":false})", kModels, kAmplified);
  plant.c.node.metadata.annotations = {{api::kCpuNormalizationRatio, Symbol("1.20")},
                                       {api::AmplificationRatios::kAnnotation, Symbol(R"({"cpu":2.00})")}};
  plant.c.node.status.allocatable[api::kBatchCpu] = plant.c.node.status.allocatable[api::kMidCpu] =
      api::Quantity::from_int(1);
  plant.add_device("gpu", true);
  plant.add_device("rdma", true);
  CHECK_FALSE(plant.allocatable(api::kBatchCpu));
  CHECK_FALSE(plant.allocatable(api::kMidCpu));
  CHECK(plant.annotation(api::AmplificationRatios::kAnnotation).empty());
  CHECK(plant.annotation(api::kCpuNormalizationRatio) == "1.20");
  CHECK(plant.allocatable(kGpu) == 100);
  CHECK(plant.allocatable(kRdma) == 100);
  plant.device.spec.devices[0].resources["koordinator.sh/gpu-memory"] = api::Quantity::must("1500m");
  plant.device.spec.devices[0].resources["koordinator.sh/gpu-memory-ratio"] = api::Quantity::must("-100");
  CHECK(plant.allocatable("koordinator.sh/gpu-memory") == 2);
  CHECK_FALSE(plant.allocatable("koordinator.sh/gpu-memory-ratio"));
  plant.device.spec.devices[0].health = false;  // upstream would give it away for ever
  plant.c.node.status.allocatable[kGpu] = api::Quantity::from_int(100);
  CHECK_FALSE(plant.allocatable(kGpu));
}

TEST_CASE("A node cannot have colocation where the cluster has none") {
  Plant plant(R"({"enable":false,"nodeConfigs":[{"nodeSelector":{},"enable":true}]})");
  CHECK_FALSE(plant.allocatable(api::kBatchCpu));
  CHECK(plant.plan().why_not == "colocation is off");
}

TEST_CASE("What is not known yet changes nothing") {
  Plant plant(R"({"enable":true})", kModels);
  plant.c.node.metadata.annotations = {{api::kCpuNormalizationRatio, Symbol("1.20")}};
  plant.c.node.status.allocatable[kGpu] = api::Quantity::from_int(100);
  plant.has_topology = plant.has_device = false;
  plant.topologies_known = plant.devices_known = false;
  CHECK(plant.allocatable(kGpu) == 100);
  CHECK(plant.annotation(api::kCpuNormalizationRatio) == "1.20");
  CHECK(plant.allocatable(api::kBatchCpu) == 63'600);  // 53 * 1.2
  plant.topologies_known = plant.devices_known = true;
  CHECK_FALSE(plant.allocatable(kGpu));
  CHECK(plant.annotation(api::kCpuNormalizationRatio) == "1.20");  // the plugin fails, its annotation stays
  CHECK(plant.allocatable(api::kBatchCpu) == 53'000);
}

TEST_CASE("Amplification: CPU times normalization; an error takes nothing away") {
  Plant plant(R"({"enable":true})", kModels, kAmplified);
  CHECK(plant.annotation(api::AmplificationRatios::kAnnotation) == R"({"cpu":3.00,"memory":1.25})");
  Plant wrong(R"({"enable":true})", "", R"({"enable":true,"resourceAmplificationRatio":{"memory":0.5}})");
  wrong.c.node.metadata.annotations = {{api::AmplificationRatios::kAnnotation, Symbol(R"({"cpu":2.00})")}};
  CHECK(wrong.annotation(api::AmplificationRatios::kAnnotation) == R"({"cpu":2.00})");
}

TEST_CASE("What the kubelet keeps of an amplified node is not what amplification adds") {
  Plant plant;
  plant.c.node.status.allocatable = list({"160", "100G"});
  plant.c.node.metadata.annotations["node.koordinator.sh/raw-allocatable"] =
      Symbol(R"({"cpu":"80","memory":"100G"})");
  CHECK(plant.allocatable(api::kBatchCpu) == 40'000);  // 60 - 20 kept
  for (const std::string_view bad : {"", "{", "[]", R"({"cpu":"many"})"}) {
    plant.c.node.metadata.annotations["node.koordinator.sh/raw-allocatable"] = Symbol(bad);
    CHECK(plant.allocatable(api::kBatchCpu) == 53'000);
  }
}

TEST_CASE("Zones lend what is free in them, and nothing when the node does not") {
  Plant plant;
  NodePlan planned = plant.plan();
  REQUIRE((planned.zones && planned.zones->size() == 2));
  CHECK((*planned.zones)[0].cpu.value() == 26'500);  // 30 - 3.5
  const auto written = with_zone_amounts(plant.topology, *planned.zones, planned.ratio, 0.1);
  REQUIRE(written);
  CHECK(written->zones[1].resources[1].name.view() == api::kBatchCpu);  // by name
  CHECK(written->zones[1].resources[1].available.value() == 26'500);
  CHECK_FALSE(with_zone_amounts(*written, *planned.zones, planned.ratio, 0.1));
  plant.topology = *written;
  plant.c.metric.status.update_time.reset();
  planned = plant.plan();
  CHECK(planned.why_not == "there is no NodeMetric");
  const auto reset = with_zone_amounts(plant.topology, *planned.zones, planned.ratio, 0.1);
  REQUIRE(reset);
  CHECK(reset->zones[0].resources[1].allocatable.is_zero());
  CHECK(reset->zones[0].resources[0].allocatable.value() == 50);
  CHECK_FALSE(with_zone_amounts(*reset, *planned.zones, planned.ratio, 0.1));
}

TEST_CASE("Which parts of a plan are written, and when") {
  Plant plant;
  NodePlan planned = plant.plan();
  plant.c.node = planned.after;
  CHECK_FALSE(changes_of(plant.c.node, plant.plan(), 0.1, plant.plugins.table).status);
  plant.c.metric.status.node_metric->system_usage.resources = list({"8", "12G"});
  NodeChanges changes = changes_of(plant.c.node, plant.plan(), 0.1, plant.plugins.table);
  CHECK((changes.status && !changes.status_now && !changes.meta));
  for (int i = 0; i < 16; ++i) plant.add_device("gpu", true);
  plant.device.metadata.labels["node.koordinator.sh/gpu-model"] = Symbol("T4");
  changes = changes_of(plant.c.node, plant.plan(), 0.1, plant.plugins.table);
  CHECK((changes.status_now && changes.meta));
  plant.c.node = plant.plan().after;
  plant.device.spec.devices[0].health = false;  // one of sixteen is below any share, and gone
  changes = changes_of(plant.c.node, plant.plan(), 0.1, plant.plugins.table);
  CHECK((changes.status_now && !changes.meta));
  const NodePlan last = plant.plan();
  CHECK(with_status(plant.c.node, last, plant.plugins.table).metadata.labels == plant.c.node.metadata.labels);
  CHECK(with_meta(plant.c.node, last, plant.plugins.table).status == plant.c.node.status);
}

TEST_CASE("An abnormal node lends less step by step, and gets it back") {
  ColocationStrategy strategy;
  const api::Time start = api::Time::parse(kNow).value();
  const auto at = [start](int minutes) { return api::Time(start.at + std::chrono::minutes(minutes)); };
  CHECK(OvercommitLevel().lowered(strategy, start).percent == 100);  // off
  strategy.abnormal_node_step_percent = 30;
  OvercommitLevel level = OvercommitLevel().lowered(strategy, start);
  CHECK(level.percent == 70);
  CHECK(level.lowered(strategy, start).percent == 70);  // once a minute
  level = level.lowered(strategy, at(1)).lowered(strategy, at(2)).lowered(strategy, at(3));
  CHECK(level.percent == 0);
  CHECK(level.to_string() == R"({"percent":0,"time":"2026-01-02T03:03:00Z"})");
  api::Node node;
  node.metadata.annotations[kLevelAnnotation] = Symbol(level.to_string());
  CHECK(OvercommitLevel::of(node) == level);
  CHECK(level.rises_in(strategy, at(3)) == std::chrono::minutes(10));
  CHECK(level.recovered(strategy, at(12)) == level);
  CHECK(level.recovered(strategy, at(13)) == OvercommitLevel{30, at(13)});
  CHECK(level.recovered(strategy, at(34)).percent == 90);
  CHECK(level.recovered(strategy, at(43)) == OvercommitLevel());
  CHECK(level.recovered(strategy, at(999'999)) == OvercommitLevel());
  CHECK(OvercommitLevel{50, at(999)}.recovered(strategy, at(1)) ==
        OvercommitLevel{50, at(1)});  // from the future
  for (const std::string_view bad :
       {"", "{", "7", R"({"percent":50})", R"({"percent":101,"time":"2026-01-02T03:03:00Z"})"}) {
    node.metadata.annotations[kLevelAnnotation] = Symbol(bad);
    CHECK(OvercommitLevel::of(node) == OvercommitLevel());
  }
  Plant plant(R"({"enable":true,"abnormalNodeStepPercent":20})");
  plant.level = {50, plant.c.now};
  CHECK(plant.allocatable(api::kBatchCpu) == 26'500);
  CHECK(plant.annotation(kLevelAnnotation) == plant.level.to_string());
  CHECK(*plant.plan().wait == std::chrono::minutes(10));
  Plant off;
  off.level = {50, off.c.now};
  off.c.node.metadata.annotations[kLevelAnnotation] = Symbol(off.level.to_string());
  CHECK(off.allocatable(api::kBatchCpu) == 53'000);
  CHECK(off.annotation(kLevelAnnotation).empty());
}

// A plugin of the test's own.
constexpr std::string_view kCooled[] = {"example.com/cooled"}, kCooling[] = {"example.com/cooling"};

Result<PluginStage> plan_cooling(NodeDraft& draft) {
  if (draft.facts.node.metadata.name == "warm") return Error(Code::invalid, "the node is warm");
  set_amount(draft.plan.after, kCooled[0], api::Quantity::from_int(7));
  set_annotation(draft.plan.after, kCooling[0], draft.lends() ? "lends" : "keeps");
  return draft.stage();
}

constexpr ResourcePlugin kCoolingPlugin{
    .name = "Cooling",
    .resources = kCooled,
    .annotations = kCooling,
    .make = [](const FeatureGates&) -> ResourcePluginRun { return &plan_cooling; },
};

TEST_CASE("A row is all that a plugin needs: it is switched, run, counted, compared and written by it") {
  std::vector<const ResourcePlugin*> table(resource_plugin_table().begin(), resource_plugin_table().end());
  table.push_back(&kCoolingPlugin);
  const FeatureGates none;
  Plant plant;
  plant.plugins = choose_plugins(table, none, [](std::string_view name) { return name == "Cooling"; });
  const NodePlan planned = plant.plan();
  REQUIRE(planned.runs.size() == 1);
  CHECK((planned.runs[0].plugin == "Cooling" && planned.runs[0].stage == "ResourceCalculate"));
  const NodeChanges changes = changes_of(plant.c.node, planned, 0.1, table);
  CHECK((changes.status && changes.status_now && changes.meta));
  const api::Node status = with_status(plant.c.node, planned, table),
                  after = with_meta(status, planned, table);
  CHECK(status.status.allocatable.find(kCooled[0])->value() == 7);
  CHECK(api::value_or(after.metadata.annotations, kCooling[0]) == "lends");
  CHECK_FALSE(planned.zones);  // who is off says nothing of them
  plant.c.node = after;
  CHECK_FALSE(changes_of(plant.c.node, plant.plan(), 0.1, table).status_now);
  plant.c.node.metadata.name = "warm";  // an error takes nothing away
  const NodePlan failed = plant.plan();
  CHECK(failed.runs[0].error == "the node is warm");
  CHECK(failed.after == plant.c.node);
}

TEST_CASE("Every row is named by the flag's default, and the other way round") {
  const runtime::FlagOwner owner{"manager", flags()};
  const auto values = runtime::default_flags(std::span(&owner, 1));
  REQUIRE(values.has_value());
  std::vector<std::string> named = values->get_list("noderesource-plugins"), rows;
  for (const ResourcePlugin* plugin : resource_plugin_table()) rows.emplace_back(plugin->name);
  std::ranges::sort(named);
  std::ranges::sort(rows);
  CHECK(named == rows);
}

}  // namespace
}  // namespace koord::manager
