// BasicNodeFit: koord-descheduler's own rows of its node fit (16), sigs' two further rules, and what neither
// looks at.
#include "framework/node_fit.hpp"

#include <catch2/catch.hpp>

#include "koord/api/types/core_v1/namespace.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "unit/descheduler/plugins/rows.hpp"

namespace koord::descheduler {

namespace {

struct Cluster {
  std::vector<std::string> nodes, pods;
};

SnapshotObjects objects_of(const Cluster& cluster) {
  SnapshotObjects objects;
  for (const std::string& row : cluster.nodes) objects.nodes.push_back(test::node_of(row));
  for (const std::string& row : cluster.pods) objects.pods.push_back(test::pod_of(row));
  return objects;
}

std::vector<const NodeView*> all(const Snapshot& snapshot) {
  std::vector<const NodeView*> nodes;
  for (const NodeView& node : snapshot.nodes()) nodes.push_back(&node);
  return nodes;
}

bool fits_elsewhere(const std::string& pod, const Cluster& cluster) {
  const Snapshot snapshot(objects_of(cluster));
  return BasicNodeFit(snapshot).fits_elsewhere(*test::pod_of(pod), all(snapshot));
}

bool fits(const std::string& pod, const Cluster& cluster, const std::string& on) {
  const Snapshot snapshot(objects_of(cluster));
  return BasicNodeFit(snapshot).fits(*test::pod_of(pod), *snapshot.node(on));
}

const std::string kWanted = " label:kubernetes.io/desiredNode=yes";
const std::string kOther = " label:kubernetes.io/desiredNode=no";
const std::string kTaint = " taint:hardware=gpu:NoSchedule";
const std::string kBig = " cpu=64000 memory=128000000000 pods=200 ephemeral-storage=1000000000000";
const std::string kStaging = "stagingNode cpu=0 memory=0 pods=0";
/// A pod that runs on the staging node and wants one of the others.
std::string asks(const std::string& what) {
  return "p1 stagingNode select:kubernetes.io/desiredNode=yes " + what;
}
const std::string kAffinity =
    R"({"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
    R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"KEY","operator":"In","values":[VALUES]}]}]}}}}})";
std::string affinity(const std::string& key, const std::string& values) {
  std::string json = kAffinity;
  json.replace(json.find("KEY"), 3, key);
  return json.replace(json.find("VALUES"), 6, values);
}

}  // namespace

TEST_CASE("node fit on one node: koord-descheduler's 2 rows") {
  const std::string pod = "p - cpu=0 " + affinity("kubernetes.io/desiredNode", R"("yes")");
  CHECK(fits(pod, {{"node1" + kBig + kWanted}, {}}, "node1"));
  CHECK_FALSE(fits(pod, {{"node1" + kBig + kOther}, {}}, "node1"));
}

TEST_CASE("node fit on another node: koord-descheduler's 12 rows") {
  const std::string small = "node2 cpu=10000 memory=8000000000 pods=12 ephemeral-storage=200000000000";
  struct Row {
    const char* name;
    std::string pod;
    Cluster cluster;
    bool fits;
  };
  const std::string storage = " ephemeral-storage=10000000000";
  const std::string tainted = "node1" + kBig + kWanted + kTaint;
  const auto overhead = [](const std::string& cpu) {
    return R"( {"spec":{"overhead":{"cpu":")" + cpu +
           R"(","memory":"1000000000","ephemeral-storage":"1000000000"}}})";
  };
  const std::vector<Row> rows = {
      {"matching node affinity",
       asks("cpu=0"),
       {{"node1" + kBig + kWanted, "node2" + kBig + kOther, kStaging}, {}},
       true},
      {"one of the nodes",
       asks("cpu=0"),
       {{"node1" + kBig + kOther, "node2" + kBig + kWanted, kStaging}, {}},
       true},
      {"none of the nodes",
       asks("cpu=0"),
       {{"node1" + kBig + " label:kubernetes.io/desiredNode=unfit1",
         "node2" + kBig + " label:kubernetes.io/desiredNode=unfit2", kStaging},
        {}},
       false},
      {"the one that matches is cordoned",
       asks("cpu=0"),
       {{"node1" + kBig + kWanted + " cordoned", "node2" + kBig + kOther, kStaging}, {}},
       false},
      {"both are tainted",
       asks("cpu=2000 memory=2000000000" + storage),
       {{tainted, "node2" + kBig + kWanted + kTaint, kStaging}, {}},
       false},
      {"low requests beside another pod",
       asks("cpu=2000 memory=2000000000" + storage),
       {{tainted, "node2" + kBig + kWanted, kStaging},
        {"other node2 ns=test label:test=true cpu=12000 memory=20000000000 ephemeral-storage=40000000000"}},
       true},
      {"too much CPU",
       asks("cpu=2000 memory=2000000000" + storage),
       {{tainted, "node2 cpu=4000 memory=8000000000 pods=12 ephemeral-storage=200000000000" + kWanted,
         kStaging},
        {"3-core-pod node2 ns=test label:test=true cpu=3000 memory=4000000000" + storage}},
       false},
      {"too much memory",
       asks("cpu=2000 memory=5000000000" + storage),
       {{tainted, small + kWanted, kStaging},
        {"4GB-mem-pod node2 ns=test label:test=true cpu=2000 memory=4000000000" + storage}},
       false},
      {"too much storage",
       asks("cpu=2000 memory=4000000000" + storage),
       {{tainted, "node2 cpu=10000 memory=8000000000 pods=12 ephemeral-storage=20000000000" + kWanted,
         kStaging},
        {"11GB-storage-pod node2 ns=test cpu=2000 memory=4000000000 ephemeral-storage=11000000000"}},
       false},
      {"too much of a custom resource",
       asks("cpu=2000 memory=2000000000 example.com/custom-resource=10" + storage),
       {{tainted + " example.com/custom-resource=15", small + kWanted + " example.com/custom-resource=15",
         kStaging},
        {"10-custom-resource-pod node2 ns=test cpu=0 memory=0 example.com/custom-resource=10"}},
       false},
      {"overhead that leaves room",
       asks("cpu=1000 memory=2000000000" + storage),
       {{tainted, "node2 cpu=5000 memory=8000000000 pods=12 ephemeral-storage=200000000000" + kWanted,
         kStaging},
        {"3-core-pod node2 ns=test cpu=2000 memory=4000000000" + storage + overhead("1")}},
       true},
      {"overhead that leaves none",
       asks("cpu=2000 memory=2000000000" + storage),
       {{tainted, "node2 cpu=5000 memory=8000000000 pods=12 ephemeral-storage=200000000000" + kWanted,
         kStaging},
        {"3-core-pod node2 ns=test cpu=2000 memory=4000000000" + storage + overhead("2")}},
       false},
  };
  CHECK(rows.size() == 12);
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(fits_elsewhere(row.pod, row.cluster) == row.fits);
  }
}

TEST_CASE("node fit on any node: koord-descheduler's 2 rows, of nodes that say nothing of what they have") {
  const std::string pod =
      "p - besteffort " + affinity("test-node-type", R"("test-node-type-A","test-node-type-B")");
  const auto any_of = [&](const std::string& second) {
    SnapshotObjects objects;
    for (const std::string& type : {std::string("test-node-type-C"), second}) {
      auto node = std::make_shared<api::Node>();
      node->metadata.name = type;
      node->metadata.labels["test-node-type"] = type;
      objects.nodes.push_back(node);
    }
    const Snapshot snapshot(std::move(objects));
    BasicNodeFit fit(snapshot);
    return fit.fits_elsewhere(*test::pod_of(pod), all(snapshot));
  };
  CHECK(any_of("test-node-type-A"));
  CHECK_FALSE(any_of("test-node-type-D"));
}

TEST_CASE("a node that has as many pods as it takes has no place for another") {
  const std::vector<std::string> nodes = {"a pods=1", "b pods=1"};
  CHECK(fits("p a cpu=100", {nodes, {}}, "b"));
  CHECK_FALSE(fits("p a cpu=100", {nodes, {"other b cpu=0"}}, "b"));
  CHECK(fits("p a cpu=100", {nodes, {"other b cpu=0 phase=Succeeded"}}, "b"));  // it holds nothing
}

TEST_CASE("a pod's required anti-affinity is heeded on the nodes that have its topology") {
  const std::string pod = "p a apart:app=web@zone";
  const std::string other = "q b label:app=web";
  CHECK_FALSE(fits(pod, {{"a", "b label:zone=1"}, {other}}, "b"));
  CHECK(fits(pod, {{"a", "b"}, {other}}, "b"));
  CHECK(fits(pod, {{"a", "b label:zone=1"}, {other + " ns=elsewhere"}}, "b"));
  CHECK(fits(pod, {{"a", "b label:zone=1"}, {"q b label:app=db"}}, "b"));
  CHECK(fits(pod, {{"a", "b label:zone=1"}, {other + " phase=Failed"}}, "b"));
  CHECK(fits(pod, {{"a", "b label:zone=1"}, {"p b label:app=web"}}, "b"));  // that is the pod itself
}

TEST_CASE("anti-affinity reaches the namespaces that it selects, and those of which nothing is known") {
  const std::string pod = R"(p a {"spec":{"affinity":{"podAntiAffinity":{
    "requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone",
    "labelSelector":{"matchLabels":{"app":"web"}},"namespaceSelector":{"matchLabels":{"team":"x"}}}]}}}})";
  SnapshotObjects objects = objects_of(
      {{"a", "b label:zone=1", "c label:zone=2", "d label:zone=3"},
       {"q b ns=theirs label:app=web", "r c ns=ours label:app=web", "s d ns=unknown label:app=web"}});
  for (const auto& [name, team] : {std::pair{"theirs", "y"}, std::pair{"ours", "x"}}) {
    auto ns = std::make_shared<api::Namespace>();
    ns->metadata.name = name;
    ns->metadata.labels["team"] = team;
    objects.namespaces.push_back(ns);
  }
  const Snapshot snapshot(std::move(objects));
  BasicNodeFit fit(snapshot);
  const PodPtr asked = test::pod_of(pod);
  CHECK(fit.fits(*asked, *snapshot.node("b")));
  CHECK_FALSE(fit.fits(*asked, *snapshot.node("c")));
  CHECK_FALSE(fit.fits(*asked, *snapshot.node("d")));
}

TEST_CASE("on its own node a pod has its room, unless the node no longer wants it") {
  CHECK(fits("p a cpu=2000", {{"a"}, {"p a cpu=2000"}}, "a"));
  CHECK_FALSE(fits("p a cpu=2000", {{"a cordoned"}, {"p a cpu=2000"}}, "a"));
}

TEST_CASE("a node where more is asked for than it has takes no pod that asks, not even for nothing") {
  CHECK_FALSE(fits("p a cpu=0", {{"a", "b cpu=100"}, {"q b cpu=200"}}, "b"));
  CHECK(fits("p a besteffort", {{"a", "b cpu=100"}, {"q b cpu=200"}}, "b"));
}

TEST_CASE("a resource that a node does not have leaves room for a pod that asks for nothing of it") {
  CHECK(fits("p a example.com/gpu=0", {{"a", "b"}, {}}, "b"));
  CHECK_FALSE(fits("p a example.com/gpu=1", {{"a", "b"}, {}}, "b"));
}

TEST_CASE("two pods asked about in turn get their own answers") {
  const Snapshot snapshot(objects_of({{"a cpu=4000", "b cpu=1000"}, {}}));
  BasicNodeFit fit(snapshot);
  const PodPtr small = test::pod_of("small a cpu=500"), large = test::pod_of("large a cpu=1500");
  for (int turn = 0; turn < 2; ++turn) {
    CHECK(fit.fits(*small, *snapshot.node("b")));
    CHECK_FALSE(fit.fits(*large, *snapshot.node("b")));
  }
}

TEST_CASE("where a pod would go is the first other ready node by name where it fits") {
  const Snapshot snapshot(objects_of({{"a", "b notready", "c cpu=500", "d", "e"}, {}}));
  BasicNodeFit fit(snapshot);
  const PodPtr small = test::pod_of("small a cpu=1000"), large = test::pod_of("large a cpu=5000");
  const NodeView* const found = fit.destination(*small, snapshot);
  REQUIRE(found != nullptr);
  CHECK(found->node->metadata.name == "d");
  CHECK(fit.destination(*large, snapshot) == nullptr);
}

}  // namespace koord::descheduler
