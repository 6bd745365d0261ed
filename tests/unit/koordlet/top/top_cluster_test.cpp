// `koord top --cluster` and its like: whole texts at 80 columns, how nodes are ordered and paged, and that
// they keep to the terminal.
#include "top/cluster_text.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "koord/api/figures/cluster_figures.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/elastic_quota.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/pod_group.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"

namespace koord::koordlet {
namespace {

using figures::ClusterFigures;

const api::Time kNow = *api::Time::parse("2026-01-01T00:10:00Z");

template <class T>
T object(std::string_view json) {
  auto read = api::decode<T>(json);
  REQUIRE(read.has_value());
  return *std::move(read);
}

api::Node node(std::string_view name, int batch, std::string_view ready = "True") {
  return object<api::Node>(fmt::format(
      R"({{"metadata":{{"name":"{0}"}},"status":{{"capacity":{{"cpu":"10","memory":"100Gi"}},)"
      R"("allocatable":{{"cpu":"10","kubernetes.io/batch-cpu":"{1}","kubernetes.io/batch-memory":"20Gi"}},)"
      R"("conditions":[{{"type":"Ready","status":"{2}"}}]}}}})",
      name, batch, ready));
}

/// One prod pod and one batch pod that use so much.
api::NodeMetric metric(std::string_view name, double prod, double batch,
                       std::string_view at = "2026-01-01T00:09:30Z") {
  return object<api::NodeMetric>(fmt::format(
      R"({{"metadata":{{"name":"{0}"}},"status":{{"updateTime":"{1}","nodeMetric":{{)"
      R"("nodeUsage":{{"resources":{{"cpu":"{2}","memory":"40Gi"}}}},"systemUsage":{{"resources":{{"cpu":"500m","memory":"4Gi"}}}}}},)"
      R"("podsMetric":[{{"name":"a","namespace":"d","priority":"koord-prod","podUsage":{{"resources":{{"cpu":"{3}","memory":"30Gi"}}}}}},)"
      R"({{"name":"b","namespace":"d","priority":"koord-batch","podUsage":{{"resources":{{"cpu":"{4}","memory":"6Gi"}}}}}}]}}}})",
      name, at, prod + batch + 0.5, prod, batch));
}

api::Pod pod(std::string_view name, std::string_view on, std::string_view why = "",
             std::string_view phase = "Pending") {
  return object<api::Pod>(fmt::format(
      R"({{"metadata":{{"name":"{0}","namespace":"d","creationTimestamp":"2026-01-01T00:00:00Z"}},"spec":{{"nodeName":"{1}","containers":[)"
      R"({{"name":"c","resources":{{"requests":{{"kubernetes.io/batch-cpu":"1500","kubernetes.io/batch-memory":"3Gi"}}}}}}]}},)"
      R"("status":{{"phase":"{3}","conditions":[{{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"{2}"}}]}}}})",
      name, on, why, phase));
}

std::string joined(const std::vector<std::string_view>& lines) {
  std::string text;
  for (const std::string_view line : lines) text += fmt::format("{}\n", line);
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    REQUIRE(end != std::string::npos);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// The names in the node table, in its order.
std::vector<std::string> shown(const std::string& text) {
  std::vector<std::string> names;
  bool table = false;
  for (const std::string& line : lines_of(text)) {
    if (table && !line.starts_with("page ")) names.push_back(line.substr(0, line.find(' ')));
    table = table || line.starts_with("NODE ");
  }
  return names;
}

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

constexpr Page k80{};

/// Five nodes of which one is asked for more than it lends; five pods that wait; a quota, gangs, a
/// reservation.
ClusterFigures five_nodes() {
  ClusterFigures figures;
  for (const api::Node& each :
       {node("a", 3000), node("b", 1000), node("c", 0, "False"), node("d", 0), node("e", 0)})
    figures.add(each);
  figures.add(node("a", 9000));  // a page that shifted shows it again
  figures.add(metric("a", 2, 1));
  figures.add(metric("b", 6, 0.5));
  figures.add(metric("d", 1, 0, "2026-01-01T00:01:00Z"));
  figures.add(metric("a", 9, 9));
  figures.add(metric("nobody", 9, 9));
  figures.add(pod("x", "b", "", "Running"));
  figures.add(pod("y", "nobody"));
  figures.add(pod("gone", "a", "", "Succeeded"));
  for (const char* name : {"p1", "p2", "p3", "p4"})
    figures.add(
        pod(name, "",
            "0/5 nodes are available: 5 Insufficient kubernetes.io/batch-cpu. preemption: 0/5 nodes are "
            "available: 5 No preemption victims found for incoming pod."));
  figures.add(pod("new", "", ""));
  return figures;
}

TEST_CASE("A cluster at 80 columns: what is used by tier, what is lent and asked for, who waits and why") {
  const figures::ClusterView view = five_nodes().view("https://there:6443", kNow);
  CHECK(cluster_text(view, {}, k80) ==
        joined({"2026-01-01T00:10:00Z  5 nodes: 4 ready, 2 report, 1 over-asked; 5 pods wait",
                "CPU 12.0 of 30.0 cores used (40%), memory 120Gi of 300Gi (40%)",
                "not counted, because 2 nodes never reported: 20.0 cores, memory 200Gi",
                "lent to batch: CPU 4.0 cores, 1.5 asked for, 1.5 used",
                "               memory 100Gi, 3.0Gi asked for, 18Gi used",
                "",
                "TIER            PODS       CPU            MEM",
                "koord-prod         3       9.0   30%     90Gi   30%",
                "koord-batch        3       1.5    5%     18Gi    6%",
                "system             -       1.5    5%     12Gi    4%",
                "",
                " WAIT SINCE  WHY, AND FOR EXAMPLE WHO",
                "    4   10m  5 Insufficient kubernetes.io/batch-cpu (0/5 nodes)",
                "             d/p1, d/p2, d/p3, ...",
                "    1   10m  Unschedulable",
                "             d/new",
                "",
                "NODE      CPU  MEM   PROD  BATCH   ASKED/LENT       MEMORY     STATE",
                "b         70%  40%    6.0    0.5      1.5/1.0!  3.0Gi/20Gi     ready",
                "a         35%  40%    2.0    1.0      0.0/3.0       0/20Gi     ready",
                "d         15%  40%    1.0    0.0      0.0/0.0       0/20Gi    9m old",
                "c           -    -      -      -      0.0/0.0       0/20Gi  NotReady",
                "e           -    -      -      -      0.0/0.0       0/20Gi no report"}));
  CHECK(holds(cluster_text(view, {}, {.wide = true}), "https://there:6443\n"));
  CHECK(holds(cluster_text(view, {}, {.wide = true}),
              "0/5 nodes are available: 5 Insufficient kubernetes.io/batch-cpu. pre"));
  CHECK(lent_text(view, k80) ==
        joined({"lent to batch: CPU 4.0 cores, 1.5 asked for, 1.5 used",
                "               memory 100Gi, 3.0Gi asked for, 18Gi used",
                "2 of 5 nodes lend; 1 is asked for more than it lends now (!)", "",
                "NODE        CPU  ASKED   USED   FREE      MEM  ASKED   USED   FREE",
                "a           3.0    0.0    1.0    3.0     20Gi      0  6.0Gi   20Gi",
                "b           1.0    1.5    0.5    0.0 !   20Gi  3.0Gi  6.0Gi   17Gi"}));
  using Names = std::vector<std::string>;
  CHECK(shown(nodes_text(view, {}, k80)) == Names{"b", "a", "d", "c", "e"});
  CHECK(shown(nodes_text(view, {ClusterOrder::batch}, k80)) == Names{"a", "b", "c", "d", "e"});
  CHECK(shown(nodes_text(view, {ClusterOrder::asked}, k80)) == Names{"b", "a", "c", "d", "e"});
  CHECK(shown(nodes_text(view, {ClusterOrder::name, 1, 2}, k80)) == Names{"a", "b"});
  CHECK(shown(nodes_text(view, {ClusterOrder::name, 3, 2}, k80)) == Names{"e"});
  CHECK(shown(nodes_text(view, {ClusterOrder::name, 99, 2}, k80)) == Names{"e"});
  CHECK(holds(nodes_text(view, {ClusterOrder::name, 2, 2}, k80), "page 2 of 3: 5 nodes"));
  CHECK(parse_cluster_order("batch") == ClusterOrder::batch);
  CHECK(!parse_cluster_order("size"));
}

TEST_CASE(
    "Over-asked nodes and those that do not report have their colours on a terminal, and none elsewhere") {
  const figures::ClusterView view = five_nodes().view("", kNow);
  const std::string text = nodes_text(view, {}, {.colours = true});
  CHECK(holds(text, "\x1b[31mb "));
  CHECK(holds(text, "\x1b[33me "));
  CHECK(holds(text, "\x1b[1mNODE"));
  CHECK(!holds(nodes_text(view, {}, k80), "\x1b"));
}

TEST_CASE("One node that is named is shown without what all of them come to") {
  using Names = std::vector<std::string>;
  figures::ClusterView view = five_nodes().view("https://there:6443", kNow);
  CHECK(leave_node(view, "b") == Names{"a", "b", "c", "d", "e"});
  CHECK(nodes_text(view, {}, k80, false) ==
        joined({"NODE      CPU  MEM   PROD  BATCH   ASKED/LENT       MEMORY     STATE",
                "b         70%  40%    6.0    0.5      1.5/1.0!  3.0Gi/20Gi     ready"}));
  CHECK(lent_text(view, k80, false) ==
        joined({"NODE        CPU  ASKED   USED   FREE      MEM  ASKED   USED   FREE",
                "b           1.0    1.5    0.5    0.0 !   20Gi  3.0Gi  6.0Gi   17Gi"}));
  CHECK(view.ready == 1);
  CHECK(view.reporting == 1);
  CHECK(view.silent == 0);
  CHECK(view.lending == 1);
  CHECK(view.over_asked == 1);
  CHECK(view.waiting_pods == 5);
  CHECK(view.capacity.cpu_cores == 10);
  CHECK(view.used.cpu_cores == 7);
  CHECK(view.lent.cpu_cores == 1);
  CHECK(view.batch_used.cpu_cores == 0.5);
  CHECK(view.tiers.front().used.cpu_cores == 6);
  view = five_nodes().view("", kNow);
  leave_node(view, "e");
  CHECK(holds(lent_text(view, k80, false), "\ne           0.0    0.0"));  // it lends nothing
  CHECK(leave_node(view, "nobody") == Names{"e"});
  CHECK(view.nodes.empty());
}

TEST_CASE("A cluster that lends nothing says why") {
  struct Row {
    const char* name;
    bool reports;
    const char* line;
  };
  for (const Row& row :
       {Row{"nobody reports", false, "no node lends batch CPU: 0 of 2 report; is koordlet running?\n"},
        {"one reports", true, "no node lends batch CPU: 1 of 2 report; is colocation on?\n"}}) {
    CAPTURE(row.name);
    ClusterFigures figures;
    figures.add(node("a", 0));
    figures.add(node("b", 0));
    if (row.reports) figures.add(metric("a", 1, 0));
    const figures::ClusterView view = figures.view("", kNow);
    CHECK(holds(cluster_text(view, {}, k80), row.line));
    CHECK(lent_text(view, k80) == row.line);
  }
}

TEST_CASE("The reason comes before how many nodes there are") {
  struct Row {
    const char* said;
    const char* shown;
  };
  for (const Row& row :
       {Row{"0/12 nodes are available: 12 Insufficient cpu.", "12 Insufficient cpu (0/12 nodes)"},
        {"0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint {a: b}. preemption: "
         "0/3 nodes "
         "are available: 3 No preemption victims found for incoming pod.",
         "1 Insufficient cpu, 2 node(s) had untolerated taint {a: b} (0/3 nodes)"},
        {"0/2 nodes are available: 2 No preemption victims found for incoming pod., preemption: 0/2 nodes "
         "are "
         "available: 2 No preemption victims found for incoming pod.",
         "2 No preemption victims found for incoming pod (0/2 nodes)"},
        {"0/1 nodes are available: ", "0/1 nodes are available: "},
        {"gang has not enough pods", "gang has not enough pods"},
        {"a/b nodes are available: c", "a/b nodes are available: c"},
        {"", ""}})
    CHECK(figures::reason_first(row.said) == row.shown);
}

TEST_CASE("Reservations: where they keep room, and why one waits, as pods do") {
  const auto reservation = [](std::string_view name, std::string_view status) {
    return object<api::Reservation>(fmt::format(
        R"({{"metadata":{{"name":"{}","creationTimestamp":"2026-01-01T00:08:20Z"}},"status":{}}})", name,
        status));
  };
  ClusterFigures figures;
  figures.add(pod("p", "", "no room"));
  figures.add(reservation("new", "{}"));
  figures.add(reservation("pending",
                          R"({"phase":"Pending","conditions":[{"type":"Scheduled","status":"False",)"
                          R"("reason":"Unschedulable","message":"no room"}]})"));
  figures.add(reservation("there",
                          R"({"phase":"Available","nodeName":"a","allocatable":{"cpu":"4","memory":"8Gi"},)"
                          R"("allocated":{"cpu":"1500m","memory":"2Gi"},"currentOwners":[{"name":"q"}]})"));
  figures.add(reservation("over", R"({"phase":"Failed"})"));
  const figures::ClusterView view = figures.view("", kNow);
  CHECK(reservations_text(view, k80) ==
        joined({"3 reservations, 2 waiting for a node", "",
                "RESERVATION PHASE     NODE CPU USED/OF       MEMORY  PODS   AGE",
                "new         Pending   -        0.0/0.0          0/0     0  100s",
                "    nobody has looked at it yet",
                "pending     Pending   -        0.0/0.0          0/0     0  100s", "    no room",
                "there       Available a        1.5/4.0  2.0Gi/8.0Gi     1  100s"}));
  const std::string text = cluster_text(view, {}, k80);
  for (const char* part : {"; 1 pod and 2 reservations wait", "    2   10m  no room\n",
                           "d/p, reservation pending\n", "    1  100s  nobody has looked at it yet\n"})
    CHECK(holds(text, part));
  CHECK(!holds(text, "reservation there"));
}

api::Pod member(std::string_view name, std::string_view on, std::string_view meta) {
  return object<api::Pod>(fmt::format(
      R"({{"metadata":{{"name":"{}","namespace":"d","creationTimestamp":"2026-01-01T00:05:00Z",{}}},)"
      R"("spec":{{"nodeName":"{}"}},"status":{{"phase":"Pending","conditions":[{{"type":"PodScheduled","status":"False",)"
      R"("message":"0/5 nodes are available: 5 Insufficient cpu."}}]}}}})",
      name, meta, on));
}

TEST_CASE("Gangs: whole ones, short ones, those that wait, and one that does not exist") {
  ClusterFigures figures;
  constexpr std::string_view kWhole = R"("labels":{"pod-group.scheduling.sigs.k8s.io":"whole"})",
                             kShort = R"("annotations":{"gang.scheduling.koordinator.sh/name":"short",)"
                                      R"("gang.scheduling.koordinator.sh/min-available":"3"})",
                             kLost = R"("labels":{"pod-group.scheduling.sigs.k8s.io":"lost"})",
                             kQuota = R"("labels":{"quota.scheduling.koordinator.sh/name":"team-z"})";
  for (const char* name : {"w1", "w2"}) figures.add(member(name, "a", kWhole));
  figures.add(member("s1", "", kShort));
  for (const char* name : {"l1", "l2"}) figures.add(member(name, "", kLost));
  figures.add(member("q", "", kQuota));
  figures.add(
      object<api::PodGroup>(R"({"metadata":{"name":"whole","namespace":"d"},"spec":{"minMember":2}})"));
  figures.add(object<api::PodGroup>(
      R"({"metadata":{"name":"old","namespace":"d"},"spec":{"minMember":2},"status":{"phase":"Finished"}})"));
  // Who may not list groups and quotas is not told that there are none.
  CHECK(figures.view("", kNow).missing.empty());
  figures.know_groups();
  figures.know_quotas();
  const figures::ClusterView view = figures.view("", kNow);
  CHECK(gangs_text(view, k80) ==
        joined({"4 gangs", "", "GANG       MIN  PODS PLACED  WAIT SINCE  STATE",
                "d/lost       -     2      0     2    5m  does not exist",
                "    5 Insufficient cpu (0/5 nodes)", "d/short      3     1      0     1    5m  short",
                "    5 Insufficient cpu (0/5 nodes)", "d/old        2     0      0     0     -  ended",
                "d/whole      2     2      2     0     -  complete"}));
  CHECK(holds(cluster_text(view, {}, k80),
              "not there, but named by pods: quota team-z (1 pod), gang d/lost (2 pods)\n"));
  CHECK(holds(quotas_text(view, k80),
              "not there, but named by pods: quota team-z (1 pod), gang d/lost (2 pods)\n"));
}

TEST_CASE(
    "A cluster's quotas: what they are sure of, use, may use, lend and borrow, and who waits for them") {
  ClusterFigures figures;
  figures.add(node("a", 0));
  const auto quota = [&](std::string_view name, std::string_view min, std::string_view used,
                         std::string_view runtime, std::string_view request, std::string_view labels = "") {
    figures.add(object<api::ElasticQuota>(fmt::format(
        R"({{"metadata":{{"name":"{0}","labels":{{{5}}},"annotations":{{)"
        R"("quota.scheduling.koordinator.sh/runtime":"{{\"cpu\":\"{3}\",\"memory\":\"8Gi\"}}",)"
        R"("quota.scheduling.koordinator.sh/request":"{{\"cpu\":\"{4}\"}}"}}}},"spec":{{"min":{{"cpu":"{1}"}}}},)"
        R"("status":{{"used":{{"cpu":"{2}","memory":"4Gi"}}}}}})",
        name, min, used, runtime, request, labels)));
  };
  quota("lender", "40", "10", "20", "10");
  quota("keeps", "40", "10", "40", "40", R"("quota.scheduling.koordinator.sh/allow-lent-resource":"false")");
  quota("borrower", "20", "50", "50", "60");
  quota("wanted", "5", "5", "5", "9");
  quota("koordinator-root-quota", "0", "75", "0", "0");
  figures.add(object<api::ElasticQuota>(R"({"metadata":{"name":"koordinator-default-quota"}})"));
  for (const char* name : {"p", "q"})
    figures.add(
        pod(name, "", "0/1 nodes are available: Insufficient quotas, quotaName: wanted, runtime: cpu:5"));
  const figures::ClusterView view = figures.view("", kNow);
  CHECK(quotas_text(view, k80) ==
        joined({"5 quotas, 2 pods waiting for them", "",
                "QUOTA (CPU)           MIN   USED MAY USE   LENT BORROWS   MEMORY/MAY USE   WAIT",
                "wanted                5.0    5.0     5.0    0.0     0.0      4.0Gi/8.0Gi      2",
                "borrower             20.0   50.0    50.0    0.0    30.0      4.0Gi/8.0Gi      0",
                "keeps                40.0   10.0    40.0    0.0     0.0      4.0Gi/8.0Gi      0",
                "lender               40.0   10.0    20.0   30.0     0.0      4.0Gi/8.0Gi      0",
                "koordinator-defau~    0.0    0.0       -    0.0     0.0              0/-      0"}));
  CHECK(holds(cluster_text(view, {}, {.height = 24}), "QUOTA (CPU)"));
}

TEST_CASE("A large cluster, and one with nothing in it, keep to the terminal") {
  CHECK(lines_of(cluster_text(ClusterFigures().view("https://there", kNow), {}, {80, 24})).size() <= 24);
  ClusterFigures figures;
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = fmt::format("node-with-a-name-that-is-longer-than-its-column-{:05}", i);
    figures.add(node(name, 1000));
    figures.add(metric(name, i % 10, 0));
  }
  for (int i = 0; i < 3'000; ++i)
    figures.add(pod(fmt::format("p{}", i), "",
                    fmt::format("reason \\u001b[2J {} of a long line that goes on and on and on and on", i)));
  const figures::ClusterView view = figures.view("https://there", kNow);
  for (const auto& [width, height] : {std::pair{80, 24}, {120, 50}, {200, 10}}) {
    const std::string text =
        cluster_text(view, {}, {static_cast<std::size_t>(width), static_cast<std::size_t>(height)});
    const auto lines = lines_of(text);
    CHECK(lines.size() <= static_cast<std::size_t>(std::max(height, 27)));
    for (const std::string& line : lines) CHECK(line.size() <= static_cast<std::size_t>(width));
    CHECK(!holds(text, "\x1b"));
    CHECK(holds(text, "... and 2995 more for other reasons"));
    CHECK(holds(text, ": 10000 nodes"));
  }
}

}  // namespace
}  // namespace koord::koordlet
