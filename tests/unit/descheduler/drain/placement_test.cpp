// Where pods would go, and the reservation that is made for one.
#include "drain/placement.hpp"

#include <algorithm>
#include <functional>

#include "drain_cluster.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

namespace koord::descheduler::drain::test {
namespace {

/// Pods that want to go, and nodes by name; what is said of a node or a pod comes from `edit`.
struct Plan {
  Cluster c;
  std::vector<PodPtr> pods;
  std::vector<std::vector<PodPtr>> there;
  std::vector<Elsewhere> nodes;

  void pod(std::string name, int cpus, const std::function<void(api::Pod&)>& edit = {}) {
    api::Pod& made = c.add_pod(std::move(name), "old", cpus);
    if (edit) edit(made);
    pods.push_back(std::make_shared<api::Pod>(made));
  }
  void node(std::string name, int cpus, int used = 0, const std::function<void(api::Node&)>& edit = {}) {
    api::Node& made = c.add_node(name, {}, cpus);
    if (edit) edit(made);
    if (used > 0)
      there.push_back({std::make_shared<api::Pod>(c.add_pod(name + "-p", name, used))});
    else
      there.emplace_back();
    nodes.push_back(
        {.view = {.node = std::make_shared<api::Node>(made), .pods = {}, .metric = {}, .ready = true},
         .reserved = {},
         .is_last_choice = false});
  }
  std::string where(NodeFit* fit = nullptr) {
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].view.pods = there[i];
    std::string all;
    for (const Symbol& node : BasicPlacement(fit).place(pods, nodes))
      all += (all.empty() ? "" : " ") + (node.empty() ? std::string("-") : std::string(node.view()));
    return all;
  }
};

TEST_CASE("pods go where there is room for all of them together") {
  Plan p;
  p.pod("small", 1);
  p.pod("large", 4);
  SECTION("to the first that has room, the largest first") {
    p.node("n2", 10);
    p.node("n1", 4);
    CHECK(p.where() == "n2 n1");
  }
  SECTION("what pods have there, and what is reserved, is not free") {
    p.node("n1", 10, 7);
    p.node("n2", 10);
    p.nodes[1].reserved["cpu"] = api::Quantity::from_int(6);
    CHECK(p.where() == "n1 n2");
    p.nodes[1].reserved["cpu"] = api::Quantity::from_int(7);
    CHECK(p.where() == "n1 -");
  }
  SECTION("a last choice comes last") {
    p.node("n1", 10);
    p.nodes[0].is_last_choice = true;
    p.node("n2", 4);
    CHECK(p.where() == "n1 n2");
  }
  SECTION("pods count, too") {
    p.node("n1", 10, 0, [](api::Node& n) { n.status.allocatable["pods"] = api::Quantity::from_int(1); });
    CHECK(p.where() == "- n1");
  }
  SECTION("of what a node does not have there is nothing") {
    p.pod("gpu", 1, [](api::Pod& pod) {
      pod.spec.containers[0].resources.requests["example.com/gpu"] = api::Quantity::from_int(1);
    });
    p.node("n1", 10);
    CHECK(p.where() == "n1 n1 -");
  }
  SECTION("nodes that are closed, not ready, tainted, or not asked for") {
    p.node("n1", 10, 0, [](api::Node& n) { n.spec.unschedulable = true; });
    p.node("n2", 10);
    p.nodes[1].view.ready = false;
    p.node("n3", 10, 0, [](api::Node& n) {
      api::Taint& taint = n.spec.taints.emplace_back();
      taint.key = "k";
      taint.effect = "NoSchedule";
    });
    p.pod("picky", 1, [](api::Pod& pod) { pod.spec.node_selector["zone"] = "a"; });
    p.node("n4", 10);
    CHECK(p.where() == "n4 n4 -");
  }
  SECTION("whoever knows more is asked, too") {
    struct OnlyN2 : NodeFit {
      bool fits(const api::Pod&, const NodeView& node) override { return node.node->metadata.name == "n2"; }
    } fit;
    p.node("n1", 10);
    p.node("n2", 4);
    CHECK(p.where(&fit) == "- n2");
  }
}

TEST_CASE("a reservation for a pod keeps off nodes that are drained, in each of the pod's alternatives") {
  Cluster c;
  c.add_node("n1");
  const api::DrainNode drain = c.add_drain("d", "n1");
  const std::string pod =
      R"({"metadata":{"name":"p","namespace":"ns","uid":"0123456789","labels":{"a":"b"},)"
      R"("managedFields":[{}],"ownerReferences":[{"kind":"X","uid":"x"},{"apiVersion":"v1",)"
      R"("kind":"Y","name":"y","uid":"yy","controller":true}]},"spec":{"nodeName":"n1",)"
      R"("unknown":1,"affinity":{"nodeAffinity":{)"
      R"("requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[)"
      R"({"matchFields":[{"key":"f"}]},{"matchExpressions":[{"key":"e"}]}]}}}},)"
      R"("status":{"phase":"Running"}})";
  const auto made = reservation_for(drain, pod);
  REQUIRE(made.has_value());
  const json::Document document = json::parse(*made).value();
  const std::string absent =
      R"({"key":"drain.descheduler.koordinator.sh/node-planning","operator":"DoesNotExist"})";
  const auto text = [&](auto... keys) {
    const json::Value* found = json::find(document, keys...);
    return found ? json::to_text(*found) : std::string("nothing");
  };
  CHECK(text("metadata", "name") == R"("d-01234567")");
  CHECK(text("metadata", "labels") == R"({"drain.descheduler.koordinator.sh/drain-node":"d",)"
                                      R"("drain.descheduler.koordinator.sh/pod-namespace":"ns",)"
                                      R"("drain.descheduler.koordinator.sh/pod-name":"p"})");
  CHECK(
      text("spec", "owners") ==
      R"([{"controller":{"apiVersion":"v1","kind":"Y","name":"y","uid":"yy","controller":true,"namespace":"ns"}}])");
  CHECK(text("spec", "template", "metadata", "managedFields") == "nothing");
  CHECK(text("spec", "template", "metadata", "labels") == R"({"a":"b"})");
  CHECK(text("spec", "template", "spec", "nodeName") == "nothing");
  CHECK(text("spec", "template", "spec", "unknown") == "1");
  CHECK(text("spec", "template", "spec", "affinity", "nodeAffinity",
             "requiredDuringSchedulingIgnoredDuringExecution",
             "nodeSelectorTerms") == R"([{"matchFields":[{"key":"f"}],"matchExpressions":[)" + absent +
                                         R"(]},{"matchExpressions":[{"key":"e"},)" + absent + "]}]");
  CHECK(text("spec", "ttl") == R"("0s")");
  CHECK(text("spec", "allocateOnce") == "true");
  const auto room = api::decode<api::Reservation>(*made);
  REQUIRE(room.has_value());
  CHECK(is_made_by(room->metadata, drain));

  for (const std::string_view bad : {"{", "[]", R"({"metadata":{"ownerReferences":[{"uid":"x"}]},"spec":{}})",
                                     R"({"metadata":{"ownerReferences":{}},"spec":[]})"})
    CHECK_FALSE(reservation_for(drain, bad).has_value());
}

}  // namespace
}  // namespace koord::descheduler::drain::test
