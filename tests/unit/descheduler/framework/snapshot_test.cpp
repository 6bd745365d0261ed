// Snapshot: the order of pods, who is on which node, and what is found by its name.
#include "framework/snapshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <tuple>

#include "koord/api/types/core_v1/namespace.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1/priority_class.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"

namespace koord::descheduler {
namespace {

template <class T>
std::shared_ptr<T> named(std::string name) {
  auto made = std::make_shared<T>();
  made->metadata.name = std::move(name);
  return made;
}

PodPtr pod(std::string_view node, std::string_view ns, std::string name) {
  auto made = named<api::Pod>(std::move(name));
  made->spec.node_name = Symbol(node);
  made->metadata.namespace_ = Symbol(ns);
  return made;
}

std::string key(const PodPtr& pod) {
  return fmt::format("{}:{}/{}", pod->spec.node_name.view(), pod->metadata.namespace_.view(),
                     pod->metadata.name);
}

TEST_CASE("pods lie by node, namespace and name, however they come") {
  std::mt19937 random(7);
  const char* const nodes[] = {"", "n10", "n2", "n1", "gone"};
  const char* const spaces[] = {"b", "a", "c"};
  SnapshotObjects objects;
  for (const char* node : {"n1", "n2", "n3", "n10"}) objects.nodes.push_back(named<api::Node>(node));
  for (int i = 0; i < 300; ++i)
    objects.pods.push_back(
        pod(nodes[random() % 5], spaces[random() % 3], fmt::format("p{}", random() % 1000)));
  std::ranges::shuffle(objects.nodes, random);
  auto wanted = objects.pods;
  const auto place = [](const PodPtr& one) {
    return std::tuple(one->spec.node_name.str(), one->metadata.namespace_.str(), one->metadata.name);
  };
  std::ranges::sort(wanted, {}, place);
  const Snapshot snapshot(objects);
  REQUIRE(snapshot.pods().size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(key(snapshot.pods()[i]) == key(wanted[i]));

  std::vector<std::string> names;
  std::size_t on_nodes = 0;
  for (const NodeView& view : snapshot.nodes()) {
    names.push_back(view.node->metadata.name);
    on_nodes += view.pods.size();
    for (const PodPtr& one : view.pods) CHECK(one->spec.node_name.view() == view.node->metadata.name);
  }
  CHECK(names == std::vector<std::string>{"n1", "n10", "n2", "n3"});
  const auto elsewhere = std::ranges::count_if(wanted, [](const PodPtr& one) {
    return one->spec.node_name.empty() || one->spec.node_name.view() == "gone";
  });
  CHECK(on_nodes + static_cast<std::size_t>(elsewhere) == wanted.size());
  CHECK(snapshot.node("n3")->pods.empty());
  CHECK(snapshot.node("gone") == nullptr);
}

TEST_CASE("what is found by its name") {
  SnapshotObjects objects;
  for (const char* name : {"b", "a"}) {
    objects.nodes.push_back(named<api::Node>(name));
    objects.namespaces.push_back(named<api::Namespace>(name));
    objects.priority_classes.push_back(named<api::PriorityClass>(name));
  }
  objects.node_metrics.push_back(named<api::NodeMetric>("b"));
  objects.node_metrics.push_back(named<api::NodeMetric>("aa"));
  const Snapshot snapshot(std::move(objects), WallTime(std::chrono::seconds(5)));
  CHECK(snapshot.now() == WallTime(std::chrono::seconds(5)));
  CHECK(snapshot.node("a")->metric == nullptr);
  CHECK(snapshot.node("b")->metric->metadata.name == "b");
  CHECK(snapshot.find_namespace("a")->metadata.name == "a");
  CHECK(snapshot.find_namespace("aa") == nullptr);
  CHECK(snapshot.priority_class("b")->metadata.name == "b");
  CHECK(snapshot.priority_class("c") == nullptr);
}

TEST_CASE("a node is ready unless a condition says otherwise") {
  const auto [type, status, ready] =
      GENERATE(table<const char*, const char*, bool>({{"Ready", "True", true},
                                                      {"Ready", "False", false},
                                                      {"Ready", "Unknown", false},
                                                      {"Other", "False", true}}));
  CAPTURE(type, status);
  auto node = named<api::Node>("a");
  api::NodeCondition condition;
  condition.type = Symbol(type);
  condition.status = Symbol(status);
  node->status.conditions.push_back(condition);
  node->spec.unschedulable = true;
  SnapshotObjects objects;
  objects.nodes.push_back(node);
  CHECK(Snapshot(std::move(objects)).nodes()[0].ready == ready);
}

}  // namespace
}  // namespace koord::descheduler
