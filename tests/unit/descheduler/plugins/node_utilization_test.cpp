// LowNodeUtilization and HighNodeUtilization: sigs' 17 rows of TestLowNodeUtilization but the one whose
// arguments its own validation refuses, 4 with taints; 14 rows of TestHighNodeUtilization, 3 with taints;
// nodes by deviation (1), percentages (4 of 6, nothing is nil here) and order of nodes (4); 13 and 10 rows of
// validation. Left out: the 17 rows once more and 4 with usage from a metrics server or Prometheus, which are
// refused.
#include <catch2/catch.hpp>

#include <algorithm>

#include "plugins/node_utilization/usage.hpp"
#include "unit/descheduler/plugins/rows.hpp"

namespace koord::descheduler {
extern const PluginEntry kLowNodeUtilization, kHighNodeUtilization;
}

namespace koord::descheduler::test {
namespace {

using Pods = std::vector<std::string>;

Pods operator+(Pods a, const Pods& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
Pods each(const std::string& rest, std::initializer_list<const char*> names) {
  Pods pods;
  for (const char* name : names) pods.push_back(name + (" " + rest));
  return pods;
}

std::string by(const std::string& least, const std::string& most, const std::string& more = "") {
  return R"({"thresholds":{)" + least + R"(},"targetThresholds":{)" + most + "}" + more + "}";
}

TEST_CASE("pods leave nodes of which much is asked for those of which little is") {
  const std::string usual = by(R"("cpu":30,"pods":30)", R"("cpu":50,"pods":50)");
  const std::string extended = by(R"("pods":30,"example.com/foo":30)", R"("pods":50,"example.com/foo":50)");
  const std::string deviation =
      by(R"("cpu":5,"pods":5)", R"("cpu":5,"pods":5)", R"(,"useDeviationThresholds":true)");
  const std::string foo = " example.com/foo=";
  const std::string n1 = "n1 cpu=4000 pods=9", n2 = "n2 cpu=4000", n3 = "n3 cpu=4000 cordoned";
  const std::string east = n2 + " label:datacenter=east";
  const Pods nodes = {n1, n2, n3};
  const std::string on1 = "n1 cpu=400 ";
  const Pods stay = {"p6 " + on1 + "owner=DaemonSet", "p7 " + on1 + "local mirror",
                     "p8 " + on1 + "ns=kube-system prio=2000000000"};
  const Pods five = each(on1, {"p1", "p2", "p3", "p4", "p5"});
  const Pods three = each(on1, {"p1", "p2", "p3"}), p9 = {"p9 n2 cpu=400"};
  const std::string west =
      R"( {"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
      R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"datacenter","operator":"In","values":["west"]}]}]}}}}})";
  const Pods foos = each("n1 cpu=0" + foo + "1", {"p1", "p2", "p3", "p4", "p5", "p6"}) +
                    Pods{"p7 n1 cpu=0 local mirror" + foo + "1",
                         "p8 n1 cpu=0 ns=kube-system prio=2000000000" + foo + "1", "p9 n2 cpu=0" + foo + "1"};
  struct Row {
    const char* what;
    std::size_t gone;
    Pods nodes, pods;
    std::string args;
    const char* who = nullptr;
  };
  const Row rows[] = {
      {"none may go", 0, nodes,
       each(on1 + "owner=DaemonSet", {"p1", "p2", "p3", "p4"}) +
           Pods{"p5 " + on1 + "local mirror", "p6 " + on1 + "ns=kube-system prio=2000000000"} + p9,
       usual},
      {"alike", 4, nodes, five + stay + p9, usual},
      {"of an excluded namespace", 0, nodes,
       each(on1 + "ns=namespace1", {"p1", "p2", "p3", "p4", "p5"}) + stay + p9,
       by(R"("cpu":30,"pods":30)", R"("cpu":50,"pods":50)",
          R"(,"evictableNamespaces":{"exclude":["namespace1"]})")},
      {"until the cpu is used up", 4, nodes, five + stay + p9, usual},
      {"by priority", 4, nodes,
       each(on1 + "prio=10000", {"p1", "p2", "p3", "p4"}) + Pods{"p5 " + on1 + "prio=0"} + stay + p9, usual,
       "p5 p1 p2 p3"},
      {"best effort first", 4, nodes,
       each(on1 + "besteffort", {"p1", "p2", "p4", "p5"}) + Pods{"p3 " + on1} + stay + p9, usual,
       "p1 p2 p4 p5"},
      {"an extended resource", 3, {n1 + foo + "8", n2 + foo + "8", n3}, foos, extended},
      {"an extended resource of some nodes",
       0,
       {n1 + foo + "8", n2, n3},
       {"p1 n1 cpu=0" + foo + "1", "p9 n2 cpu=0"},
       extended},
      {"an extended resource, by deviation",
       1,
       {"n1 cpu=4000" + foo + "8", n2 + foo + "8", n3},
       {"p1 n1 cpu=0" + foo + "1", "p2 n2 cpu=0" + foo + "7", "p3 n2 cpu=0", "p8 n3 cpu=0", "p9 n3 cpu=0"},
       by(R"("pods":5,"example.com/foo":10)", R"("pods":5,"example.com/foo":10)",
          R"(,"useDeviationThresholds":true)")},
      {"the other node is cordoned", 0, {n1, n2 + " cordoned"}, five + stay, usual},
      {"two select others",
       3,
       {n1, east},
       three + each(on1 + "select:datacenter=west", {"p4", "p5"}) + stay + Pods{"p9 n2 cpu=0"},
       usual,
       "p1 p2 p3"},
      {"two want others",
       3,
       {n1, east},
       three + Pods{"p4 " + on1 + west, "p5 " + on1 + west} + stay + Pods{"p9 n2 cpu=0"},
       usual,
       "p1 p2 p3"},
      {"by deviation", 2, nodes, five + stay + p9, deviation},
      {"by deviation, no memory left",
       0,
       {"n1 cpu=4000", n2, n3},
       each(on1 + "memory=375", {"p1", "p2", "p3", "p4", "p5"}) +
           Pods{"p6 " + on1 + "memory=375 owner=DaemonSet", "p7 " + on1 + "memory=375 local mirror",
                "p8 " + on1 + "memory=375 ns=kube-system prio=2000000000", "p9 n2 cpu=400 memory=3000"},
       deviation},
      {"what is really used does not count",
       3,
       {n1, east},
       three + Pods{"p4 " + on1 + west, "p5 " + on1 + west} + stay + Pods{"p9 n2 cpu=0"},
       usual},
      {"two of a node", 2, nodes, five + stay + p9,
       by(R"("cpu":30,"pods":30)", R"("cpu":50,"pods":50)", R"(,"evictionLimits":{"node":2})")},
      // Not rows of sigs'.
      {"enough nodes take pods", 0, nodes, five + stay + p9,
       by(R"("cpu":30,"pods":30)", R"("cpu":50,"pods":50)", R"(,"numberOfNodes":1)")},
      {"ended ones use nothing", 0, nodes, each(on1 + "phase=Failed", {"p1", "p2", "p3", "p4", "p5"}) + stay,
       usual},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    CHECK(count_gone(kLowNodeUtilization, row.args, {row.nodes, row.pods, "nodefit"}) == row.gone);
    if (row.who != nullptr)
      CHECK(gone(kLowNodeUtilization, row.args, {row.nodes, row.pods, "nodefit"}) == row.who);
  }
  CHECK(why_refused(kLowNodeUtilization,
                    by(R"("cpu":30)", R"("cpu":50)", R"(,"evictableNamespaces":{"include":["default"]})")) ==
        "only Exclude namespaces can be set, inclusion is not supported");
  const auto pass = pass_of({nodes, five + stay + p9, "nodefit"});
  run(*make_plugin(kLowNodeUtilization, usual), *pass);
  REQUIRE_FALSE(pass->gone.empty());
  CHECK(pass->gone[0].reason == "more is asked of the node than it should have: cpu 80.00%>50.00%");
}

TEST_CASE("pods leave only for nodes whose taints they tolerate") {
  const std::string args = by(R"("pods":20)", R"("pods":70)");
  const std::string on1 = "n1 cpu=200";
  const Pods seven = each(on1, {"pod_1", "pod_2", "pod_3", "pod_4", "pod_5", "pod_6", "pod_7"});
  const std::string taint = "n3 cpu=1000 taint:key=value:NoSchedule";
  const Pods bears = {"bears n1 cpu=200 tolerates:key=value:"};
  const Pods eight = seven + each(on1, {"pod_8"});
  const auto count = [&](const Pods& nodes, const Pods& pods, const char* holds) {
    return count_gone(kLowNodeUtilization, args, {nodes, pods, holds});
  };
  CHECK(count({"n1", "n2 cpu=1000", "n3 cpu=1000"}, eight + Pods{"pod_9 n2 cpu=200"}, "nodefit node=1") == 1);
  CHECK(count({"n1", taint}, eight + Pods{"pod_9 n3 cpu=200"}, "nodefit node=0") == 0);
  CHECK(gone(kLowNodeUtilization, args,
             {{"n1", taint}, seven + bears + Pods{"pod_9 n3 cpu=200"}, "nodefit node=1"}) == "bears");
  CHECK(count({"n1", taint}, seven + bears + Pods{"pod_9 n3 cpu=200"}, "nodefit node=1 total=0") == 0);
  // Not rows of sigs': one toleration may tolerate several taints.
  CHECK(count({"n1", taint}, eight + Pods{"pod_9 n3 cpu=200"}, "") == 0);
  const std::string two = "n3 cpu=1000 taint:key=a:NoSchedule taint:key=b:NoSchedule";
  CHECK(gone(kLowNodeUtilization, args,
             {{"n1", two},
              seven + Pods{R"(bears n1 {"spec":{"tolerations":[{"operator":"Exists"}]}})", "pod_9 n3"},
              ""}) == "bears");
}

TEST_CASE("pods leave nodes of which little is asked, so that fewer will do") {
  const std::string twenty = R"({"thresholds":{"cpu":20,"pods":20}})";
  const std::string thirty = R"({"thresholds":{"cpu":30,"pods":30}})";
  const std::string cpu30 = R"({"thresholds":{"cpu":30}})";
  const std::string foo = " example.com/foo=";
  const std::string n1 = "n1 cpu=4000", n2 = "n2 cpu=4000", n3 = "n3 cpu=4000", c3 = n3 + " cordoned";
  const auto on = [](const char* node, std::initializer_list<const char*> names,
                     const std::string& more = "") {
    return each(std::string(node) + " cpu=400 " + more, names);
  };
  const Pods critical = on("n1", {"p2"}, "ns=kube-system prio=2000000000");
  const std::string only = R"(,"evictionModes":["OnlyThresholdingResources"]})";
  struct Row {
    const char* what;
    std::size_t gone;
    Pods nodes, pods;
    std::string args;
    const char* who = nullptr;
  };
  const Pods no_memory = on("n1", {"p1", "p2", "p3"}, "memory=50") +
                         on("n1", {"p4"}, "memory=50 owner=DaemonSet") + on("n2", {"p5"}, "memory=100");
  const Row rows[] = {
      {"no node has little",
       0,
       {n1, n2, n3},
       on("n1", {"p1", "p2", "p3"}) + on("n2", {"p4", "p5", "p6"}) + on("n3", {"p7", "p8", "p9"}),
       twenty},
      {"none may go",
       0,
       {n1 + " pods=9", n2, n3},
       on("n1", {"p1"}, "local mirror") + critical + on("n2", {"p3", "p4"}, "owner=DaemonSet") +
           on("n3", {"p5", "p6", "p7", "p8"}),
       R"({"thresholds":{"cpu":40,"pods":40}})"},
      {"no node to go to",
       0,
       {n1, n2, c3},
       on("n1", {"p1"}) + on("n2", {"p2"}) + on("n3", {"p3", "p4", "p5"}),
       twenty},
      {"alike",
       2,
       {n1, n2, c3},
       on("n1", {"p1"}) + critical + on("n2", {"p3", "p4", "p5", "p6"}) + on("n3", {"p7"}),
       thirty,
       "p7 p1"},
      {"until the cpu is used up",
       1,
       {"n1", "n2", "n3 cordoned"},
       on("n1", {"p1"}) + on("n2", {"p2", "p3", "p4", "p5"}) + on("n3", {"p6"}),
       thirty},
      {"by priority",
       1,
       {n1, "n2", "n3 cordoned"},
       on("n1", {"p1"}, "prio=0") + on("n1", {"p2"}, "prio=10000") + on("n2", {"p5", "p6", "p7", "p8"}) +
           on("n3", {"p9"}, "owner=DaemonSet"),
       cpu30,
       "p1"},
      {"best effort first",
       1,
       {"n1 cpu=3000", "n2 cpu=3000 pods=5", "n3 cpu=3000 cordoned"},
       on("n1", {"p1"}, "besteffort") + on("n1", {"p2"}) + on("n2", {"p3", "p4", "p5", "p6"}),
       cpu30,
       "p1"},
      {"an extended resource",
       2,
       {n1 + foo + "8", n2 + foo + "8", c3},
       each("n1 cpu=100" + foo + "1", {"p1", "p2"}) +
           each("n2 cpu=500" + foo + "1", {"p3", "p4", "p5", "p6"}),
       R"({"thresholds":{"cpu":20,"example.com/foo":40}})",
       "p1 p2"},
      {"an extended resource of some nodes",
       0,
       {n1 + foo + "8", n2, c3},
       each("n1 cpu=100" + foo + "1", {"p1", "p2"}) + each("n2 cpu=500", {"p3", "p4", "p5", "p6"}),
       R"({"thresholds":{"cpu":40,"example.com/foo":40}})"},
      {"the other node is the one it selects",
       1,
       {n1 + " pods=9 label:datacenter=west", n2},
       on("n1", {"p1", "p2", "p3"}) + on("n1", {"p4"}, "owner=DaemonSet") +
           on("n2", {"p5"}, "select:datacenter=west"),
       thirty,
       "p5"},
      {"the other node is not the one it selects",
       0,
       {n1 + " pods=9", n2},
       on("n1", {"p1", "p2", "p3"}) + on("n1", {"p4"}, "owner=DaemonSet") +
           on("n2", {"p5"}, "select:datacenter=west"),
       thirty},
      {"the other node has no memory", 0, {n1 + " memory=200 pods=9", n2}, no_memory, thirty},
      {"the other node has no memory, again", 0, {n1 + " memory=200 pods=9", n2}, no_memory, thirty},
      {"only pods that ask for it",
       0,
       {n1 + foo + "10", n2 + foo + "10", n3 + foo + "10"},
       each("n1 cpu=100" + foo + "3", {"p1", "p2"}) + each("n2 cpu=500", {"p3", "p4", "p5", "p6"}),
       R"({"thresholds":{"example.com/foo":40})" + only},
      // Not rows of sigs'.
      {"others, too",
       4,
       {n1 + foo + "10", n2 + foo + "10", n3 + foo + "10"},
       each("n1 cpu=100" + foo + "3", {"p1", "p2"}) + each("n2 cpu=500", {"p3", "p4", "p5", "p6"}),
       R"({"thresholds":{"example.com/foo":40}})"},
      {"enough nodes give",
       0,
       {n1, n2, c3},
       on("n1", {"p1"}) + critical + on("n2", {"p3", "p4", "p5", "p6"}) + on("n3", {"p7"}),
       R"({"thresholds":{"cpu":30,"pods":30},"numberOfNodes":2})"},
      {"of an excluded namespace",
       0,
       {n1, n2},
       on("n1", {"p1"}, "ns=a") + on("n2", {"p3", "p4", "p5", "p6"}),
       R"({"thresholds":{"cpu":30,"pods":30},"evictableNamespaces":{"exclude":["a"]}})"},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    CHECK(count_gone(kHighNodeUtilization, row.args, {row.nodes, row.pods, "nodefit"}) == row.gone);
    if (row.who != nullptr)
      CHECK(gone(kHighNodeUtilization, row.args, {row.nodes, row.pods, "nodefit"}) == row.who);
  }
  const std::string forty = R"({"thresholds":{"cpu":40}})", taint = "n3 cpu=1000 taint:key=value:NoSchedule";
  CHECK(count_gone(kHighNodeUtilization, forty,
                   {{"n1 cpu=1000", "n2 cpu=1000", "n3 cpu=1000"},
                    each("n1 cpu=200", {"a", "b", "c"}) + Pods{"d n2 cpu=200"},
                    "node=1"}) == 1);
  CHECK(count_gone(kHighNodeUtilization, forty, {{"n1 cpu=1000", taint}, {"a n1 cpu=200", "b n3 cpu=200"}}) ==
        0);
  CHECK(gone(kHighNodeUtilization, forty,
             {{"n1 cpu=1000", taint},
              {"a n1 cpu=100", "bears n1 cpu=200 tolerates:key=value:", "c n3 cpu=500"},
              "node=1"}) == "bears");
}

TEST_CASE("usage is per cent of what the node has, exactly") {
  using namespace node_utilization;  // NOLINT(google-build-using-namespace): of the rows below
  const auto percentage = [](const std::string& node, const Pods& pods, const char* resource) {
    const auto pass = pass_of({{"n1 " + node}, pods});
    const Resources resources(Thresholds{{resource, 50}});
    return Usage(*pass->nodes()[0], resources).percentage(0);
  };
  CHECK(percentage("cpu=1000", {"p n1 cpu=100"}, "cpu") == 10 * kPercent);
  CHECK(percentage("cpu=0", {"p n1 cpu=100"}, "cpu") == 0);
  CHECK(percentage("cpu=100", {"p n1 cpu=0 none=100"}, "none") == std::nullopt);
  CHECK(percentage("cpu=1000", {"p n1 cpu=200 none=100"}, "cpu") == 20 * kPercent);
  // In floating point this is 7.000000000000001.
  CHECK(percentage("cpu=100", {"p n1 cpu=7"}, "cpu") == 7 * kPercent);
  // What pods ask for may be anything.
  CHECK(percentage("cpu=1", {"p n1 memory=9223372036854775807", "q n1 memory=9223372036854775807"},
                   "memory") > 100 * kPercent);
}

TEST_CASE("nodes are compared with the average of all") {
  using namespace node_utilization;  // NOLINT(google-build-using-namespace): of the rows below
  const Pods nodes = {"n1 cpu=1000 memory=1000", "n2 cpu=1000 memory=1000", "n3 cpu=1000 memory=1000",
                      "n4 cpu=1000 memory=1000", "n5 cpu=1000 memory=1000"};
  const Pods pods = {"a n1 cpu=100 memory=100", "b n2 cpu=480 memory=480", "c n3 cpu=520 memory=520",
                     "d n4 cpu=500 memory=500", "e n5 cpu=900 memory=900"};
  const auto pass = pass_of({nodes, pods});
  const Thresholds five{{"cpu", 5}, {"memory", 5}};
  const Resources resources(five);
  std::vector<Usage> all;
  for (const NodeView* node : pass->nodes()) all.emplace_back(*node, resources);
  const Percentages least = beside_average(all, five, -1), most = beside_average(all, five, 1);
  CHECK(least[0] == 45 * kPercent);
  CHECK(most[1] == 55 * kPercent);
  std::string low, high;
  for (const Usage& usage : all) {
    if (usage.is_within(least)) low += usage.node->node->metadata.name;
    if (!usage.is_within(most)) high += usage.node->node->metadata.name;
  }
  CHECK(low == "n1");
  CHECK(high == "n5");
  CHECK(beside_average(all, Thresholds{{"cpu", 60}, {"memory", 1}}, -1)[0] == 0);
}

TEST_CASE("nodes are ordered by the sum of what is asked") {
  using namespace node_utilization;  // NOLINT(google-build-using-namespace): of the rows below
  const auto order = [](std::initializer_list<std::array<std::int64_t, 3>> amounts, bool ascending) {
    const auto pass = pass_of({{"node1", "node2", "node3"}, {}});
    const Resources resources(Thresholds{{"cpu", 1}});
    std::vector<Usage> all;
    for (const auto& row : amounts) {
      all.emplace_back(*pass->nodes()[all.size()], resources);
      all.back().used.assign(row.begin(), row.end());
    }
    if (ascending)
      std::ranges::stable_sort(all, {}, &Usage::sum);
    else
      std::ranges::stable_sort(all, std::greater<>(), &Usage::sum);
    std::string names;
    for (const Usage& usage : all) names += usage.node->node->metadata.name.back();
    return names;
  };
  const auto both = {
      std::array<std::int64_t, 3>{1730, 3038982964, 25}, {1220, 3038982964, 11}, {1530, 5038982964, 20}};
  const auto memory = {std::array<std::int64_t, 3>{0, 3038982964, 0}, {0, 2038982964, 0}, {0, 5038982964, 0}};
  CHECK(order(both, false) == "312");
  CHECK(order(both, true) == "213");
  CHECK(order(memory, false) == "312");
  CHECK(order(memory, true) == "213");
}

TEST_CASE("thresholds of utilization that cannot be are refused in sigs' words, and 0 by name") {
  const auto low = [](const std::string& least, const std::string& most, const std::string& more = "") {
    return why_refused(kLowNodeUtilization, by(least, most, more));
  };
  const std::string two = R"("cpu":20,"memory":20)", most = R"("cpu":80,"memory":80)";
  const std::string foo20 = R"(,"example.com/foo":20)", foo80 = R"(,"example.com/foo":80)";
  const std::string different = "thresholds and targetThresholds configured different resources";
  CHECK(low(R"("cpu":20,"memory":120)", most) ==
        "thresholds config is not valid: memory threshold not in [0, 100] range");
  CHECK(low(two, most + R"(,"pods":80)") == different);
  CHECK(low(two, R"("cpu":80,"pods":80)") == different);
  CHECK(low(R"("cpu":90,"memory":20)", most) ==
        "thresholds' cpu percentage is greater than targetThresholds'");
  CHECK(low(two + foo20, most) == different);
  CHECK(low(two, most + foo80) == different);
  CHECK(low(two + foo20, most + R"(,"example.com/bar":80)") == different);
  CHECK(low(two + R"(,"example.com/foo":90)", most + foo20) ==
        "thresholds' example.com/foo percentage is greater than targetThresholds'");
  CHECK(low(two, most).empty());
  CHECK(low(two + foo20, most + foo80).empty());
  CHECK(low(two, most, R"(,"metricsUtilization":{"metricsServer":true,"source":"KubernetesMetrics"})") ==
        "it is not allowed to set both \"KubernetesMetrics\" source and metricsServer");
  CHECK(low(two, most, R"(,"metricsUtilization":{"source":"Prometheus"})") ==
        "prometheus query is required when metrics source is set to \"Prometheus\"");
  CHECK(low(two, most, R"(,"metricsUtilization":{"source":"KubernetesMetrics","prometheus":{}})") ==
        "prometheus configuration is not allowed to set when source is set to \"KubernetesMetrics\"");
  // Not rows of sigs'.
  CHECK(low(two, most, R"(,"metricsUtilization":{"metricsServer":true})") ==
        "metricsUtilization is not supported: LowNodeLoad balances by what is really used");
  CHECK(low(R"("cpu":0)", R"("cpu":0)") ==
        "targetThresholds' cpu percentage is 0: every node of which any is asked would be overutilized");
  CHECK(low(R"("cpu":0)", R"("cpu":0)", R"(,"useDeviationThresholds":true)").empty());
  CHECK(low("", "") == "thresholds config is not valid: no resource threshold is configured");

  const auto high = [](const std::string& least, const std::string& more = "") {
    return why_refused(kHighNodeUtilization, R"({"thresholds":{)" + least + "}" + more + "}");
  };
  const std::string mode = R"(,"evictionModes":["OnlyThresholdingResources"])";
  CHECK(high(R"("cpu":80,"memory":90)", mode).empty());
  CHECK(high(R"("cpu":85,"example.com/foo":95)", mode).empty());
  CHECK(high("") == "no resource threshold is configured");
  CHECK(high(R"("cpu":-1)") == "cpu threshold not in [0, 100] range");
  CHECK(high(R"("memory":101)") == "memory threshold not in [0, 100] range");
  CHECK(high(R"("cpu":50,"memory":150)") == "memory threshold not in [0, 100] range");
  CHECK(high(R"("cpu":80)", R"(,"evictableNamespaces":{"exclude":["ns1","ns2"]})").empty());
  CHECK(high(R"("cpu":80)", R"(,"evictionModes":["InvalidMode"])") == "invalid eviction mode InvalidMode");
  CHECK(high(R"("cpu":80)").empty());
  CHECK(high(R"("cpu":80)", R"(,"evictionModes":[])").empty());
}

}  // namespace
}  // namespace koord::descheduler::test
