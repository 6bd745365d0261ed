// RemovePodsViolatingNodeTaints: all 23 rows of sigs' TestDeletePodsViolatingNodeTaints and the 5 of its
// validation. (Its 6 of TestToleratesTaint are Kubernetes' own, see tests/unit/api.)
#include <catch2/catch.hpp>

#include "unit/descheduler/plugins/rows.hpp"

namespace koord::descheduler {
extern const PluginEntry kRemovePodsViolatingNodeTaints;
}

namespace koord::descheduler::test {
namespace {

TEST_CASE("pods that do not tolerate a taint leave the node") {
  const std::string taint1 = " taint:testTaint1=test1:NoSchedule";
  const std::string both = taint1 + " taint:testingTaint1=testing1:NoSchedule";
  const std::string prefers = " taint:testTaint1=test1:PreferNoSchedule";
  const std::string bears = " tolerates:testTaint1=test1:NoSchedule";
  const std::string p1 = "p1 n1" + bears, p2 = "p2 n1", p3 = "p3 n1" + bears,
                    p4 = "p4 n1 tolerates:testTaintX1=testX1:NoSchedule", p5 = "p5 n1", p6 = "p6 n1",
                    p7 = "p7 n2 ns=kube-system prio=2000000000", p8 = "p8 n2 owner=DaemonSet",
                    p9 = "p9 n2 local", p10 = "p10 n2 mirror", p11 = "p11 n2",
                    p13 = "p13 n5 tolerates:testTaint0=test0:PreferNoSchedule";
  const std::string n1 = "n1" + taint1, n2 = "n2" + taint1, n5 = "n5" + prefers, n7 = "n7" + both;
  struct Row {
    const char* what;
    const char* gone;
    Rows rows;
    const char* args = "{}";
  };
  const Row rows[] = {
      {"one does not", "p2", {{n1}, {p1, p2, p3}}},
      {"one tolerates another", "p4", {{n1}, {p1, p3, p4}}},
      {"one in all may go", "p5", {{n1}, {p1, p5, p6}, "node=2 total=1"}},
      {"one of the node may go", "p5", {{n1}, {p1, p5, p6}, "node=1"}},
      {"one of the namespace may go", "p5", {{n1}, {p1, p5, p6}, "ns=1"}},
      {"one of the namespace may go, again", "p5", {{n1}, {p1, p5, p6}, "ns=1"}},
      {"none of them may go", "", {{n2}, {p7, p8, p9, p10}}},
      {"one has local storage, and may go", "p9", {{n2}, {p7, p8, p9, p10}, "local"}},
      {"only one may go", "p11", {{n2}, {p7, p8, p10, p11}}},
      {"critical ones may go", "p2 p7", {{n1, n2}, {p2, p7, p9, p10}, "system"}},
      {"other nodes have taints, too", "", {{n1, n2}, {p1, p2, p3}, "nodefit"}},
      {"its node is not looked at",
       "",
       {{n1, "n3 label:datacenter=east"}, {p1, p3, p11 + " select:datacenter=west"}, "nodefit"}},
      {"the other node is cordoned", "", {{n1, "n4 cordoned"}, {p1, p2, p3}, "nodefit"}},
      {"preferences do not count", "", {{n5}, {p13}}},
      {"preferences count", "p13", {{n5}, {p13}}, R"({"includePreferNoSchedule":true})"},
      {"excluded by key", "", {{n1}, {p2}}, R"({"excludedTaints":["excludedTaint1","testTaint1"]})"},
      {"excluded by key and value", "", {{n1}, {p2}}, R"({"excludedTaints":["testTaint1=test1"]})"},
      {"another value is excluded", "p2", {{n1}, {p2}}, R"({"excludedTaints":["testTaint1=test2"]})"},
      {"the other node has no room",
       "",
       {{n1, "n6 cpu=1 memory=1 pods=1" + prefers}, {p2, p7, p9, p10}, "system nodefit"}},
      {"the one that counts is tolerated",
       "",
       {{n7}, {"p1 n7" + bears}},
       R"({"includedTaints":["testTaint1=test1"]})"},
      {"none that counts is there", "", {{n1}, {p1, p2, p4}}, R"({"includedTaints":["testTaint2=test2"]})"},
      {"the one that counts is tolerated by some",
       "p2",
       {{n1}, {p1, p2, p3}},
       R"({"includedTaints":["testTaint1=test1"]})"},
      {"all count where none is named",
       "p14",
       {{n7}, {"p14 n7" + bears, "p15 n7" + bears + " tolerates:testingTaint1=testing1:NoSchedule"}}},
      // Not a row of sigs': nothing counts where nothing is included.
      {"an empty list includes nothing", "", {{n1}, {p2}}, R"({"includedTaints":[]})"},
      {"pods that have ended stay", "", {{n1}, {p2 + " phase=Succeeded", p5 + " phase=Failed"}}},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    CHECK(gone(kRemovePodsViolatingNodeTaints, row.args, row.rows) == row.gone);
  }
}

TEST_CASE("a taint NoExecute is not looked at, its controller deletes pods itself") {
  CHECK(gone(kRemovePodsViolatingNodeTaints, "{}", {{"n1 taint:a=b:NoExecute"}, {"p1 n1"}}).empty());
}

TEST_CASE("taints that are both included and excluded are refused in sigs' words") {
  const auto refused = [](const char* args) { return why_refused(kRemovePodsViolatingNodeTaints, args); };
  CHECK(refused(R"({"namespaces":{"include":["default"],"exclude":["kube-system"]}})") ==
        "only one of Include/Exclude namespaces can be set");
  CHECK(refused(R"({"labelSelector":{"matchLabels":{"role.kubernetes.io/node":""}}})").empty());
  CHECK(
      refused(R"({"labelSelector":{"matchExpressions":[{"key":"","operator":"In"}]}})")
          .starts_with("failed to get label selectors from strategy's params: [key: Invalid value: \"\": "));
  CHECK(refused(R"({"excludedTaints":["testTaint1=test1"]})").empty());
  CHECK(refused(R"({"excludedTaints":["do-not-evict"],"includedTaints":["testTaint1=test1"]})") ==
        "either includedTaints or excludedTaints can be set, but not both");
}

}  // namespace
}  // namespace koord::descheduler::test
