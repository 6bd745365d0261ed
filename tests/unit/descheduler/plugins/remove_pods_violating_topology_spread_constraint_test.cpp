// RemovePodsViolatingTopologySpreadConstraint: all 38 rows of sigs' test of it, 4 of TestSortDomains (with
// the least important pod first, as sigs' documents have it, not the most important one), 2 of
// TestCheckIdenticalConstraints and the 5 of its validation.
#include <catch2/catch.hpp>

#include "plugins/remove_pods_violating_topology_spread_constraint/domains.hpp"
#include "unit/descheduler/plugins/rows.hpp"

namespace koord::descheduler {
extern const PluginEntry kRemovePodsViolatingTopologySpreadConstraint;
}

namespace koord::descheduler::test {
namespace {

using Texts = std::vector<std::string>;

/// `count` pods on a node: words beside the label, and members of their spec.
struct Group {
  int count;
  const char* node;
  std::string words = {};
  std::string spec = {};
};

std::string constraint(const std::string& skew, const std::string& key = "zone",
                       const std::string& when = "DoNotSchedule", const std::string& label = R"("foo":"bar")",
                       const std::string& more = "") {
  return R"({"maxSkew":)" + skew + R"(,"topologyKey":")" + key + R"(","whenUnsatisfiable":")" + when +
         R"(","labelSelector":{"matchLabels":{)" + label + "}}" + more + "}";
}
std::string spread(const std::string& constraints) {
  return R"("topologySpreadConstraints":[)" + constraints + "]";
}
const std::string kOne = spread(constraint("1")), kTwo = spread(constraint("2"));

Texts pods_of(const std::vector<Group>& groups, const std::string& label = "label:foo=bar") {
  Texts pods;
  for (const Group& group : groups)
    for (int i = 0; i < group.count; ++i) {
      const bool bare = group.words.find("bare") != std::string::npos;
      std::string pod = "pod-" + std::to_string(pods.size()) + " " + group.node + " ns=ns1 " +
                        (bare ? "" : "owner=ReplicaSet/replicaset-1 ") + group.words;
      if (group.words.find("label:") == std::string::npos) pod += " " + label;
      if (!group.spec.empty()) pod += R"( {"spec":{)" + group.spec + "}}";
      pods.push_back(pod);
    }
  return pods;
}

struct Row {
  const char* what;
  std::size_t gone;
  Texts nodes;
  std::vector<Group> groups;
  std::string args = "{}";
  const char* holds = "";
  const char* who = nullptr;
};

void check(std::span<const Row> rows) {
  for (const Row& row : rows) {
    INFO(row.what);
    const Rows world{row.nodes, pods_of(row.groups), row.holds};
    const auto& entry = kRemovePodsViolatingTopologySpreadConstraint;
    CHECK(count_gone(entry, row.args, world) == row.gone);
    if (row.who != nullptr) CHECK(gone(entry, row.args, world) == row.who);
  }
}

const Texts kZones = {"n1 label:zone=zoneA", "n2 label:zone=zoneB"};
Texts zones(int count) {
  Texts nodes;
  for (int i = 0; i < count; ++i)
    nodes.push_back("n" + std::to_string(i + 1) + " label:zone=zone" +
                    std::string(1, static_cast<char>('A' + i)));
  return nodes;
}

TEST_CASE("pods leave domains that have too many for those that have few") {
  const std::string both = R"({"constraints":["DoNotSchedule","ScheduleAnyway"]})";
  const std::string soft = spread(constraint("1", "zone", "ScheduleAnyway"));
  const std::string wants =
      R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":)"
      R"([{"matchExpressions":[{"key":"foo","operator":"In","values":["bar"]}]}]}}})";
  const std::string boston = "select:region=boston";
  const Texts in_boston = {kZones[0] + " label:region=boston", kZones[1] + " label:region=boston"};
  const Row rows[] = {
      {"2, 1", 0, kZones, {{1, "n1", "", kOne}, {1, "n1"}, {1, "n2"}}},
      {"3, 1", 1, kZones, {{1, "n1", "", kOne}, {2, "n1"}, {1, "n2"}}},
      {"3, 1, both kinds", 1, kZones, {{1, "n1", "", soft}, {2, "n1"}, {1, "n2"}}, both},
      {"3, 1, the soft kind", 1, kZones, {{1, "n1", "", soft}, {2, "n1"}, {1, "n2"}}, both},
      {"3, 1, none may go", 0, kZones, {{1, "n1", "bare", kOne}, {2, "n1", "bare"}, {1, "n2", "bare"}}},
      {"3, 1, of a namespace that is not excluded",
       1,
       kZones,
       {{1, "n1", "", kOne}, {2, "n1"}, {1, "n2"}},
       R"({"namespaces":{"exclude":["kube-system"]}})",
       "nodefit"},
      {"5, 2", 1, kZones, {{1, "n1", "", kOne}, {4, "n1"}, {2, "n2"}}},
      {"4, 0", 2, kZones, {{1, "n1", "", kOne}, {3, "n1"}}},
      {"4, 0, of which three ask for nodes",
       1,
       kZones,
       {{2, "n1", "select:zone=zoneA", kOne}, {1, "n1", "", kOne + wants}, {1, "n1", "", kOne}},
       "{}",
       "nodefit"},
      {"4, 0, several nodes are right",
       2,
       in_boston,
       {{1, "n1", boston, kOne}, {1, "n1", boston}, {1, "n1", boston}, {1, "n1", boston}}},
      {"0, 1, 100", 66, zones(3), {{1, "n2", "", kOne}, {100, "n3"}}},
      {"0, 1, 3, 5", 3, zones(4), {{1, "n2", "", kOne}, {3, "n3"}, {5, "n4"}}},
      {"2, 6 by 2", 1, kZones, {{1, "n1", "", kTwo}, {1, "n1"}, {6, "n2"}}},
      {"2, 6 by 2, with a taint",
       0,
       {kZones[0] + " taint:hardware=gpu:NoSchedule", kZones[1]},
       {{1, "n1", "", kTwo}, {1, "n1"}, {6, "n2"}},
       "{}",
       "nodefit"},
      {"2, 6 by 2, without room",
       0,
       {kZones[0] + " cpu=200", kZones[1]},
       {{1, "n1", "", kTwo}, {1, "n1"}, {6, "n2"}},
       "{}",
       "nodefit"},
      {"8, 7, 0", 5, zones(3), {{8, "n1", "", kOne}, {7, "n2", "", kOne}}},
      {"5, 5, 5", 0, zones(3), {{5, "n1", "", kOne}, {5, "n2", "", kOne}, {5, "n3", "", kOne}}},
      {"4, 2, of which two are terminating",
       0,
       kZones,
       {{2, "n1", "", kOne}, {2, "n1", "terminating", kOne}, {2, "n2", "", kOne}},
       R"({"labelSelector":{"matchExpressions":[{"key":"foo","operator":"In","values":["bar"]}]}})"},
  };
  check(rows);
  // Who goes of 8, 7, 0: the last by name of each.
  CHECK(gone(kRemovePodsViolatingTopologySpreadConstraint, "{}",
             {zones(3), pods_of({{8, "n1", "", kOne}, {7, "n2", "", kOne}})}) ==
        "pod-5 pod-6 pod-7 pod-8 pod-9");
  // Zones and hosts: four pods on six nodes of two zones.
  Texts six;
  for (const char* node : {"n1", "n2", "n3", "n4", "n5", "n6"})
    six.push_back(std::string(node) + " label:kubernetes.io/hostname=" + node +
                  " label:topology.kubernetes.io/zone=" + (node[1] <= '3' ? "zoneA" : "zoneB"));
  const std::string app = R"("app":"whoami")";
  const std::string each = spread(constraint("1", "topology.kubernetes.io/zone", "ScheduleAnyway", app) +
                                  "," + constraint("1", "kubernetes.io/hostname", "DoNotSchedule", app));
  CHECK(
      count_gone(
          kRemovePodsViolatingTopologySpreadConstraint, both,
          {six, pods_of({{1, "n1", "", each}, {1, "n2", "", each}, {1, "n3", "", each}, {1, "n4", "", each}},
                        "label:app=whoami")}) == 1);
}

TEST_CASE("domains are those of nodes that the pods may be on") {
  const std::string by_node = spread(constraint("1", "node"));
  const std::string windows = "select:os=windows";
  Texts six;
  for (const char* node : {"n1", "n2", "n3"})
    six.push_back(std::string(node) + " label:os=linux label:node=lin" + node);
  for (const char* node : {"n4", "n5", "n6"})
    six.push_back(std::string(node) + " label:os=windows label:node=win" + node);
  Texts seven = six;
  seven.push_back("n7 label:os=windows label:node=winn7");
  const auto on = [&](int a, int b, int c, const std::string& first) {
    return std::vector<Group>{
        {a, "n4", first, by_node}, {b, "n5", windows, by_node}, {c, "n6", windows, by_node}};
  };
  const std::string taint = " taint:taint-test=test:NoSchedule";
  const Texts tainted = {kZones[0], kZones[1] + taint};
  const Texts preferred = {kZones[0], kZones[1] + " taint:taint-test=test:PreferNoSchedule"};
  const std::string name = R"("app.kubernetes.io/name":"service")";
  const std::string service =
      spread(constraint("1", "kubernetes.io/hostname", "DoNotSchedule", name)) +
      R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":)"
      R"([{"matchExpressions":[{"key":"app_service","operator":"Exists"}]}]}}})";
  const std::string ignored =
      spread(constraint("1", "zone", "DoNotSchedule", R"("foo":"bar")", R"(,"nodeAffinityPolicy":"Ignore")"));
  const std::string arm = "select:kubernetes.io/arch=arm64";
  Texts arms;
  for (const char* zone : {"A", "B", "C"})
    arms.push_back(std::string(zone) + "1 label:zone=zone" + zone + " label:kubernetes.io/arch=arm64");
  const Row rows[] = {
      {"nodes of another system do not count", 0, six, on(3, 3, 2, windows)},
      {"a new node counts", 2, seven, on(3, 3, 2, windows)},
      {"one of four goes", 1, six, on(4, 3, 1, windows)},
      {"they may be on their node alone", 0, six, on(4, 3, 1, "select:node=winn4"), "{}", "nodefit"},
      {"it tolerates the taint",
       1,
       tainted,
       {{1, "n1", "tolerates:taint-test=test:NoSchedule", kOne}, {1, "n1", "select:zone=zoneA"}},
       "{}",
       "",
       "pod-0"},
      {"it does not", 0, tainted, {{1, "n1", "", kOne}, {1, "n1", "select:zone=zoneA"}}},
      {"it does not, nodes are asked",
       0,
       tainted,
       {{1, "n1", "", kOne}, {1, "n1", "select:zone=zoneA"}},
       "{}",
       "nodefit"},
      {"a preference",
       1,
       preferred,
       {{1, "n1", "", kOne}, {1, "n1", "select:zone=zoneA"}},
       "{}",
       "",
       "pod-0"},
      {"2, 3, 4, no cpu in the first",
       0,
       {"n1 cpu=250 memory=2000 label:zone=zoneA", "n2 cpu=1000 label:zone=zoneB",
        "n3 cpu=1000 label:zone=zoneC"},
       {{2, "n1", "", kOne}, {3, "n2", "", kOne}, {4, "n3", "", kOne}},
       "{}",
       "nodefit"},
      {"2, 3, 4, to make the cluster grow",
       1,
       {"n1 cpu=250 memory=2000 label:zone=zoneA", "n2 cpu=1000 label:zone=zoneB",
        "n3 cpu=1000 label:zone=zoneC"},
       {{2, "n1", "", kOne}, {3, "n2", "", kOne}, {4, "n3", "", kOne}},
       R"({"topologyBalanceNodeFit":false})",
       "nodefit"},
      {"1+0, 1+1, 2+1, no cpu in the first",
       0,
       {"A1 cpu=150 label:zone=zoneA", "B1 cpu=1000 label:zone=zoneB", "C1 cpu=1000 label:zone=zoneC",
        "A2 cpu=50 label:zone=zoneA", "B2 cpu=1000 label:zone=zoneB", "C2 cpu=1000 label:zone=zoneC"},
       {{1, "A1", "", kOne},
        {1, "B1", "", kOne},
        {1, "B2", "", kOne},
        {2, "C1", "", kOne},
        {1, "C2", "", kOne}},
       "{}",
       "nodefit"},
      {"1+4, 2+1",
       1,
       {"A1 cpu=1000 label:zone=zoneA", "A2 cpu=1000 label:zone=zoneA", "B1 cpu=1000 label:zone=zoneB",
        "B2 cpu=1000 label:zone=zoneB"},
       {{1, "A1", "", kOne}, {4, "A2", "", kOne}, {2, "B1", "", kOne}, {1, "B2", "", kOne}},
       "{}",
       "nodefit",
       "pod-4"},
      {"labels of nodes do not count",
       1,
       arms,
       {{1, "A1", arm, ignored}, {1, "A1", arm + " select:zone=zoneA", ignored}, {1, "B1", arm, ignored}},
       "{}",
       "",
       "pod-0"},
      {"nodes with taints that nobody tolerates",
       0,
       {"controlplane1 label:zone=zoneA label:kubernetes.io/hostname=cp-1 taint:a=true:NoSchedule "
        "taint:b=true:NoSchedule",
        "infraservices1 label:zone=zoneA label:infra_service=true label:kubernetes.io/hostname=infra-1 "
        "taint:infra_service=:NoSchedule",
        "app1 label:zone=zoneA label:app_service=true label:kubernetes.io/hostname=app-1",
        "app2 label:zone=zoneB label:app_service=true label:kubernetes.io/hostname=app-2"},
       {{2, "app1", "label:app.kubernetes.io/name=service", service},
        {2, "app2", "label:app.kubernetes.io/name=service", service}},
       "{}",
       "nodefit"},
      // Not a row of sigs': the policy that honours taints.
      {"taints count where it is asked for",
       0,
       tainted,
       {{2, "n1", "",
         spread(
             constraint("1", "zone", "DoNotSchedule", R"("foo":"bar")", R"(,"nodeTaintsPolicy":"Honor")"))}},
       R"({"topologyBalanceNodeFit":false})"},
  };
  check(rows);
}

TEST_CASE("only pods with the labels that are chosen are spread, each revision by itself") {
  const auto chosen = [](const char* op, const char* value) {
    return std::string(R"({"labelSelector":{"matchExpressions":[{"key":"foo","operator":")") + op +
           R"(","values":[")" + value + R"("]}]}})";
  };
  const std::string hash = "pod-template-hash";
  const std::string by_hash = spread(constraint("1", "zone", "DoNotSchedule", R"("foo":"bar")",
                                                R"(,"matchLabelKeys":["pod-template-hash"])"));
  const std::vector<Group> two = {{1, "n1", "", kOne}, {1, "n1"}};
  const Row rows[] = {
      {"others", 0, kZones, two, chosen("In", "baz")},
      {"these", 1, kZones, two, chosen("In", "bar"), "", "pod-1"},
      {"not others", 1, kZones, two, chosen("NotIn", "baz"), "", "pod-1"},
      {"of one revision",
       1,
       kZones,
       {{2, "n1", "label:foo=bar label:" + hash + "=foo", by_hash}},
       chosen("NotIn", "baz"),
       "",
       "pod-1"},
      {"of two",
       0,
       kZones,
       {{1, "n1", "label:foo=bar label:" + hash + "=foo", by_hash},
        {1, "n1", "label:foo=bar label:" + hash + "=bar", by_hash}},
       chosen("NotIn", "baz")},
  };
  check(rows);
}

TEST_CASE("pods that may not go are in their domain all the same") {
  const auto& entry = kRemovePodsViolatingTopologySpreadConstraint;
  // 3 and 3, of which those of the second zone may not go: sigs' counts 3 and 0, for ever.
  CHECK(gone(entry, "{}", {kZones, pods_of({{3, "n1", "", kOne}, {3, "n2", "bare"}})}).empty());
  // 3 and 1: the one of three that may.
  CHECK(gone(entry, "{}", {kZones, pods_of({{1, "n1", "", kOne}, {2, "n1", "bare"}, {1, "n2"}})}) == "pod-0");
}

TEST_CASE("a constraint that nobody can read stops no other") {
  const std::string broken =
      spread(R"({"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":)"
             R"({"matchExpressions":[{"key":"x","operator":"Maybe"}]}},)" +
             constraint("1"));
  CHECK(count_gone(kRemovePodsViolatingTopologySpreadConstraint, "{}",
                   {kZones, pods_of({{1, "n1", "", broken}, {2, "n1"}, {1, "n2"}})}) == 1);
}

TEST_CASE("in a domain those go first that are last: evictable, free to be anywhere, unimportant") {
  using namespace topology_spread;  // NOLINT(google-build-using-namespace): of the rows below
  const auto sorted = [](const Texts& rows) {
    const auto pass = pass_of({kZones, rows});
    const auto asking = pod_of("x n1 {\"spec\":{" + kOne + "}}");
    const auto constraint = Constraint::make(asking->spec.topology_spread_constraints[0], *asking);
    std::vector<PodPtr> pods;
    for (const NodeView* node : pass->nodes()) pods.insert(pods.end(), node->pods.begin(), node->pods.end());
    Domains domains(*constraint, pass->nodes(), pods, pass->snapshot());
    domains.sort([](const api::Pod& pod) { return !pod.metadata.annotations.contains("stays"); });
    std::string all;
    for (const Domain& domain : domains.all()) {
      all += domain.value;
      for (const PodPtr& pod : domain.pods) all += " " + pod->metadata.name;
      all += ";";
    }
    return all;
  };
  const std::string foo = " label:foo=bar ";
  const std::string affinity = R"( {"spec":{"affinity":{"nodeAffinity":{}}}})";
  CHECK(sorted({}) == "zoneA;zoneB;");
  CHECK(sorted({"evictable-10 n1 prio=10" + foo, "evictable-15 n1 prio=15" + foo,
                "stays n1 annotation:stays=x" + foo}) == "zoneB;zoneA stays evictable-15 evictable-10;");
  CHECK(sorted({"high n1 prio=20" + foo, "low n1 prio=5" + foo, "medium n2 prio=15" + foo,
                "stays n2 annotation:stays=x" + foo}) == "zoneA high low;zoneB stays medium;");
  CHECK(sorted({"asks n1 prio=10" + foo + affinity, "free n1 prio=15" + foo, "none n1" + foo}) ==
        "zoneB;zoneA asks free none;");
}

TEST_CASE("constraints are the same if all that they ask is") {
  using namespace topology_spread;  // NOLINT(google-build-using-namespace): of the rows below
  const auto name = [](const std::string& asked, const std::string& words = "") {
    const auto pod = pod_of("x n1 " + words + " {\"spec\":{" + spread(asked) + "}}");
    return Constraint::make(pod->spec.topology_spread_constraints[0], *pod).value().name();
  };
  CHECK(name(constraint("2")) == name(constraint("2")));
  CHECK(name(constraint("2")) != name(constraint("3", "node")));
  CHECK(name(constraint("2")) != name(constraint("2", "zone", "DoNotSchedule", R"("foo":"baz")")));
  CHECK(name(constraint("2")) != name(constraint("2"), "select:zone=a"));
  CHECK(name(constraint("2")) == name(constraint("2"), "tolerates:a=b:NoSchedule"));
}

TEST_CASE("RemovePodsViolatingTopologySpreadConstraint refuses what cannot be in sigs' words") {
  const auto refused = [](const char* args) {
    return why_refused(kRemovePodsViolatingTopologySpreadConstraint, args);
  };
  CHECK(refused(R"({"namespaces":{"include":["default"],"exclude":["kube-system"]}})") ==
        "only one of Include/Exclude namespaces can be set");
  CHECK(refused(R"({"labelSelector":{"matchLabels":{"role.kubernetes.io/node":""}}})").empty());
  CHECK(
      refused(R"({"labelSelector":{"matchExpressions":[{"key":"","operator":"In"}]}})")
          .starts_with("failed to get label selectors from strategy's params: [key: Invalid value: \"\": "));
  CHECK(refused(R"({"constraints":["DoNotSchedule","ScheduleAnyway"]})").empty());
  CHECK(refused(R"({"constraints":["foo"]})") ==
        "constraint foo is not one of map[DoNotSchedule:{} ScheduleAnyway:{}]");
}

}  // namespace
}  // namespace koord::descheduler::test
