// RemovePodsViolatingInterPodAntiAffinity: all 12 rows of sigs' TestPodAntiAffinity and the 3 of its
// validation; who counts as beside a pod.
#include <catch2/catch.hpp>

#include "koord/api/types/core_v1/namespace.hpp"
#include "unit/descheduler/plugins/rows.hpp"

namespace koord::descheduler {
extern const PluginEntry kRemovePodsViolatingInterPodAntiAffinity;
}

namespace koord::descheduler::test {
namespace {

std::string who(const Rows& rows, const char* args = "{}") {
  return gone(kRemovePodsViolatingInterPodAntiAffinity, args, rows);
}

TEST_CASE("pods leave those that they do not want beside them") {
  const std::string apart = " apart:foo=bar@region", apart1 = " apart:foo1=bar1@region";
  const std::string n1 = "n1 label:region=main-region";
  const std::vector<std::string> four = {"p1 n1" + apart, "p2 n1 label:foo=bar", "p3 n1" + apart,
                                         "p4 n1" + apart};
  const std::string critical = "critical n1 bare prio=2000000000 label:foo=bar";
  struct Row {
    const char* what;
    const char* gone;
    Rows rows;
  };
  const Row rows[] = {
      {"three do not", "p1 p3 p4", {{n1}, four}},
      {"three of the node may go", "p1 p3 p4", {{n1}, four, "node=3"}},
      {"three of the namespace may go", "p1 p3 p4", {{n1}, four, "ns=3"}},
      {"one in all may go", "p1", {{n1}, four, "ns=3 total=1"}},
      {"the least important one is enough",
       "p7",
       {{n1},
        {"p5 n1 label:foo=bar prio=100" + apart1, "p6 n1 label:foo=bar prio=50" + apart1,
         "p7 n1 label:foo1=bar1 prio=0" + apart}}},
      {"the other one is critical", "p1", {{n1}, {"p1 n1" + apart, critical}, "node=1"}},
      {"the other one is critical, again", "p1", {{n1}, {"p1 n1" + apart, critical}, "node=1"}},
      {"no other node has the label",
       "",
       {{n1, "n2 label:datacenter=east"}, {"p8 n1 bare select:datacenter=west", critical}, "node=1 nodefit"}},
      {"the other node is cordoned",
       "",
       {{n1, "n3 cordoned"}, {"p8 n1 bare select:datacenter=west", critical}, "node=1 nodefit"}},
      {"both are terminating", "", {{n1}, {"p9 n1 terminating" + apart, "p10 n1 terminating" + apart}}},
      {"the other node has no room", "", {{n1, "n4 cpu=2 memory=2 pods=1"}, four, "node=3 nodefit"}},
      {"on another node of the region",
       "p1",
       {{n1, "n5 cpu=200 label:region=main-region"}, {"p1 n1" + apart, "p11 n5 label:foo=bar"}}},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    CHECK(who(row.rows) == row.gone);
  }
}

TEST_CASE("beside is the same topology value, or the same node where there is none") {
  const std::string apart = "p1 n1 apart:foo=bar@zone";
  CHECK(who({{"n1 label:zone=a", "n2 label:zone=b"}, {apart, "p2 n2 label:foo=bar"}}).empty());
  CHECK(who({{"n1", "n2"}, {apart, "p2 n2 label:foo=bar"}}).empty());
  CHECK(who({{"n1", "n2"}, {apart, "p2 n1 label:foo=bar"}}) == "p1");
  CHECK(who({{"n1 label:zone=n1", "n2"}, {apart, "p2 n2 label:foo=bar"}}).empty());
}

TEST_CASE("a pod is not beside itself, but beside others of its name") {
  CHECK(who({{"n1"}, {"p1 n1 label:foo=bar apart:foo=bar@zone"}}).empty());
  const std::string own = R"( {"spec":{"affinity":{"podAntiAffinity":)"
                          R"({"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone",)"
                          R"("namespaces":["a","b"],"labelSelector":{}}]}}}})";
  CHECK(who({{"n1"}, {"p1 n1 ns=a" + own}}).empty());
  CHECK(who({{"n1"}, {"p1 n1 ns=a" + own, "p1 n1 ns=b"}}) == "p1");
  CHECK(who({{"n1"}, {"p1 n1 ns=a" + own, "p1 n1 ns=c"}}).empty());
}

TEST_CASE("of two that keep each other away one goes; pods that have ended are beside nobody") {
  const std::string each = " n1 label:foo=bar apart:foo=bar@zone";
  CHECK(who({{"n1"}, {"p1" + each, "p2" + each, "p3" + each}}) == "p1 p2");
  CHECK(who({{"n1"}, {"p1" + each, "p2" + each + " phase=Failed", "p3 n1 phase=Succeeded label:foo=bar"}})
            .empty());
}

TEST_CASE("pods that would rather stay go last; by priority and quality of service before that") {
  const std::string each = " n1 label:foo=bar apart:foo=bar@zone";
  const std::string stays = each + " annotation:descheduler.alpha.kubernetes.io/prefer-no-eviction=x";
  CHECK(who({{"n1"}, {"a" + stays, "b" + each, "c" + each}}) == "b c");
  CHECK(who({{"n1"}, {"a" + each + " prio=5", "b" + each + " prio=1", "c" + each}}) == "c b");
  CHECK(who({{"n1"}, {"a" + each + " memory=1 guaranteed", "b" + each, "c" + each + " besteffort"}}) ==
        "c b");
}

TEST_CASE("a term's namespaces are those that it names and those that its selector chooses") {
  const std::string own = R"( {"spec":{"affinity":{"podAntiAffinity":)"
                          R"({"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone",)"
                          R"("namespaceSelector":{"matchLabels":{"team":"x"}},"labelSelector":{}}]}}}})";
  SnapshotObjects objects;
  objects.nodes = {node_of("n1")};
  objects.pods = {pod_of("p1 n1 ns=a" + own), pod_of("p2 n1 ns=b")};
  const auto run_it = [](const SnapshotObjects& of) {
    FakePass pass(of, kRowsNow);
    run(*make_plugin(kRemovePodsViolatingInterPodAntiAffinity, "{}"), pass);
    return pass.names();
  };
  CHECK(run_it(objects).empty());
  auto ns = std::make_shared<api::Namespace>();
  ns->metadata.name = "b";
  ns->metadata.labels["team"] = "x";
  objects.namespaces = {ns};
  CHECK(run_it(objects) == std::vector<std::string>{"a/p1"});
}

TEST_CASE("RemovePodsViolatingInterPodAntiAffinity refuses namespaces and selectors that cannot be") {
  const auto refused = [](const char* args) {
    return why_refused(kRemovePodsViolatingInterPodAntiAffinity, args);
  };
  CHECK(refused(R"({"namespaces":{"include":["default"],"exclude":["kube-system"]}})") ==
        "only one of Include/Exclude namespaces can be set");
  CHECK(refused(R"({"labelSelector":{"matchLabels":{"role.kubernetes.io/node":""}}})").empty());
  CHECK(
      refused(R"({"labelSelector":{"matchExpressions":[{"key":"","operator":"In"}]}})")
          .starts_with("failed to get label selectors from strategy's params: [key: Invalid value: \"\": "));
}

}  // namespace
}  // namespace koord::descheduler::test
