// Resources: names that anybody may write cost what they are, and sums stay sums.
#include "koord/scheduling/cluster/resources.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <limits>
#include <vector>

#include "koord/scheduling/classes/random.hpp"
#include "koord/scheduling/cluster/resource_cells.hpp"
#include "koord/scheduling/scoring/resource_score.hpp"
#include "world.hpp"

namespace koord::scheduling::test {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

/// A pod that asks for one of each of `count` resources, numbered from `first`.
std::shared_ptr<const api::Pod> many_resources(std::string name, int first, int count,
                                               std::string_view node = {}) {
  return make_pod(std::move(name), "100m", "128Mi", [&](api::Pod& p) {
    for (int i = first; i < first + count; ++i)
      p.spec.containers[0].resources.requests[fmt::format("a.com/r{:06}", i)] = api::Quantity::must("1");
    p.spec.node_name = node;
  });
}

TEST_CASE("what a pod names and no node has takes no column") {
  World world;
  constexpr int kNodes = 500, kNames = 20'000;
  for (int i = 0; i < kNodes; ++i) world.engine.put_node(make_node(fmt::format("n{}", i)));
  const std::size_t before = world.engine.nodes().cells().stored();
  CHECK(before < std::size_t{20} * kNodes);
  world.engine.put_pod(many_resources("bound", 0, kNames, "n7"));
  CHECK(world.engine.nodes().cells().stored() <= before + std::size_t{2} * kNames);

  SECTION("it is free again when the pod is gone") {
    world.engine.remove_pod(*many_resources("bound", 0, kNames, "n7"));
    CHECK(world.engine.nodes().cells().stored() == before);
  }
  SECTION("a node that comes to have it has it taken") {
    world.engine.put_node(make_node("n7", "4", "8Gi", [](api::Node& n) {
      n.status.allocatable["a.com/r000003"] = api::Quantity::must("1");
    }));
    world.engine.put_pod(many_resources("p", 3, 1));
    CHECK(world.one().message() == "0/500 nodes are available: 500 Insufficient a.com/r000003.");
    world.engine.remove_pod(*many_resources("bound", 0, kNames, "n7"));
    CHECK(world.one().node() == "n7");
  }
  SECTION("one that waits for it is told of a bounded number of names") {
    world.engine.put_pod(many_resources("p", 0, kNames));
    const Decision d = world.one();
    CHECK(d.kind() == Decision::Kind::unschedulable);
    CHECK(d.message().size() < 4000);
    CHECK(d.message().find("500 Insufficient a.com/r000000") != std::string::npos);
  }
}

TEST_CASE("names that nobody uses any more are given back, and their numbers mean what they name now") {
  World world;
  world.engine.put_node(make_node(
      "n", "4", "8Gi", [](api::Node& n) { n.status.allocatable["b.com/kept"] = api::Quantity::must("3"); }));
  const auto wants = [](std::string name, std::string_view count, std::string_view node) {
    return make_pod(std::move(name), "100m", "128Mi", [&](api::Pod& p) {
      p.spec.containers[0].resources.requests["b.com/kept"] = api::Quantity::must(count);
      p.spec.containers[0].resources.requests["a.com/r000000"] = api::Quantity::must(count);
      p.spec.node_name = node;
    });
  };
  world.engine.put_pod(wants("bound", "2", "n"));
  world.engine.put_pod(wants("waits", "1", ""));
  world.run();
  // As many as there were before numbers were given back, in every round, and each is told of its own.
  constexpr int kRounds = 60, kNames = 1000;
  for (int round = 0; round < kRounds; ++round) {
    const auto pod = many_resources(fmt::format("p{}", round), 1 + round * kNames, kNames);
    world.engine.put_pod(pod);
    const std::string told = world.one().message();
    int count = 0;
    for (std::size_t at = 0; (at = told.find("a.com/r", at)) != std::string::npos; ++count) {
      at += std::string_view("a.com/r").size();
      const int number = std::stoi(told.substr(at, 6));
      if (number <= round * kNames || number > (round + 1) * kNames) FAIL_CHECK(told);
    }
    CHECK(count == 60);
    world.engine.remove_pod(*pod);
  }
  CHECK(world.engine.nodes().resources().size() < 40'000);
  CHECK(world.engine.nodes().resources().known() <= world.engine.nodes().resources().size());
  // What is in use has kept its number.
  world.engine.put_pod(wants("two", "2", ""));
  CHECK(world.one().message() ==
        "0/1 nodes are available: 1 Insufficient a.com/r000000, 1 Insufficient b.com/kept.");
  world.engine.remove_pod(*wants("bound", "2", "n"));
  CHECK(world.engine.nodes().used(world.engine.context().nodes.resources().id("b.com/kept"), 0) == 0);
}

TEST_CASE("verdicts that name what a pod wrote go with its class") {
  VerdictTable table;
  const VerdictId kept = table.intern({1, false, {"kept"}});
  const std::size_t before = table.size();
  for (int i = 0; i < 1000; ++i) {
    const VerdictId held = table.hold({1, false, {fmt::format("Insufficient {}", i)}});
    CHECK(table.hold({1, false, {fmt::format("Insufficient {}", i)}}) == held);
    table.release(held);
    CHECK(table[held].reasons[0] == fmt::format("Insufficient {}", i));
    table.release(held);
  }
  CHECK(table.size() == before + 1);
  table.release(table.hold({1, false, {"kept"}}));
  CHECK(table[kept].reasons[0] == "kept");
}

TEST_CASE("resources without number are told apart") {
  World world;
  world.engine.put_node(make_node("n", "1"));
  // The numbers of 16 bits are used up by the fourth of them.
  for (int i = 0; i < 4; ++i)
    world.engine.put_pod(many_resources(fmt::format("p{}", i), i * 20'000, 20'000, "n"));
  CHECK(world.engine.nodes().resources().size() > 80'000);
  CHECK(world.engine.nodes().used(kCpu, 0) == 400);
  world.engine.put_pod(make_pod("last", "600m"));
  CHECK(world.one().node() == "n");
}

TEST_CASE("a pod may ask for more resources than a word has bits") {
  World world;
  const auto has = [](int lacking) {
    return [=](api::Node& n) {
      for (int i = 0; i < 100; ++i)
        if (i != lacking) n.status.allocatable[fmt::format("a.com/r{:06}", i)] = api::Quantity::must("1");
    };
  };
  world.engine.put_node(make_node("m", "4", "8Gi", has(98)));
  world.engine.put_node(make_node("n", "4", "8Gi", has(97)));
  world.engine.put_pod(many_resources("p", 0, 100));
  CHECK(world.one().message() ==
        "0/2 nodes are available: 1 Insufficient a.com/r000097, 1 Insufficient a.com/r000098.");
  world.engine.put_node(make_node("n", "4", "8Gi", has(-1)));
  CHECK(world.one().node() == "n");
}

TEST_CASE("sums that fit no word are read saturated, and go back to what they were") {
  World world;
  world.engine.put_node(make_node("n", "4", "8Gi"));
  const auto huge = [](std::string name) {
    return make_pod(std::move(name), "9223372036854775807", "9223372036854775807",
                    [](api::Pod& p) { p.spec.node_name = "n"; });
  };
  world.engine.put_pod(make_pod("small", "1", "1Gi", [](api::Pod& p) { p.spec.node_name = "n"; }));
  for (const char* name : {"a", "b", "c"}) world.engine.put_pod(huge(name));
  const NodeTable& nodes = world.engine.nodes();
  CHECK(nodes.used(kCpu, 0) == kMax);
  CHECK(nodes.used(kNonzeroMemory, 0) == kMax);
  world.engine.put_pod(make_pod("p", "1m", "1"));
  CHECK(world.one().message() == "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory.");
  for (const char* name : {"b", "a"}) world.engine.remove_pod(*huge(name));
  CHECK(nodes.used(kMemory, 0) == kMax);
  world.engine.remove_pod(*huge("c"));
  CHECK(nodes.used(kCpu, 0) == 1000);
  CHECK(nodes.used(kMemory, 0) == std::int64_t{1} << 30);
  CHECK(world.one().node() == "n");
}

TEST_CASE("a resource has columns while many nodes have it") {
  ResourceCells cells;
  const ResourceId gpu = kFirstScalar, kept = kFirstScalar + 1;
  constexpr Row kRows = 1024;
  cells.resize(kRows);
  CHECK(cells.allocatable_column(kCpu) != nullptr);
  cells.keep(kept);
  CHECK(cells.allocatable_column(kept) != nullptr);
  cells.add_used(gpu, 5, 7, false);
  for (Row row = 0; row < kRows / 16 - 1; ++row) cells.set_allocatable(gpu, row, row + 1);
  CHECK(cells.allocatable_column(gpu) == nullptr);
  CHECK(cells.holders(gpu) == kRows / 16 - 1);
  cells.set_allocatable(gpu, 1000, 3);
  REQUIRE(cells.allocatable_column(gpu) != nullptr);
  CHECK(cells.allocatable_column(gpu)[5] == 6);
  CHECK(cells.used_column(gpu)[5] == 7);
  // Fewer of them make no difference until they are few.
  for (Row row = kRows / 64; row < kRows / 16 - 1; ++row) cells.set_allocatable(gpu, row, 0);
  CHECK(cells.allocatable_column(gpu) != nullptr);
  for (Row row : {1000u, 15u}) cells.set_allocatable(gpu, row, 0);
  CHECK(cells.allocatable_column(gpu) == nullptr);
  CHECK(cells.allocatable(gpu, 5) == 6);
  CHECK(cells.used(gpu, 5) == 7);
  CHECK(cells.used(gpu, 6) == 0);
}

TEST_CASE("rows that are scored together get what each gets alone") {
  using Strategy = ResourceScorer::Strategy;
  NodeTable nodes;
  Random random(3);
  constexpr Row kRows = 2000;
  std::deque<PodInfo> pods;
  for (Row i = 0; i < kRows; ++i) {
    const Row row = nodes.row_of(Symbol(fmt::format("n{}", i)));
    // In some blocks there are a node without memory, one larger than numbers are exact for, and crowded
    // ones.
    const std::int64_t memory = i == 600 ? 0 : i == 1500 ? kMax / 2 : 1 + random.below(1u << 31) * 1000ll;
    auto node = make_node(fmt::format("n{}", i), fmt::format("{}m", 1 + random.below(64'000)),
                          fmt::format("{}", memory));
    nodes.set_node(row, std::move(node));
    Requests& used = pods.emplace_back().requests;
    used.cpu = used.nonzero_cpu = random.below(70'000);
    used.memory = used.nonzero_memory = random.below(1u << 31) * 900ll;
    nodes.add_pod(row, pods.back());
  }
  std::vector<Row> rows(kRows);
  for (Row i = 0; i < kRows; ++i) rows[i] = i;
  for (const Strategy strategy :
       {Strategy::least_allocated, Strategy::most_allocated, Strategy::ratio, Strategy::balanced})
    for (const std::int64_t weight : {1, 3, 100}) {
      const ResourceScorer scorer(strategy, {{kCpu, false, weight}, {kMemory, false, 7}},
                                  {{0, 0}, {100, 100}});
      const std::vector<std::int64_t> requests{250, 123'456'789};
      std::vector<std::int32_t> together(kRows), alone(kRows);
      scorer.score(requests, nodes, rows, together);
      const std::vector<Row> backwards(rows.rbegin(), rows.rend());
      std::vector<std::int32_t> out_of_order(kRows);
      scorer.score(requests, nodes, backwards, out_of_order);
      std::reverse(out_of_order.begin(), out_of_order.end());
      CHECK(out_of_order == together);
      for (Row i = 0; i < kRows; ++i) {
        scorer.score(requests, nodes, std::span(rows).subspan(i, 1), std::span(alone).subspan(i, 1));
        if (together[i] != alone[i]) FAIL_CHECK(fmt::format("row {}: {}, not {}", i, together[i], alone[i]));
      }
    }
}

}  // namespace
}  // namespace koord::scheduling::test
