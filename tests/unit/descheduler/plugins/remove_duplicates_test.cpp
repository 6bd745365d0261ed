// RemoveDuplicates: all 14 rows of sigs' TestFindDuplicatePods, 11 of TestRemoveDuplicatesUniformly and the 1
// of its validation. Where a pod has two owners sigs' counts it twice (4); it goes once (2).
#include <catch2/catch.hpp>

#include "unit/descheduler/plugins/rows.hpp"

namespace koord::descheduler {
extern const PluginEntry kRemoveDuplicates;
}

namespace koord::descheduler::test {
namespace {

using Pods = std::vector<std::string>;

Pods operator+(Pods a, const Pods& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
const std::string kOwned = " owner=ReplicaSet/replicaset-1 ";

Pods of(const std::string& rest, std::initializer_list<const char*> names) {
  Pods pods;
  for (const char* name : names) pods.push_back(name + (" n1" + kOwned) + rest);
  return pods;
}

TEST_CASE("of pods of one owner on a node those go for which there is another") {
  const Pods dev = of("ns=dev", {"p1", "p2", "p3"}), test = of("ns=test", {"p8", "p9", "p10"});
  const Pods odd = {"p4 n1 owner=DaemonSet", "p5 n1 local", "p6 n1 mirror bare",
                    "p7 n1 bare ns=kube-system prio=2000000000"};
  struct Row {
    const char* what;
    std::size_t gone;
    Rows rows;
    const char* args = "{}";
  };
  const Row rows[] = {
      {"three of one", 1, {{"n1", "n2"}, dev}},
      {"three of one, excluded", 0, {{"n1", "n2"}, dev}, R"({"excludeOwnerKinds":["ReplicaSet"]})"},
      {"three of another namespace", 1, {{"n1", "n2"}, test}},
      {"three of each", 2, {{"n1", "n2"}, dev + test}},
      {"none of them may go", 0, {{"n1", "n2"}, odd}},
      {"all of them", 2, {{"n1", "n2"}, dev + odd + test}},
      {"other images", 0, {{"n1", "n2"}, of("image=foo", {"p11"}) + of("image=bar", {"p12"})}},
      {"one with two containers", 0, {{"n1", "n2"}, of("container=foo", {"p13"})}},
      {"one image in common", 0, {{"n1", "n2"}, of("image=foo", {"p11"}) + of("container=foo", {"p13"})}},
      {"the other node has a taint", 0, {{"n1", "n3 taint:hardware=gpu:NoSchedule"}, dev, "nodefit"}},
      {"the other node has another label",
       0,
       {{"n1", "n4 label:datacenter=east"},
        of("ns=node-fit select:datacenter=west", {"p15", "NOT1", "NOT2"}),
        "nodefit"}},
      {"the other node is cordoned", 0, {{"n1", "n5 cordoned"}, dev, "nodefit"}},
      {"the other node has no room",
       0,
       {{"n1", "n6 cpu=200 memory=200"}, dev + Pods{"eater n6 bare ns=test cpu=150 memory=150"}, "nodefit"}},
      {"the other node has room",
       1,
       {{"n1", "n6 cpu=200 memory=200"}, dev + Pods{"saver n6 bare ns=test cpu=100 memory=150"}, "nodefit"}},
      // Not a row of sigs'.
      {"ended ones do not count", 0, {{"n1", "n2"}, of("phase=Failed", {"p1", "p2", "p3"})}},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    CHECK(count_gone(kRemoveDuplicates, row.args, row.rows) == row.gone);
  }
}

/// Five, three and one on three nodes; `odd` is added to every second one.
Pods nine(const std::string& prefix, const std::string& node, const std::string& even,
          const std::string& odd) {
  Pods pods;
  const int on[] = {1, 1, 1, 1, 1, 2, 2, 2, 3};
  for (int i = 0; i < 9; ++i)
    pods.push_back(prefix + std::to_string(i + 1) + " " + node + std::to_string(on[i]) +
                   (i % 2 == 0 ? even : odd));
  return pods;
}

TEST_CASE("pods of one owner are spread over the nodes that they may be on") {
  const std::string second = " owner=ReplicaSet/replicaset-2";
  const auto wants = [](const std::string& key) {
    return kOwned +
           R"( {"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
           R"({"nodeSelectorTerms":[{"matchExpressions":[)"
           R"({"key":"node-role.kubernetes.io/control-plane","operator":"DoesNotExist"},{"key":")" +
           key + R"(","operator":"DoesNotExist"}]}]}}}}})";
  };
  const Pods three = {"n1", "n2", "n3"};
  const Pods workers = {"worker1", "worker2", "worker3"}, masters = {"master1", "master2", "master3"};
  const auto each = [](const Pods& nodes, const std::string& more) {
    Pods all;
    for (const std::string& node : nodes) all.push_back(node + more);
    return all;
  };
  const Pods reversed = {"p21 n1" + second, "p22 n2" + second, "p23 n2" + second,
                         "p24 n2" + second, "p25 n3" + second, "p26 n3" + second,
                         "p27 n3" + second, "p28 n3" + second, "p29 n3" + second};
  const std::string worker = "node-role.kubernetes.io/worker",
                    master = "node-role.kubernetes.io/control-plane";
  const auto selects = [&](const std::string& value) { return kOwned + "select:" + worker + "=" + value; };
  const auto bears = [](const std::string& key, const std::string& value) {
    return kOwned + "tolerates:" + key + "=" + value + ":NoSchedule";
  };
  struct Row {
    const char* what;
    std::size_t gone;
    Rows rows;
  };
  const Row rows[] = {
      {"5, 3, 1 become 3, 3, 3", 2, {three, nine("p", "n", kOwned, kOwned)}},
      {"one node is not looked at", 1, {{"n1", "n2"}, nine("p", "n", kOwned, kOwned)}},
      {"each has two owners", 2, {three, nine("p1", "n", kOwned + second, kOwned + second)}},
      {"two owners", 4, {three, nine("p1", "n", kOwned, kOwned) + reversed}},
      {"fewer pods than nodes", 1, {three, {"p1 n1" + kOwned, "p2 n1" + kOwned}}},
      {"two of four have the same images",
       1,
       {three,
        of("container=foo", {"p1", "p4"}) + of("container=bar", {"p2"}) + of("container=baz", {"p3"})}},
      {"one", 0, {three, {"p1 n1" + kOwned}}},
      {"taints",
       2,
       {workers + each(masters, " taint:" + master + "=:NoSchedule"),
        nine("p", "worker", bears("k1", "v1"), bears("k2", "v2"))}},
      {"affinity",
       2,
       {workers + each(masters, " label:" + master + "="), nine("p", "worker", wants("k1"), wants("k2"))}},
      {"selectors",
       2,
       {each(workers, " label:" + worker + "=k2") + masters,
        nine("p", "worker", selects("k1"), selects("k2"))}},
      {"selectors that no node fits",
       0,
       {workers + masters, nine("p", "worker", selects("k1"), selects("k2"))}},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    CHECK(count_gone(kRemoveDuplicates, "{}", row.rows) == row.gone);
  }
  // The first of each node stays.
  CHECK(gone(kRemoveDuplicates, "{}", {three, nine("p", "n", kOwned, kOwned)}) == "p4 p5");
}

TEST_CASE("RemoveDuplicates looks at the namespaces that are chosen") {
  const Rows world{{"n1", "n2"}, of("ns=a", {"p1", "p2"}) + of("ns=b", {"p3", "p4"})};
  CHECK(gone(kRemoveDuplicates, R"({"namespaces":{"exclude":["a"]}})", world) == "p4");
  CHECK(why_refused(kRemoveDuplicates, R"({"excludeOwnerKinds":["Job"],"namespaces":)"
                                       R"({"include":["default"],"exclude":["kube-system"]}})") ==
        "only one of Include/Exclude namespaces can be set");
}

}  // namespace
}  // namespace koord::descheduler::test
