// TaintToleration: taints that keep pods off, taints that nodes are better without.
#include <catch2/catch.hpp>

#include "filter_cases.hpp"

namespace koord::scheduling::test {
namespace {

void taint(api::Node& node, const char* key, const char* value, const char* effect) {
  node.spec.taints.push_back({key, value, effect, {}});
}

const std::string kTaint = "0/1 nodes are available: 1 node(s) had untolerated taint(s).";

TEST_CASE("pods stay off nodes with taints that they do not tolerate") {
  check_filter({
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
  });
}

TEST_CASE("taints that change move the pods that it may help") {
  check_events({
      {"taint removed",
       [](auto& n) {
         n.spec.taints.push_back({"a", {}, "NoSchedule", {}});
       },
       {},
       [](auto& n) { n.spec.taints.clear(); },
       true},
      {"taint changed",
       [](auto& n) {
         n.spec.taints.push_back({"a", {}, "NoSchedule", {}});
       },
       {},
       [](auto& n) { n.spec.taints[0].value = "b"; },
       false},
  });
}

TEST_CASE("a new toleration is tried at once") {
  World world;
  world.engine.put_node(make_node("n", "4", "8Gi", [](auto& n) {
    n.spec.taints = {{"a", {}, "NoSchedule", {}}};
  }));
  auto pod = make_pod("p");
  world.engine.put_pod(pod);
  world.one();
  world.engine.put_pod(changed(pod, [](auto& p) { p.metadata.labels["x"] = "y"; }));
  CHECK(world.run().empty());
  world.engine.put_pod(changed(pod, [](auto& p) {
    p.spec.tolerations.push_back({{}, "Exists", {}, {}, {}});
  }));
  CHECK(world.one().kind() == Decision::Kind::bind);
}

TEST_CASE("a node with fewer soft taints that a pod does not tolerate is better") {
  World world;
  for (int soft : {2, 1, 3})
    world.engine.put_node(make_node(std::to_string(soft), "4", "8Gi", [&](auto& n) {
      for (int i = 0; i < soft; ++i) taint(n, std::to_string(i).c_str(), "", "PreferNoSchedule");
    }));
  world.engine.put_pod(make_pod("p"));
  CHECK(world.one().node() == "1");
}

}  // namespace
}  // namespace koord::scheduling::test
