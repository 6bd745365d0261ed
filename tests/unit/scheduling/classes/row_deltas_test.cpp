// Rows that some pods see otherwise than they are: what is held for them, and against a cluster that is so.
#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <random>

#include "holding_plugins.hpp"

namespace koord::scheduling::test {
namespace {

PodEdit on_node(std::string node, std::map<std::string, std::string> with = {}) {
  return [node = std::move(node), with = std::move(with)](api::Pod& pod) {
    pod.spec.node_name = node;
    labels(with)(pod);
  };
}

/// Node n of four CPUs, of which three are held for the owners of "x".
struct Held : Holding {
  Held() : Holding("Holds") {
    engine.put_node(make_node("n", "4"));
    engine.put_pod(make_pod("holder", "3", "128Mi", on_node("n", {{"holds", "x"}})));
  }
  std::shared_ptr<const api::Pod> owner(std::string name, std::string_view cpu) {
    return make_pod(std::move(name), cpu, "128Mi", labels({{"owner", "x"}}));
  }
  std::string of(const std::shared_ptr<const api::Pod>& pod) { return answers(pod).at("n"); }
};

TEST_CASE("a row that refuses others takes the pods that its room is held for") {
  Held world;
  CHECK(world.of(make_pod("other", "2")) == "Insufficient cpu");
  const auto other = make_pod("other", "1");
  const std::string before = world.of(other);
  // As on a node without the holder.
  Holding empty("Holds");
  empty.engine.put_node(make_node("n", "4"));
  CHECK(world.of(world.owner("a", "2")) == empty.answers(make_pod("p", "2")).at("n"));
  CHECK(world.of(world.owner("a", "5")) == "Insufficient cpu");
  CHECK(world.of(make_pod("b", "2", "128Mi", labels({{"owner", "y"}}))) == "Insufficient cpu");

  const auto a = world.owner("a", "2");
  world.engine.put_pod(a);
  const Decision d = world.one();
  CHECK(d.pod->metadata.name == "a");
  CHECK(world.engine.assumed() == 1);
  // The owner lives in the room of the holder: to others nothing has changed.
  CHECK(world.engine.nodes().used(kCpu, 0) == 3000);
  CHECK(world.of(other) == before);
  CHECK(world.of(make_pod("other", "2")) == "Insufficient cpu");
  // The rest of what is held, and what nobody holds.
  empty.engine.put_pod(make_pod("a", "2", "128Mi", on_node("n")));
  CHECK(world.of(world.owner("b", "2")) != "Insufficient cpu");
  CHECK(world.of(world.owner("b", "3")) == "Insufficient cpu");

  SECTION("what an assumed pod was given outlives its labels") {
    const auto relabelled = changed(a, labels({{"also", "this"}}));
    world.engine.put_pod(relabelled);
    CHECK(world.engine.nodes().used(kCpu, 0) == 3000);
    world.engine.put_pod(changed(relabelled, [](api::Pod& p) { p.spec.node_name = "n"; }));
    CHECK(world.engine.nodes().used(kCpu, 0) == 3000);
    CHECK(world.of(world.owner("b", "3")) == "Insufficient cpu");
    world.engine.remove_pod(*a);
  }
  SECTION("a binding that failed") { world.engine.binding_failed(*a); }
  SECTION("it is gone") { world.engine.remove_pod(*a); }
  CHECK(world.engine.nodes().used(kCpu, 0) == 3000);
  CHECK(world.of(world.owner("b", "3")) != "Insufficient cpu");
  CHECK(world.of(other) == before);
}

TEST_CASE("who sees more room than there is yields to nominated pods all the same") {
  Held world;
  world.engine.put_pod(make_pod("first", "2", "128Mi", [](api::Pod& p) {
    p.spec.priority = 10;
    p.status.nominated_node_name = "n";
  }));
  CHECK(world.of(world.owner("a", "2")) != "Insufficient cpu");
  CHECK(world.of(world.owner("a", "3")) == "Insufficient cpu");
}

TEST_CASE("an assumed pod that is relabelled leaves its row what it is") {
  Held world;
  const auto a = world.owner("a", "2");
  world.engine.put_pod(a);
  world.one();
  world.engine.remove_pod(*make_pod("holder"));
  const Row row = world.row("n");
  world.engine.remove_node("n");
  const std::uint32_t generation = world.engine.nodes().generation(row);
  world.engine.put_pod(changed(a, labels({{"also", "this"}})));
  CHECK(world.row("n") == row);
  CHECK(world.engine.nodes().generation(row) == generation);
}

/// A cluster, and what a kind of pods sees in it: to be asked by deltas, or made so.
struct Cluster {
  std::map<std::string, std::pair<std::string, int>> pods;  // the node, and the host port, of pods of one CPU
  Scripted::Said said;

  static std::shared_ptr<const api::Pod> pod(const std::string& name, const std::string& node, int port) {
    return make_pod(name, "1", "1Gi", [&](api::Pod& p) {
      p.spec.node_name = node;
      if (port == 0) return;
      api::ContainerPort& taken = p.spec.containers[0].ports.emplace_back();
      taken.host_port = port;
    });
  }
  /// As it is to this kind.
  std::map<std::string, std::string> answers(const std::string& kind, const api::Pod& asked,
                                             std::size_t nodes) const {
    Scripted::Said so = said;
    const auto deltas = so.deltas[kind];
    so.deltas.clear();
    for (const auto& [node, delta] : deltas) so.cores[node] -= delta.cores;
    Scripted::said() = &so;
    Holding world("Scripted");
    for (std::size_t n = 0; n < nodes; ++n) world.engine.put_node(make_node(fmt::format("n{}", n), "8"));
    for (const auto& [name, at] : pods) {
      const auto it = deltas.find(at.first);
      int port = at.second;
      if (it != deltas.end()) {
        if (std::ranges::count(it->second.gone, name) != 0) continue;
        if (std::ranges::count(it->second.freed, port) != 0) port = 0;
      }
      world.engine.put_pod(pod(name, at.first, port));
    }
    NodeTable& table = world.engine.context().nodes;
    for (const auto& [node, delta] : deltas) {
      for (const auto& [resource, amount] : delta.more) table.correct(world.row(node), resource, amount);
      for (const int port : delta.taken) {
        // A pod that takes nothing else.
        world.engine.put_pod(make_pod(fmt::format("taker-{}-{}", node, port), "", "", [&](api::Pod& p) {
          p.spec.node_name = node;
          p.spec.containers[0].ports.emplace_back().host_port = port;
        }));
        table.correct(world.row(node), kPods, -1);
        table.correct(world.row(node), kNonzeroCpu, -100);
        table.correct(world.row(node), kNonzeroMemory, -(std::int64_t{200} << 20));
      }
    }
    auto plain = std::make_shared<api::Pod>(asked);
    plain->metadata.labels["kind"] = "nobody's";
    return world.answers(plain);
  }
};

TEST_CASE("a row with deltas is judged and scored as a row that is so") {
  constexpr std::size_t kNodes = 6;
  Cluster cluster;
  Scripted::said() = &cluster.said;
  Holding world("Scripted");
  NodeTable& table = world.engine.context().nodes;
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (std::size_t n = 0; n < kNodes; ++n) world.engine.put_node(make_node(fmt::format("n{}", n), "8"));
  std::uint64_t versions = 0;
  std::size_t feasible = 0, refused = 0;
  for (int step = 0; step < 60; ++step) {
    const std::string node = fmt::format("n{}", below(kNodes)), kind = below(2) == 0 ? "x" : "y";
    std::vector<std::string> there;
    for (const auto& [name, at] : cluster.pods)
      if (at.first == node) there.push_back(name);
    switch (below(4)) {
      case 0:
      case 1: {
        const std::string name = fmt::format("p{}", step);
        int port = below(4);
        for (const std::string& other : there)
          if (cluster.pods[other].second == port) port = 0;
        cluster.pods[name] = {node, port};
        world.engine.put_pod(Cluster::pod(name, node, port));
        break;
      }
      case 2:
        cluster.said.cores[node] = below(8);
        table.mark(world.row(node));
        break;
      case 3: {
        Scripted::Delta d;
        for (const std::string& name : there) {
          if (below(2) == 0) d.gone.push_back(name);
          const int port = cluster.pods[name].second;
          if (port != 0 && d.gone.empty() && below(2) == 0) d.freed.push_back(port);
        }
        d.more = {{kCpu, below(5) * 1000 - 2000}, {kNonzeroMemory, (below(5) - 2) * 1000000}};
        if (below(3) == 0) d.taken.push_back(4);
        d.cores = below(5) - 2;
        d.version = ++versions;
        if (below(4) == 0) {
          cluster.said.deltas[kind].erase(node);
        } else {
          cluster.said.deltas[kind][node] = d;
        }
        break;
      }
    }
    // Pods that a delta takes away are there for as long as it does.
    const auto asked = make_pod("asked", below(2) == 0 ? "2" : "5", "1Gi", [&](api::Pod& p) {
      labels({{"kind", kind}, {"cores", std::to_string(1 + below(6))}})(p);
      p.spec.containers[0].ports.emplace_back().host_port = 1 + below(4);
    });
    const auto said = world.answers(asked);
    const auto expected = cluster.answers(kind, *asked, kNodes);
    Scripted::said() = &cluster.said;
    INFO("step " << step);
    REQUIRE(said == expected);
    // And again, of what is kept.
    REQUIRE(world.answers(asked) == expected);
    for (const auto& [name, answer] : said) ++(answer.find_first_not_of("0123456789") ? feasible : refused);
  }
  CHECK(feasible > 20);
  CHECK(refused > 20);
}

TEST_CASE("what is seen of a row is kept until the row or the delta changes; who sees none asks nobody") {
  Scripted::Said said;
  Scripted::said() = &said;
  Holding world("Scripted");
  for (const char* node : {"a", "b", "c"}) world.engine.put_node(make_node(node));
  for (const char* node : {"a", "b"}) said.deltas["x"][node] = {.cores = 1, .version = 1};
  const auto pod = make_pod("p", "1", "1Gi", labels({{"kind", "x"}, {"cores", "1"}}));
  world.ask(make_pod("q", "1"));
  CHECK(said.applied == 0);
  for (int i = 0; i < 3; ++i) world.ask(pod);  // from the second time on the class is kept
  said.applied = 0;
  world.ask(pod);
  CHECK(said.applied == 0);
  said.deltas["x"]["a"].version = 2;
  world.ask(pod);
  CHECK(said.applied == 1);
  world.engine.context().nodes.mark(world.row("b"));
  world.ask(pod);
  CHECK(said.applied == 2);
  said.deltas["x"]["c"] = {.version = 3};
  world.ask(pod);
  CHECK(said.applied == 3);
}

}  // namespace
}  // namespace koord::scheduling::test
