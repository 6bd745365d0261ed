// NodeResourcesFit: what does not fit, what is ignored, and which events could make it fit.
#include <catch2/catch.hpp>

#include "filter_cases.hpp"

namespace koord::scheduling::test {
namespace {

TEST_CASE("pods go where there is room") {
  check_filter({
      {"fits", {}, {}, ""},
      {"cpu",
       {},
       [](auto& p) { p.spec.containers[0].resources.requests["cpu"] = api::Quantity::must("5"); },
       "0/1 nodes are available: 1 Insufficient cpu."},
      {"cpu and memory",
       {},
       [](auto& p) {
         p.spec.containers[0].resources.requests["cpu"] = api::Quantity::must("5");
         p.spec.containers[0].resources.requests["memory"] = api::Quantity::must("9Gi");
       },
       "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory."},
      {"extended resource",
       {},
       [](auto& p) { p.spec.containers[0].resources.requests["nvidia.com/gpu"] = api::Quantity::must("1"); },
       "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."},
      {"extended resource that is there",
       [](auto& n) { n.status.allocatable["nvidia.com/gpu"] = api::Quantity::must("1"); },
       [](auto& p) { p.spec.containers[0].resources.requests["nvidia.com/gpu"] = api::Quantity::must("1"); },
       ""},
      {"too many pods",
       [](auto& n) { n.status.allocatable["pods"] = api::Quantity::must("0"); },
       {},
       "0/1 nodes are available: 1 Too many pods."},
      {"overhead counts",
       {},
       [](auto& p) { p.spec.overhead["cpu"] = api::Quantity::must("3901m"); },
       "0/1 nodes are available: 1 Insufficient cpu."},
      {"init container is the maximum",
       {},
       [](auto& p) {
         p.spec.init_containers.emplace_back().resources.requests["cpu"] = api::Quantity::must("4001m");
       },
       "0/1 nodes are available: 1 Insufficient cpu."},
      {"sidecars add up",
       {},
       [](auto& p) {
         for (const char* cpu : {"2", "1901m"}) {
           auto& c = p.spec.init_containers.emplace_back();
           c.restart_policy = "Always";
           c.resources.requests["cpu"] = api::Quantity::must(cpu);
         }
       },
       "0/1 nodes are available: 1 Insufficient cpu."},
      {"pod-level requests win",
       {},
       [](auto& p) {
         p.spec.containers[0].resources.requests["cpu"] = api::Quantity::must("8");
         p.spec.resources.ensure().requests["cpu"] = api::Quantity::must("1");
       },
       ""},
  });
}

TEST_CASE("ignored resources and groups are not looked at") {
  KubeSchedulerConfiguration config;
  config.profiles.emplace_back().plugin_config.push_back(
      {"NodeResourcesFit", {R"({"ignoredResources":["a.com/x"],"ignoredResourceGroups":["b.com"]})"}, {}});
  World world(config);
  world.engine.put_node(make_node("n"));
  world.engine.put_pod(make_pod("p", "1", "1Mi", [](auto& p) {
    for (const char* name : {"a.com/x", "a.com/y", "b.com/z", "kubernetes.io/batch-cpu"})
      p.spec.containers[0].resources.requests[name] = api::Quantity::must("1");
  }));
  CHECK(world.one().message() ==
        "0/1 nodes are available: 1 Insufficient a.com/y, 1 Insufficient kubernetes.io/batch-cpu.");
  // Nor by the hint: the new node lacks what is ignored.
  world.clock.advance(std::chrono::seconds(11));
  world.engine.put_node(make_node("has", "4", "8Gi", [](auto& n) {
    for (const char* name : {"a.com/y", "kubernetes.io/batch-cpu"})
      n.status.allocatable[name] = api::Quantity::must("1");
  }));
  CHECK(world.one().node() == "has");
}

TEST_CASE("events that make room move the pods that it may help") {
  check_events({
      {"cpu grew",
       {},
       [](auto& p) { p.spec.containers[0].resources.requests["cpu"] = api::Quantity::must("5"); },
       [](auto& n) { n.status.allocatable["cpu"] = api::Quantity::must("5"); },
       true},
      {"cpu grew too little",
       {},
       [](auto& p) { p.spec.containers[0].resources.requests["cpu"] = api::Quantity::must("5"); },
       [](auto& n) { n.status.allocatable["cpu"] = api::Quantity::must("4500m"); },
       false},
      {"other resource grew",
       {},
       [](auto& p) { p.spec.containers[0].resources.requests["cpu"] = api::Quantity::must("5"); },
       [](auto& n) { n.status.allocatable["memory"] = api::Quantity::must("16Gi"); },
       false},
  });
}

TEST_CASE("a new node that cannot help moves nothing") {
  World world;
  world.engine.put_node(make_node("n", "1"));
  world.engine.put_pod(make_pod("p", "2"));
  world.one();
  world.engine.put_node(make_node("m", "1"));
  CHECK(world.run().empty());
  world.engine.put_node(make_node("o", "2"));
  CHECK(world.one().node() == "o");
}

TEST_CASE("how many pods a node takes is no resource that is scored") {
  const auto scored_with = [](std::string_view resources) {
    KubeSchedulerConfiguration config;
    config.profiles.emplace_back().plugin_config.push_back(
        {"NodeResourcesFit",
         {fmt::format(R"({{"scoringStrategy":{{"type":"LeastAllocated","resources":[{}]}}}})", resources)},
         {}});
    World world(config);
    world.engine.put_node(make_node("n"));
    return world.engine.evaluate(world.engine.profiles()[0], make_pod("p", "1")).score(0);
  };
  CHECK(scored_with(R"({"name":"cpu"},{"name":"pods","weight":9})") == scored_with(R"({"name":"cpu"})"));
}

TEST_CASE("a deleted pod makes room") {
  World world;
  world.engine.put_node(make_node("n", "1"));
  auto bound = make_pod("bound", "1", "1Mi", [](auto& p) { p.spec.node_name = "n"; });
  world.engine.put_pod(bound);
  world.engine.put_pod(make_pod("p", "1"));
  CHECK(world.one().message() == "0/1 nodes are available: 1 Insufficient cpu.");
  world.engine.remove_pod(*bound);
  CHECK(world.one().kind() == Decision::Kind::bind);
}

TEST_CASE("resources that are named without a weight weigh 1, and none that is named means cpu and memory") {
  struct Row {
    const char *name, *given, *completed;
  };
  const Row kRows[] = {
      {"nothing", "{}",
       R"("scoringStrategy":{"type":"LeastAllocated","resources":[{"name":"cpu","weight":1},)"
       R"({"name":"memory","weight":1}]})"},
      {"a strategy", R"({"scoringStrategy":{"type":"MostAllocated"}})",
       R"("scoringStrategy":{"type":"MostAllocated","resources":[{"name":"cpu","weight":1},)"
       R"({"name":"memory","weight":1}]})"},
      {"a weight of 0",
       R"({"scoringStrategy":{"type":"MostAllocated","resources":[{"name":"a","weight":0}]}})",
       R"("resources":[{"name":"a","weight":1}])"},
      {"no weight", R"({"scoringStrategy":{"type":"MostAllocated","resources":[{"name":"a"}]}})",
       R"("resources":[{"name":"a","weight":1}])"},
  };
  for (const Row& row : kRows) {
    INFO(row.name);
    KubeSchedulerConfiguration config;
    config.profiles.emplace_back().plugin_config.push_back({"NodeResourcesFit", {row.given}, {}});
    REQUIRE(complete(config, plugin_table()).has_value());
    CHECK_THAT(config.profiles[0].plugin_config[0].args.text, Catch::Matchers::Contains(row.completed));
  }
}

}  // namespace
}  // namespace koord::scheduling::test
