// The outlook: what nodes would ask for and use if pods had moved.
#include "passes/outlook.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "unit/descheduler/plugins/rows.hpp"

namespace koord::descheduler {
namespace {

std::shared_ptr<const api::NodeMetric> metric(const std::string& node, int cpu,
                                              const std::string& pods = {}) {
  const std::string text = R"({"metadata":{"name":")" + node + R"("},"status":{"nodeMetric":{"nodeUsage":)" +
                           R"({"resources":{"cpu":")" + std::to_string(cpu) + R"(m","memory":"300"}}},)" +
                           R"("podsMetric":[)" + pods + "]}}";
  return std::make_shared<const api::NodeMetric>(api::decode<api::NodeMetric>(text).value());
}

std::string pod_metric(const std::string& name, int cpu) {
  return R"({"namespace":"default","name":")" + name + R"(","podUsage":{"resources":{"cpu":")" +
         std::to_string(cpu) + R"(m","memory":"30"}}})";
}

TEST_CASE("nodes that a dry run would change are shown as they are and as they would be") {
  SnapshotObjects objects;
  for (const char* row : {"a", "b", "c", "d"}) objects.nodes.push_back(test::node_of(row));
  for (const char* row : {"p a cpu=500", "q a cpu=200", "r b cpu=300", "s b cpu=100 phase=Succeeded", "t d"})
    objects.pods.push_back(test::pod_of(row));
  objects.node_metrics = {metric("a", 1800, pod_metric("p", 600) + "," + pod_metric("other", 7)),
                          metric("b", 400), metric("c", 200)};
  const Snapshot snapshot(std::move(objects));
  const auto pod = [&](std::string_view name) {
    for (const PodPtr& each : snapshot.pods())
      if (each->metadata.name == name) return each;
    throw std::logic_error("no such pod");
  };
  PassReport report;
  // p to b, q (whose usage nobody knows) nowhere, t (whose node says nothing) to c.
  add_outlook(
      report, snapshot,
      std::vector<Move>{{pod("p"), snapshot.node("b")}, {pod("q"), nullptr}, {pod("t"), snapshot.node("c")}});
  std::vector<std::string> said;
  for (const ReportedNode& node : report.changed) said.push_back(api::encode(node));
  CHECK(
      said ==
      std::vector<std::string>{
          R"({"name":"a","pods":2,"podsAfter":0,"cpu":{"requested":35,"requestedAfter":0,"used":90,"usedAfter":60},)"
          R"("memory":{"requested":0,"requestedAfter":0,"used":10,"usedAfter":9}})",
          R"({"name":"b","pods":1,"podsAfter":2,"cpu":{"requested":15,"requestedAfter":40,"used":20,"usedAfter":50},)"
          R"("memory":{"requested":0,"requestedAfter":0,"used":10,"usedAfter":11}})",
          R"({"name":"c","pods":0,"podsAfter":1,"cpu":{"requested":0,"requestedAfter":5,"used":10,"usedAfter":10},)"
          R"("memory":{"requested":0,"requestedAfter":0,"used":10,"usedAfter":10}})",
          R"({"name":"d","pods":1,"podsAfter":0,"cpu":{"requested":5,"requestedAfter":0},)"
          R"("memory":{"requested":0,"requestedAfter":0}})"});
  REQUIRE(report.spread.size() == 2);
  CHECK(
      api::encode(report.spread[0]) ==
      R"({"resource":"cpu","nodes":3,"mean":40,"highest":90,"highestAfter":60,"deviation":35.6,"deviationAfter":21.6})");
}

TEST_CASE("nobody moves, and nobody says what is used") {
  SnapshotObjects objects;
  objects.nodes = {test::node_of("a"), test::node_of("b cpu=0")};
  const Snapshot snapshot(std::move(objects));
  PassReport report;
  add_outlook(report, snapshot, {});
  CHECK(report.changed.empty());
  CHECK(report.spread.empty());
}

}  // namespace
}  // namespace koord::descheduler
