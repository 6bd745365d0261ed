// What each filter rejects, and with which words.
#include <catch2/catch.hpp>

#include "world.hpp"

namespace koord::scheduler::test {
namespace {

api::NodeSelectorRequirement need(const char* key, const char* op, std::vector<Symbol> values) {
  return {key, op, std::move(values)};
}
void require(api::Pod& pod, std::vector<api::NodeSelectorTerm> terms) {
  pod.spec.affinity.ensure().node_affinity.ensure().required.ensure().node_selector_terms = std::move(terms);
}
void port(api::Pod& pod, int number, const char* ip = "", const char* protocol = "TCP") {
  pod.spec.containers[0].ports.push_back({{}, number, 80, protocol, ip});
}
void taint(api::Node& node, const char* key, const char* value, const char* effect) {
  node.spec.taints.push_back({key, value, effect, {}});
}

struct Case {
  const char* name;
  NodeEdit node;
  PodEdit pod;
  std::string message;  // empty: it is bound
};

const std::string kAffinity = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.";
const std::string kTaint = "0/1 nodes are available: 1 node(s) had untolerated taint(s).";
const std::string kPorts =
    "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.";

const std::vector<Case>& cases() {
  static const std::vector<Case> kCases = {
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
      {"unschedulable",
       [](auto& n) { n.spec.unschedulable = true; },
       {},
       "0/1 nodes are available: 1 node(s) were unschedulable."},
      {"unschedulable, tolerated", [](auto& n) { n.spec.unschedulable = true; },
       [](auto& p) {
         p.spec.tolerations.push_back({"node.kubernetes.io/unschedulable", "Exists", {}, "NoSchedule", {}});
       },
       ""},
      {"taint", [](auto& n) { taint(n, "a", "b", "NoSchedule"); }, {}, kTaint},
      {"NoExecute", [](auto& n) { taint(n, "a", "b", "NoExecute"); }, {}, kTaint},
      {"PreferNoSchedule does not filter", [](auto& n) { taint(n, "a", "b", "PreferNoSchedule"); }, {}, ""},
      {"tolerated by value", [](auto& n) { taint(n, "a", "b", "NoSchedule"); },
       [](auto& p) {
         p.spec.tolerations.push_back({"a", "", "b", "", {}});
       },
       ""},
      {"other value", [](auto& n) { taint(n, "a", "b", "NoSchedule"); },
       [](auto& p) {
         p.spec.tolerations.push_back({"a", "Equal", "c", "", {}});
       },
       kTaint},
      {"other effect", [](auto& n) { taint(n, "a", "b", "NoSchedule"); },
       [](auto& p) {
         p.spec.tolerations.push_back({"a", "Exists", {}, "NoExecute", {}});
       },
       kTaint},
      {"everything tolerated", [](auto& n) { taint(n, "a", "b", "NoExecute"); },
       [](auto& p) {
         p.spec.tolerations.push_back({{}, "Exists", {}, {}, {}});
       },
       ""},
      {"alpha operator", [](auto& n) { taint(n, "a", "5", "NoSchedule"); },
       [](auto& p) {
         p.spec.tolerations.push_back({"a", "Lt", "9", {}, {}});
       },
       kTaint},
      {"nodeSelector", [](auto& n) { n.metadata.labels["disk"] = "ssd"; },
       [](auto& p) { p.spec.node_selector["disk"] = "ssd"; }, ""},
      {"nodeSelector, other value", [](auto& n) { n.metadata.labels["disk"] = "hdd"; },
       [](auto& p) { p.spec.node_selector["disk"] = "ssd"; }, kAffinity},
      {"In", [](auto& n) { n.metadata.labels["z"] = "b"; },
       [](auto& p) {
         require(p, {{{need("z", "In", {"a", "b"})}, {}}});
       },
       ""},
      {"NotIn", [](auto& n) { n.metadata.labels["z"] = "b"; },
       [](auto& p) {
         require(p, {{{need("z", "NotIn", {"a", "b"})}, {}}});
       },
       kAffinity},
      {"NotIn without the label",
       {},
       [](auto& p) {
         require(p, {{{need("z", "NotIn", {"a"})}, {}}});
       },
       ""},
      {"Exists",
       {},
       [](auto& p) {
         require(p, {{{need("z", "Exists", {})}, {}}});
       },
       kAffinity},
      {"DoesNotExist",
       {},
       [](auto& p) {
         require(p, {{{need("z", "DoesNotExist", {})}, {}}});
       },
       ""},
      {"Gt", [](auto& n) { n.metadata.labels["z"] = "10"; },
       [](auto& p) {
         require(p, {{{need("z", "Gt", {"9"})}, {}}});
       },
       ""},
      {"Lt", [](auto& n) { n.metadata.labels["z"] = "10"; },
       [](auto& p) {
         require(p, {{{need("z", "Lt", {"10"})}, {}}});
       },
       kAffinity},
      {"Gt of no number", [](auto& n) { n.metadata.labels["z"] = "ten"; },
       [](auto& p) {
         require(p, {{{need("z", "Gt", {"9"})}, {}}});
       },
       kAffinity},
      {"second term", [](auto& n) { n.metadata.labels["z"] = "b"; },
       [](auto& p) {
         require(p, {{{need("z", "In", {"a"})}, {}}, {{need("z", "In", {"b"})}, {}}});
       },
       ""},
      {"empty term", {}, [](auto& p) { require(p, {{}}); }, kAffinity},
      {"no terms", {}, [](auto& p) { require(p, {}); }, kAffinity},
      {"field",
       {},
       [](auto& p) {
         require(p, {{{}, {need("metadata.name", "In", {"n"})}}});
       },
       ""},
      {"field of another node",
       {},
       [](auto& p) {
         require(p, {{{}, {need("metadata.name", "In", {"m"})}}});
       },
       "0/1 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity]."},
      {"field NotIn",
       {},
       [](auto& p) {
         require(p, {{{}, {need("metadata.name", "NotIn", {"n"})}}});
       },
       kAffinity},
      {"terms conflict",
       {},
       [](auto& p) {
         require(p, {{{}, {need("metadata.name", "In", {"n"}), need("metadata.name", "In", {"m"})}}});
       },
       "0/1 nodes are available: pod affinity terms conflict."},
      {"port is free", {}, [](auto& p) { port(p, 81); }, ""},
      {"port is taken", {}, [](auto& p) { port(p, 80); }, kPorts},
      {"port is taken on all addresses", {}, [](auto& p) { port(p, 80, "10.0.0.1"); }, kPorts},
      {"other protocol", {}, [](auto& p) { port(p, 80, "", "UDP"); }, ""},
      {"other address", {}, [](auto& p) { port(p, 90, "10.0.0.2"); }, ""},
      {"the same address", {}, [](auto& p) { port(p, 90, "10.0.0.1"); }, kPorts},
      {"all addresses meet one", {}, [](auto& p) { port(p, 90, "0.0.0.0"); }, kPorts},
  };
  return kCases;
}

TEST_CASE("filters reject with kube-scheduler's words") {
  for (const Case& c : cases()) {
    INFO(c.name);
    World world;
    world.engine.put_node(make_node("n", "4", "8Gi", c.node));
    world.engine.put_pod(make_pod("there", "", "", [](api::Pod& p) {
      p.spec.node_name = "n";
      port(p, 80);
      port(p, 90, "10.0.0.1");
    }));
    world.engine.put_pod(make_pod("p", "100m", "128Mi", c.pod));
    Decision d = world.one();
    // The pod that is there takes one of the places.
    CHECK(d.message == c.message);
    CHECK((d.kind == Decision::Kind::bind) == c.message.empty());
  }
}

TEST_CASE("every node counts once in the message, with the first filter's reasons") {
  World world;
  world.engine.put_node(make_node("a", "1"));
  world.engine.put_node(make_node("b", "1", "1Mi"));
  world.engine.put_node(make_node("c", "8", "8Gi", [](auto& n) { n.spec.unschedulable = true; }));
  world.engine.put_node(make_node("d", "1", "8Gi", [](auto& n) { taint(n, "x", "", "NoSchedule"); }));
  world.engine.put_pod(make_pod("p", "2"));
  CHECK(world.one().message ==
        "0/4 nodes are available: 1 Insufficient memory, 1 node(s) had untolerated taint(s), "
        "1 node(s) were unschedulable, 2 Insufficient cpu.");
}

TEST_CASE("without nodes") {
  World world;
  world.engine.put_pod(make_pod("p"));
  Decision d = world.one();
  CHECK(d.kind == Decision::Kind::unschedulable);
  CHECK(d.message == "no nodes available to schedule pods");
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
  CHECK(world.one().message ==
        "0/1 nodes are available: 1 Insufficient a.com/y, 1 Insufficient kubernetes.io/batch-cpu.");
}

TEST_CASE("added affinity") {
  KubeSchedulerConfiguration config;
  config.profiles.emplace_back().plugin_config.push_back(
      {"NodeAffinity",
       {R"({"addedAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":)"
        R"([{"matchExpressions":[{"key":"pool","operator":"Exists"}]}]}}})"},
       {}});
  World world(config);
  world.engine.put_node(make_node("n"));
  world.engine.put_pod(make_pod("p"));
  CHECK(world.one().message ==
        "0/1 nodes are available: 1 node(s) didn't match scheduler-enforced node affinity.");
}

}  // namespace
}  // namespace koord::scheduler::test
