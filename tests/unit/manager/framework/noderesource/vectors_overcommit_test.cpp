// Upstream's tables of what nodes lend: batchresource (35 + 13 + 4), midresource (23), resource_calculator
// (21) and plugins/util (19).
#include <catch2/catch.hpp>

#include "framework/noderesource/node_case.hpp"
#include "framework/noderesource/node_update.hpp"
#include "framework/noderesource/plan.hpp"
#include "framework/noderesource/work.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "plugins/batch_resource/zone_amounts.hpp"
#include "vectors.hpp"

namespace koord::manager {
namespace {

using api::Quantity;

const api::Time kThen = api::Time::parse(kNow).value();

/// The same amounts, and no others that are not 0.
void same(const api::ResourceList& found, const api::ResourceList& wanted) {
  for (const auto& [name, amount] : wanted) {
    INFO(name.view());
    REQUIRE(found.contains(name.view()));
    CHECK(found.find(name.view())->value() == amount.value());
  }
  for (const auto& [name, amount] : found) {
    INFO(name.view() << " " << amount.to_string());
    CHECK((wanted.contains(name.view()) || amount.is_zero()));
  }
}

/// What a case has of a node. The figures that say nothing of the system count as 0 here: such a NodeMetric
/// is stale, see node_view_test.
struct Facts {
  api::Node node;
  std::vector<std::shared_ptr<const api::Pod>> pods;
  api::NodeMetric metric;
  ColocationStrategy strategy;

  Facts(const Vector& row, const Vector* defaults) : node(row.take<api::Node>("node")) {
    const Vector& pods_of = row.has("pods") || defaults == nullptr ? row : *defaults;
    const Vector& metric_of = row.has("metric") || defaults == nullptr ? row : *defaults;
    pods = pods_of.take_list<api::Pod>("pods");
    metric.status = metric_of.take<api::NodeMetricStatus>("metric");
    if (!metric.status.node_metric) metric.status.node_metric.emplace();
    api::ResourceList& system = metric.status.node_metric->system_usage.resources;
    for (const std::string_view name : {"cpu", "memory"})
      if (!system.contains(name)) system[name] = Quantity();
    if (row.has("age") || &metric_of == defaults)
      metric.status.update_time = api::Time(kThen.at - std::chrono::seconds(row.number("age")));
    strategy = SloConfig().colocation().cluster;
    const ColocationStrategy said = row.take<ColocationStrategy>("strategy");
    const auto set = [](auto& to, const auto& from) {
      if (from) to = from;
    };
    set(strategy.cpu_reclaim_threshold_percent, said.cpu_reclaim_threshold_percent);
    set(strategy.memory_reclaim_threshold_percent, said.memory_reclaim_threshold_percent);
    set(strategy.cpu_calculate_policy, said.cpu_calculate_policy);
    set(strategy.memory_calculate_policy, said.memory_calculate_policy);
    set(strategy.degrade_time_minutes, said.degrade_time_minutes);
    set(strategy.mid_reclaim_mode, said.mid_reclaim_mode);
    set(strategy.mid_cpu_threshold_percent, said.mid_cpu_threshold_percent);
    set(strategy.mid_memory_threshold_percent, said.mid_memory_threshold_percent);
    set(strategy.mid_unallocated_percent, said.mid_unallocated_percent);
    set(strategy.mid_static_cpu_reserved_percent, said.mid_static_cpu_reserved_percent);
    set(strategy.mid_static_memory_reserved_percent, said.mid_static_memory_reserved_percent);
    set(strategy.batch_cpu_threshold_percent, said.batch_cpu_threshold_percent);
    set(strategy.batch_memory_threshold_percent, said.batch_memory_threshold_percent);
  }
  NodeView view() const { return {node, pods, &metric, strategy, kThen}; }
};

void same_amount(const OvercommitAmount& amount, const json::Value& want) {
  CHECK(amount.cpu.value() == Quantity::must(json::text_at(want, "cpu")).value());
  CHECK(amount.memory.value() == Quantity::must(json::text_at(want, "memory")).value());
}

TEST_CASE("batchresource: 35 cases of what a node and its zones lend") {
  const auto defaults = vectors("overcommit", {"defaults"});
  REQUIRE(defaults.size() == 1);
  const auto rows = vectors("overcommit", {"batch"});
  REQUIRE(rows.size() == 35);
  for (const Vector& row : rows) {
    if (row.is("error")) continue;  // no arguments at all: they cannot be missing here
    INFO(row.json("node") << row.json("strategy"));
    const Facts facts(row, &defaults[0]);
    const json::Value* const want = row.find("want");
    CHECK(stale(facts.view()).has_value() == (want == nullptr));
    if (want == nullptr) continue;
    same_amount(batch_amount(facts.view()), *want);
    const json::Value* const zones = json::find(*want, "zones");
    if (zones == nullptr) continue;
    const auto topology = row.take<api::NodeResourceTopology>("topology");
    CHECK(has_zones(topology));
    const ZoneAmounts lent = zone_amounts(facts.view(), topology);
    REQUIRE(lent.size() == zones->size());
    for (std::size_t i = 0; i < lent.size(); ++i) {
      const json::Value* const zone = json::find(*zones, topology.zones[i].name.view());
      REQUIRE(zone != nullptr);
      CHECK(lent[i].cpu == Quantity::must((*zone)[0].text()));
      CHECK(lent[i].memory == Quantity::must((*zone)[1].text()));
    }
  }
}

TEST_CASE("midresource: 12 cases of what a node lends") {
  const auto rows = vectors("overcommit", {"mid"});
  REQUIRE(rows.size() == 12);
  for (const Vector& row : rows) {
    if (row.is("error")) continue;
    INFO(row.json("node") << row.json("strategy") << row.json("metric"));
    const Facts facts(row, nullptr);
    const json::Value* const want = row.find("want");
    CHECK(stale(facts.view()).has_value() == (want == nullptr));
    if (want != nullptr) same_amount(mid_amount(facts.view()), *want);
  }
}

TEST_CASE("batchresource and midresource: 4 and 6 cases of figures that are too old") {
  const auto rows = vectors("overcommit", {"stale"});
  REQUIRE(rows.size() == 10);
  for (const Vector& row : rows) {
    Facts facts(row, nullptr);
    facts.strategy.degrade_time_minutes = row.number("minutes", 15);
    NodeView view = facts.view();
    if (!row.is("has_metric")) view.metric = nullptr;
    CHECK(stale(view).has_value() == row.is("want"));
  }
}

/// What a case names of a plugin, nothing where it is reset.
std::optional<OvercommitAmount> amount_of(const api::ResourceList& amounts, std::string_view cpu,
                                          std::string_view memory) {
  if (!amounts.contains(cpu) && !amounts.contains(memory)) return std::nullopt;
  return OvercommitAmount{amounts.contains(cpu) ? *amounts.find(cpu) : Quantity(),
                          amounts.contains(memory) ? *amounts.find(memory) : Quantity()};
}

double ratio_of(const Vector& row) {
  return row.has("ratio") ? Quantity::must(row.text("ratio")).to_double() : 1;
}

TEST_CASE("batchresource and midresource: 8 and 3 cases of what is written of a node") {
  const auto rows = vectors("overcommit", {"set"});
  REQUIRE(rows.size() == 11);
  for (const Vector& row : rows) {
    INFO(row.json("node") << row.json("resources"));
    auto node = row.take<api::Node>("node");
    const api::ResourceList amounts = resources(row.find("resources"));
    const bool batch = row.text("plugin") == "batch";
    const auto amount = batch ? amount_of(amounts, api::kBatchCpu, api::kBatchMemory)
                              : amount_of(amounts, api::kMidCpu, api::kMidMemory);
    if (batch)
      set_batch(node, amount, ratio_of(row));
    else
      set_mid(node, amount);
    const json::Value& want = *row.find("want");
    same(node.status.allocatable, resources(json::find(want, "allocatable")));
    same(node.status.capacity, resources(json::find(want, "capacity")));
    if (!row.has("origin") || !amount) continue;
    const auto origin = json::parse(api::value_or(node.metadata.annotations, kOriginExtended));
    REQUIRE(origin.has_value());
    same(resources(json::find(*origin, "resources")),
         resources(json::find(*row.find("origin"), "resources")));
  }
}

TEST_CASE("batchresource: 5 cases of what is written of zones") {
  const auto rows = vectors("overcommit", {"zones"});
  REQUIRE(rows.size() == 5);
  for (const Vector& row : rows) {
    if (!row.has("topology")) continue;  // nothing to write
    const auto topology = row.take<api::NodeResourceTopology>("topology");
    ZoneAmounts overcommit;
    for (const api::TopologyZone& zone : topology.zones) {
      const api::ResourceList amounts = resources(json::find(*row.find("zones"), zone.name.view()));
      overcommit.push_back({*amounts.find(api::kBatchCpu), *amounts.find(api::kBatchMemory)});
    }
    const auto written = with_zone_amounts(topology, overcommit, ratio_of(row), row.real("share", 0));
    const api::NodeResourceTopology& after = written ? *written : topology;
    const json::Value& want = *row.find("want");
    REQUIRE(after.zones.size() == want.size());
    for (std::size_t i = 0; i < after.zones.size(); ++i)
      CHECK(after.zones[i] == Vector::read<api::TopologyZone>(json::to_text(want[i])));
  }
}

TEST_CASE("midresource: 2 cases of what is worth a write") {
  const auto rows = vectors("overcommit", {"worth"});
  REQUIRE(rows.size() == 2);
  for (const Vector& row : rows) {
    const api::ResourceList before = resources(row.find("before")), after = resources(row.find("after"));
    const double share = row.real("share", 0);
    CHECK((is_worth(before, after, api::kMidCpu, share) || is_worth(before, after, api::kMidMemory, share)) ==
          row.is("want"));
  }
}

SloConfig with_colocation(const std::string& colocation) {
  SloConfig config;
  api::ConfigMap map;
  map.data["colocation-config"] = colocation;
  config.set(map);
  return config;
}

TEST_CASE("resource_calculator: 5 cases of all that a node lends") {
  const SloConfig config = with_colocation(
      R"({"enable":true,"cpuReclaimThresholdPercent":65,"memoryReclaimThresholdPercent":65,"nodeConfigs":[)"
      R"({"nodeSelector":{"matchLabels":{"xxx":"yyy"}},"cpuReclaimThresholdPercent":70,"memoryReclaimThresholdPercent":70},)"
      R"({"nodeSelector":{"matchLabels":{"memory-calculate-by-request":"true"}},"cpuReclaimThresholdPercent":70,)"
      R"("memoryReclaimThresholdPercent":80,"memoryCalculatePolicy":"request"}]})");
  const auto rows = vectors("overcommit", {"calculate"});
  REQUIRE(rows.size() == 5);
  for (const Vector& row : rows) {
    INFO(row.json("node") << row.json("metric"));
    const Facts facts(row, nullptr);
    const ColocationStrategy strategy = colocation_of(config.colocation(), facts.node);
    const NodePlan plan =
        plan_node({.node = facts.node, .pods = facts.pods, .metric = &facts.metric, .now = kThen}, config,
                  strategy, all_resource_plugins());
    api::ResourceList lent;
    for (const OvercommitResource& one : plan.overcommit)
      if (one.amount) {
        lent[one.cpu] = one.amount->cpu;
        lent[one.memory] = one.amount->memory;
      }
    same(lent, resources(row.find("want")));
  }
}

TEST_CASE("resource_calculator: 2 cases of nodes without colocation") {
  const auto rows = vectors("overcommit", {"off"});
  REQUIRE(rows.size() == 2);
  for (const Vector& row : rows) {
    const SloConfig config = with_colocation(row.json("config"));
    const auto node = row.take<api::Node>("node");
    const ColocationStrategy strategy = colocation_of(config.colocation(), node);
    const NodePlan plan =
        plan_node({.node = node, .pods = {}, .now = kThen}, config, strategy, all_resource_plugins());
    CHECK((plan.why_not == "colocation is off") == row.is("want"));
  }
}

TEST_CASE("resource_calculator: 8 cases of a node that is written") {
  const auto rows = vectors("overcommit", {"update"});
  REQUIRE(rows.size() == 8);
  for (const Vector& row : rows) {
    INFO(row.json("node") << row.json("resources"));
    if (!row.has("want")) continue;  // a node that is gone meanwhile: an error of the client
    const json::Value* const status = json::find(*row.find("want"), "status");
    if (status == nullptr && row.json("resources") != "{}") continue;  // likewise
    const SloConfig config = with_colocation(row.json("config"));
    const auto node = row.take<api::Node>("node");
    const double share = colocation_of(config.colocation(), node).resource_diff_threshold.value_or(0);
    const api::ResourceList amounts = resources(row.find("resources"));
    NodePlan plan;
    plan.after = node;
    set_batch(plan.after, amount_of(amounts, api::kBatchCpu, api::kBatchMemory));
    const NodeChanges changes = changes_of(node, plan, share, resource_plugin_table());
    const api::Node written = changes.status_now ? with_status(node, plan, resource_plugin_table()) : node;
    const api::ResourceList wanted =
        status ? resources(json::find(*status, "allocatable")) : api::ResourceList();
    for (const std::string_view name : {api::kBatchCpu, api::kBatchMemory}) {
      const Quantity *const is = written.status.allocatable.find(name), *const want = wanted.find(name);
      CHECK((is ? is->value() : 0) == (want ? want->value() : 0));
    }
  }
}

TEST_CASE("resource_calculator: 6 cases of whether a node is written") {
  const auto rows = vectors("overcommit", {"sync"});
  REQUIRE(rows.size() == 6);
  for (const Vector& row : rows) {
    INFO(row.json("before") << row.json("after"));
    api::Node node;
    node.status.allocatable = node.status.capacity = resources(row.find("before"));
    NodePlan plan;
    plan.after = node;
    plan.after.status.allocatable = plan.after.status.capacity = resources(row.find("after"));
    const NodeChanges changes = changes_of(node, plan, row.real("share", 0.1), resource_plugin_table());
    // Upstream writes what is old enough though nothing differs; koord does not (COMPATIBILITY.md).
    const bool old = row.number("written") > row.number("gather", 300);
    CHECK((changes.status_now || (old && changes.status)) == (row.is("want") && !old));
  }
}

TEST_CASE("util: 19 cases of amounts and their parts") {
  std::size_t count = 0;
  for (const Vector& row : vectors("overcommit", {"cpu_memory"})) {
    const CpuMemory amount = CpuMemory::of(resources(row.find("resources")));
    const api::ResourceList want = resources(row.find("want"));
    CHECK((amount.cpu == *want.find("cpu") && amount.memory == *want.find("memory")));
    ++count;
  }
  for (const Vector& row : vectors("overcommit", {"margin"})) {
    // What is not lent of a node on which nothing runs.
    const Facts facts(row, nullptr);
    const CpuMemory total = CpuMemory::of(resources(row.find("resources")));
    const CpuMemory margin = total - batch_of(facts.strategy, {total, {}, {}}, {});
    const api::ResourceList want = resources(row.find("want"));
    CHECK((margin.cpu == *want.find("cpu") && margin.memory == *want.find("memory")));
    ++count;
  }
  for (const Vector& row : vectors("overcommit", {"add"})) {
    for (std::size_t i = 0; i < row.find("a")->size(); ++i) {
      CpuMemory sum = CpuMemory::of(resources(&(*row.find("a"))[i]));
      sum += CpuMemory::of(resources(&(*row.find("b"))[i]));
      const CpuMemory want = CpuMemory::of(resources(&(*row.find("want"))[i]));
      CHECK((sum.cpu == want.cpu && sum.memory == want.memory));
    }
    ++count;
  }
  for (const Vector& row : vectors("overcommit", {"part"})) {
    ++count;
    if (row.number("parts") == 0) continue;  // a topology without zones has no parts
    const CpuMemory part = part_of(CpuMemory::of(resources(row.find("resources"))),
                                   static_cast<std::size_t>(row.number("parts")));
    const api::ResourceList want = resources(row.find("want"));
    CHECK((part.cpu == *want.find("cpu") && part.memory == *want.find("memory")));
  }
  for (const Vector& row : vectors("overcommit", {"pod_zones"})) {
    INFO(row.json("pod"));
    ++count;
    // Zones without end, of which the pod takes what it uses, then what it asked for.
    Facts facts(row, nullptr);
    auto pod = row.take<api::Pod>("pod");
    pod.status.phase = Symbol("Running");
    pod.metadata.labels[api::kQosLabel] = Symbol("LS");
    facts.pods = {std::make_shared<const api::Pod>(pod)};
    facts.strategy.cpu_reclaim_threshold_percent = facts.strategy.memory_reclaim_threshold_percent = 100;
    api::NodeResourceTopology topology;
    for (std::int64_t i = 0; i < row.number("zones"); ++i) {
      api::TopologyZone& zone = topology.zones.emplace_back();
      for (const auto& [name, amount] : {std::pair{"cpu", "1k"}, std::pair{"memory", "1Ti"}})
        zone.resources.push_back(
            {Symbol(name), Quantity::must(amount), Quantity::must(amount), Quantity::must(amount)});
    }
    const auto takes = [&](std::string_view want) {
      const ZoneAmounts lent = zone_amounts(facts.view(), topology);
      for (std::size_t i = 0; i < lent.size(); ++i) {
        const CpuMemory wanted = CpuMemory::of(resources(&(*row.find(want))[i]));
        CHECK(lent[i].cpu.value() == Quantity::from_int(1'000'000).value() - wanted.cpu.milli_value());
        CHECK(lent[i].memory == Quantity::must("1Ti") - wanted.memory);
      }
    };
    takes("want");  // no metric: as requested
    api::PodMetricInfo& info = facts.metric.status.pods_metric.emplace_back();
    info.name = pod.metadata.name;
    info.namespace_ = pod.metadata.namespace_;
    info.pod_usage.resources = resources(row.find("usage"));
    takes("want_used");
  }
  CHECK(count == 19);
}

}  // namespace
}  // namespace koord::manager
