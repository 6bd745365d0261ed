// NodeUnschedulable: cordoned nodes.
#include <catch2/catch.hpp>

#include "filter_cases.hpp"

namespace koord::scheduling::test {
namespace {

TEST_CASE("cordoned nodes are left alone") {
  check_filter({
      {"unschedulable",
       [](auto& n) { n.spec.unschedulable = true; },
       {},
       "0/1 nodes are available: 1 node(s) were unschedulable."},
      {"unschedulable, tolerated", [](auto& n) { n.spec.unschedulable = true; },
       [](auto& p) {
         p.spec.tolerations.push_back({"node.kubernetes.io/unschedulable", "Exists", {}, "NoSchedule", {}});
       },
       ""},
  });
}

TEST_CASE("an uncordoned node moves the pods that it may help") {
  check_events({
      {"uncordoned",
       [](auto& n) { n.spec.unschedulable = true; },
       {},
       [](auto& n) { n.spec.unschedulable = false; },
       true},
  });
}

}  // namespace
}  // namespace koord::scheduling::test
