// `koord top --cluster`: what is added up, how it is ordered and paged, and that it keeps to the terminal.
#include "top/cluster.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "koord/api/schema/codec.hpp"

namespace koord::koordlet {
namespace {

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

TEST_CASE("A cluster: what is used by tier, what is lent and asked for, who waits and why") {
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
  figures.add(pod("x", "a", "", "Running"));
  figures.add(pod("y", "nobody"));
  figures.add(pod("gone", "a", "", "Succeeded"));
  for (const char* name : {"p1", "p2", "p3", "p4"})
    figures.add(pod(name, "", "0/5 nodes are available: 5 Insufficient"));
  figures.add(pod("new", "", ""));
  const std::string text = figures.render("https://there:6443", kNow, {}, 100, 0);
  CAPTURE(text);
  for (const char* part :
       {"https://there:6443  2026-01-01T00:10:00Z  5 nodes: 4 ready, 2 report; 5 pods wait",
        "CPU 12.0 of 30.0 cores used (40%), memory 120Gi of 300Gi (40%)\n",
        "not counted, because 2 nodes never reported: 20.0 cores, memory 200Gi\n",
        "CPU 4.0 cores, 1.5 asked for, 1.5 used; memory 100Gi, 3.0Gi asked for, 18Gi used",
        "koord-prod         3       9.0   30%     90Gi   30%", "koord-batch        3       1.5    5%",
        "system             -       1.5", "     4   10m  0/5 nodes are available: 5 Insufficient\n",
        "d/p1, d/p2, d/p3, ...\n", "     1   10m  Unschedulable\n"})
    CHECK(holds(text, part));
  CHECK(!holds(text, "koord-mid"));
  CHECK(!holds(text, "d/p4"));
  for (const auto& [name, state] : {std::pair{"a ", "ready"},
                                    {"b ", "ready"},
                                    {"c ", "NotReady"},
                                    {"d ", "9m old"},
                                    {"e ", "no report"}}) {
    CAPTURE(name);
    bool found = false;
    for (const std::string& line : lines_of(text))
      found = found || (line.starts_with(name) && line.ends_with(state));
    CHECK(found);
  }
  CHECK(holds(text, "1.5/3.0"));
  CHECK(holds(text, "3.0Gi/20Gi"));
  using Names = std::vector<std::string>;
  CHECK(shown(text) == Names{"b", "a", "d", "c", "e"});
  CHECK(shown(figures.render("", kNow, {ClusterOrder::batch}, 100, 0)) == Names{"a", "b", "c", "d", "e"});
  CHECK(shown(figures.render("", kNow, {ClusterOrder::name, 1, 2}, 100, 0)) == Names{"a", "b"});
  CHECK(shown(figures.render("", kNow, {ClusterOrder::name, 3, 2}, 100, 0)) == Names{"e"});
  CHECK(shown(figures.render("", kNow, {ClusterOrder::name, 99, 2}, 100, 0)) == Names{"e"});
  CHECK(holds(figures.render("", kNow, {ClusterOrder::name, 2, 2}, 100, 0), "page 2 of 3: 5 nodes"));
  CHECK(parse_cluster_order("batch") == ClusterOrder::batch);
  CHECK(!parse_cluster_order("size"));
}

TEST_CASE("A reservation without a node waits, as pods do") {
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
  figures.add(reservation("there", R"({"phase":"Available","nodeName":"a"})"));
  figures.add(reservation("over", R"({"phase":"Failed"})"));
  const std::string text = figures.render("", kNow, {}, 100, 0);
  CAPTURE(text);
  for (const char* part : {"; 1 pods and 2 reservations wait", "     2   10m  no room\n",
                           "d/p, reservation pending\n", "     1  100s  nobody has looked at it yet\n"})
    CHECK(holds(text, part));
  CHECK(!holds(text, "there"));
  CHECK(!holds(text, "over"));
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
  const std::string text = figures.render("", kNow, {}, 110, 0);
  CAPTURE(text);
  std::vector<std::string> rows;
  for (const std::string& line : lines_of(text))
    if (line.find("/8.0Gi") != std::string::npos || line.starts_with("koordinator-")) rows.push_back(line);
  const auto row = [](std::string_view name, std::string_view rest) {
    return fmt::format("{:<40} {}", name, rest);
  };
  CHECK(rows == std::vector<std::string>{
                    row("wanted", "    5.0     5.0     5.0     0.0     0.0     4.0Gi/8.0Gi      2"),
                    row("borrower", "   20.0    50.0    50.0     0.0    30.0     4.0Gi/8.0Gi      0"),
                    row("keeps", "   40.0    10.0    40.0     0.0     0.0     4.0Gi/8.0Gi      0"),
                    row("lender", "   40.0    10.0    20.0    30.0     0.0     4.0Gi/8.0Gi      0"),
                    row("koordinator-default-quota",
                        "    0.0     0.0       -     0.0     0.0             0/-      0")});
  CHECK(holds(figures.render("", kNow, {}, 110, 24), "QUOTA (CPU)"));
}

TEST_CASE("A large cluster, and one with nothing in it, keep to the terminal") {
  CHECK(lines_of(ClusterFigures().render("https://there", kNow, {}, 80, 24)).size() <= 24);
  ClusterFigures figures;
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = fmt::format("node-with-a-name-that-is-longer-than-its-column-{:05}", i);
    figures.add(node(name, 1000));
    figures.add(metric(name, i % 10, 0));
  }
  for (int i = 0; i < 3'000; ++i)
    figures.add(pod(fmt::format("p{}", i), "",
                    fmt::format("reason \\u001b[2J {} of a long line that goes on and on and on and on", i)));
  for (const auto& [width, height] : {std::pair{80, 24}, {120, 50}, {200, 10}}) {
    const std::string text = figures.render("https://there", kNow, {}, static_cast<std::size_t>(width),
                                            static_cast<std::size_t>(height));
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
