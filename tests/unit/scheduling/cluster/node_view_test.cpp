// The pods of a row: as the node table tells of them, and as they would be.
#include "koord/scheduling/cluster/node_view.hpp"

#include <fmt/ranges.h>

#include <catch2/catch.hpp>

#include "world.hpp"

namespace koord::scheduling::test {
namespace {

HostPort on(int port) { return {Symbol(), Symbol("TCP"), port}; }

TEST_CASE("a row with pods more and fewer") {
  NodeTable nodes;
  const Row row = nodes.row_of(Symbol("n"));
  nodes.set_node(row, make_node("n"));
  const auto pod = [&](std::int64_t cpu, int port) {
    PodInfo info;
    info.requests.cpu = cpu;
    info.ports = {on(port)};
    return info;
  };
  const PodInfo a = pod(100, 1), b = pod(200, 2), c = pod(INT64_MAX, 3);
  nodes.add_pod(row, a);
  nodes.add_pod(row, b);
  const auto said = [&](const NodeView& view) {
    std::string ports;
    for (int port = 1; port <= 3; ++port)
      if (const HostPort wanted = on(port); view.collides({&wanted, 1})) ports += std::to_string(port);
    return fmt::format("{} cpu, {} pods, ports {}, {} there", view.used(kCpu), view.used(kPods), ports,
                       view.pods().size());
  };
  NodeView view(nodes, row);
  CHECK(view.plain());
  CHECK(said(view) == "300 cpu, 2 pods, ports 12, 2 there");
  view.remove(a);
  CHECK(said(view) == "200 cpu, 1 pods, ports 2, 1 there");
  CHECK(view.pods() == std::vector<const PodInfo*>{&b});
  view.add(c);
  CHECK(said(view) == fmt::format("{} cpu, 2 pods, ports 23, 2 there", INT64_MAX));
  view.add(a);
  view.remove(c);
  CHECK(view.plain());
  CHECK(said(view) == "300 cpu, 2 pods, ports 12, 2 there");
  // Another one takes the same port.
  const PodInfo d = pod(0, 1);
  view.add(d);
  view.remove(a);
  CHECK(said(view) == "200 cpu, 2 pods, ports 12, 2 there");
}

TEST_CASE("a row's pods leave in any order") {
  NodeTable nodes;
  const Row row = nodes.row_of(Symbol("n"));
  std::vector<PodInfo> pods(5);
  for (const PodInfo& pod : pods) nodes.add_pod(row, pod);
  for (const std::size_t i : {2u, 4u, 0u, 1u}) {
    nodes.remove_pod(row, pods[i]);
    for (const PodInfo* left : nodes.pods(row)) CHECK(nodes.pods(row)[left->place] == left);
  }
  CHECK(nodes.pods(row).size() == 1);
  CHECK(nodes.pods(row)[0] == &pods[3]);
}

/// Writes down what it is told, and the pods that it believes to be where.
struct Told final : ClusterObserver {
  void pod_added(Row row, const PodInfo& pod) override { note("+", row, pod); }
  void pod_removed(Row row, const PodInfo& pod) override { note("-", row, pod); }
  void node_changed(Row row, const api::Node* before, const api::Node* now) override {
    log.push_back(fmt::format("{}{}", row,
                              before == nullptr ? " came"
                              : now == nullptr  ? " went"
                                                : " changed"));
  }
  void note(const char* what, Row row, const PodInfo& pod) {
    const auto* app = pod.pod->metadata.labels.find("app");
    log.push_back(fmt::format("{}{}{}{}@{}", what, pod.pod->metadata.name, app != nullptr ? ":" : "",
                              app != nullptr ? app->view() : "", row));
    if (pod.pod->metadata.deletion_timestamp) log.back() += " leaving";
  }
  std::string take() {
    std::string text = fmt::format("{}", fmt::join(log, ", "));
    log.clear();
    return text;
  }
  std::vector<std::string> log;
};

TEST_CASE("observers are told of pods and nodes, and of what others read of pods") {
  World world;
  Told told;
  world.engine.context().observe(told);
  const auto label = [](std::string value) {
    return [value](api::Pod& p) { p.metadata.labels["app"] = value; };
  };
  world.engine.put_node(make_node("n"));
  CHECK(told.take() == "0 came");
  world.engine.put_node(make_node("n"));
  CHECK(told.take() == "");
  world.engine.put_node(make_node("n", "8"));
  CHECK(told.take() == "0 changed");

  auto pod = make_pod("p", "1", "1Gi", label("a"));
  world.engine.put_pod(pod);
  CHECK(told.take() == "");
  world.one();
  CHECK(told.take() == "+p:a@0");
  // While its binding is on the way.
  pod = changed(pod, label("b"));
  world.engine.put_pod(pod);
  CHECK(told.take() == "-p:a@0, +p:b@0");
  pod = changed(pod, [](api::Pod& p) { p.spec.node_name = "n"; });
  world.engine.put_pod(pod);
  CHECK(told.take() == "");
  world.engine.put_pod(changed(pod, [](api::Pod& p) { p.status.phase = "Running"; }));
  CHECK(told.take() == "");
  pod = changed(pod, label("c"));
  world.engine.put_pod(pod);
  CHECK(told.take() == "-p:b@0, +p:c@0");
  pod = changed(pod, [](api::Pod& p) { p.metadata.deletion_timestamp.emplace(); });
  world.engine.put_pod(pod);
  CHECK(told.take() == "-p:c@0, +p:c@0 leaving");
  world.engine.remove_node("n");
  CHECK(told.take() == "0 went");
  world.engine.remove_pod(*pod);
  CHECK(told.take() == "-p:c@0 leaving");

  // Another scheduler's, before its node.
  world.engine.put_pod(make_pod("q", "1", "1Gi", [](api::Pod& p) {
    p.spec.scheduler_name = "other";
    p.spec.node_name = "m";
  }));
  world.engine.put_node(make_node("m"));
  CHECK(told.take() == "+q@0, 0 came");
}

TEST_CASE("a binding that failed takes its pod off the row") {
  World world;
  Told told;
  world.engine.context().observe(told);
  world.engine.put_node(make_node("n"));
  const auto pod = make_pod("p");
  world.engine.put_pod(pod);
  world.one();
  world.engine.binding_failed(*pod);
  CHECK(told.take() == "0 came, +p@0, -p@0");
}

}  // namespace
}  // namespace koord::scheduling::test
