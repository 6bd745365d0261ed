// What `kubectl get` shows of built-in kinds: a cell for each column, ages as Go prints them, rows as
// kube-apiserver prints them.
#include "sandbox/columns/columns.hpp"

#include <catch2/catch.hpp>

#include "cluster.hpp"

using namespace koord;
using namespace koord::sandbox;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

constexpr const char* kTable = "application/json;as=Table;v=v1;g=meta.k8s.io";

std::vector<std::string> cells_of(const Kind& kind, std::string_view object, WallTime now = {}) {
  json::Document doc;
  REQUIRE(doc.read(object).has_value());
  std::vector<std::string> cells;
  kind.cells(doc, now, cells);
  return cells;
}

std::string row(const TestCluster& cluster, std::string_view group, std::string_view resource,
                std::string_view object) {
  const WallTime now = api::Time::parse("2026-01-02T00:02:00Z")->wall();
  return fmt::format("{}", fmt::join(cells_of(cluster.registry.get(group, resource), object, now), " "));
}

}  // namespace

TEST_CASE("ages are Go's human durations") {
  struct Row {
    seconds age;
    const char* shown;
  };
  const hours day(24), year(24 * 365);
  const Row rows[] = {{seconds(-2), "<invalid>"},
                      {seconds(-1), "0s"},
                      {seconds(0), "0s"},
                      {seconds(119), "119s"},
                      {seconds(120), "2m"},
                      {seconds(190), "3m10s"},
                      {minutes(9) + seconds(59), "9m59s"},
                      {minutes(10) + seconds(59), "10m"},
                      {minutes(179), "179m"},
                      {hours(3), "3h"},
                      {hours(7) + minutes(59), "7h59m"},
                      {hours(8) + minutes(59), "8h"},
                      {hours(47), "47h"},
                      {2 * day, "2d"},
                      {2 * day + hours(1), "2d1h"},
                      {8 * day + hours(2), "8d"},
                      {2 * year - hours(1), "729d"},
                      {2 * year, "2y"},
                      {2 * year + 25 * day, "2y25d"},
                      {8 * year + 2 * day, "8y"}};
  for (const Row& row : rows) {
    CAPTURE(row.age.count());
    CHECK(human_duration(row.age) == row.shown);
  }
  CHECK(age_of("", WallTime()) == "<unknown>");
  CHECK(age_of("yesterday", WallTime()) == "<unknown>");
}

TEST_CASE("each kind has a cell for each column, whatever its objects have") {
  const TestCluster cluster;
  int with_cells = 0;
  for (const Registry::KindPtr& kind : cluster.registry.all()) {
    if (kind->cells == nullptr) continue;
    ++with_cells;
    CAPTURE(kind->resource, kind->group);
    for (
        const char* object :
        {"{}", R"({"metadata":{},"spec":{},"status":{}})", R"({"metadata":7,"spec":[1],"status":"x"})",
         R"({"metadata":{"name":7,"labels":[1],"annotations":"x","ownerReferences":{"a":1}},"data":[1],)"
         R"("spec":{"template":{"spec":{"containers":"x"}},"selector":[1],"ports":{},"drivers":7,"capacity":[]},)"
         R"("status":{"conditions":"x","addresses":{},"containerStatuses":[7],"capacity":7}})"}) {
      CAPTURE(object);
      const std::vector<std::string> cells = cells_of(*kind, object);
      CHECK(cells.size() == kind->columns.size());
      for (const std::string& cell : cells) CHECK(json::parse(cell).has_value());
    }
  }
  CHECK(with_cells == 26);
}

TEST_CASE("rows of the core group") {
  const TestCluster cluster;
  const std::string born = R"("creationTimestamp":"2026-01-02T00:00:00Z")";
  CHECK(
      row(cluster, "", "nodes",
          R"({"metadata":{"name":"a",)" + born +
              R"(,"labels":{"node-role.kubernetes.io/worker":"","kubernetes.io/role":"infra","x":"y"}},)"
              R"("spec":{"unschedulable":true},"status":{"conditions":[{"type":"Ready","status":"True"}],)"
              R"("addresses":[{"type":"InternalIP","address":"10.0.0.1"}],)"
              R"("nodeInfo":{"kubeletVersion":"v1.35.4","osImage":"Debian"}}})") ==
      R"("a" "Ready,SchedulingDisabled" "worker,infra" "2m" "v1.35.4" "10.0.0.1" "<none>" "Debian" "<unknown>" "<unknown>")");
  CHECK(row(cluster, "", "services",
            R"({"metadata":{"name":"s",)" + born +
                R"(},"spec":{"type":"ClusterIP","clusterIP":"10.1.0.1","selector":{"app":"web"},)"
                R"("ports":[{"port":80,"protocol":"TCP"},{"port":53,"protocol":"UDP"}]}})") ==
        R"("s" "ClusterIP" "10.1.0.1" "<none>" "80/TCP,53/UDP" "2m" "app=web")");
  CHECK(row(cluster, "", "secrets", R"({"metadata":{"name":"s"},"type":"Opaque","data":{"a":"","b":""}})") ==
        R"("s" "Opaque" 2 "<unknown>")");
  CHECK(row(cluster, "", "configmaps",
            R"({"metadata":{"name":"c"},"data":{"a":""},"binaryData":{"b":""}})") == R"("c" 2 "<unknown>")");
  // An event of the newer form: when it was seen first and last is said by its series.
  CHECK(
      row(cluster, "", "events",
          R"({"metadata":{"name":"e"},"eventTime":"2026-01-02T00:00:00.000000Z","type":"Warning","reason":"Failed",)"
          R"("involvedObject":{"kind":"Pod","name":"p","fieldPath":"spec"},"message":"no\n \n",)"
          R"("series":{"count":7,"lastObservedTime":"2026-01-02T00:01:59.000000Z"},)"
          R"("source":{"component":"kubelet","host":"a"}})") ==
      R"("1s" "Warning" "Failed" "pod/p" "spec" "kubelet, a" "no" "2m" 7 "e")");
}

TEST_CASE("rows of what makes pods and of what rules over others") {
  const TestCluster cluster;
  const std::string tail =
      R"("selector":{"matchLabels":{"app":"w"}},"template":{"spec":{"containers":[{"name":"a","image":"i:1"},{"name":"b","image":"j"}]}})";
  CHECK(row(cluster, "apps", "deployments",
            R"({"metadata":{"name":"d"},"spec":{"replicas":3,)" + tail +
                R"(},"status":{"readyReplicas":1,"updatedReplicas":2,"availableReplicas":1}})") ==
        R"("d" "1/3" 2 1 "<unknown>" "a,b" "i:1,j" "app=w")");
  CHECK(row(cluster, "apps", "replicasets",
            R"({"metadata":{"name":"r"},"spec":{"replicas":3,)" + tail + R"(},"status":{"replicas":2}})") ==
        R"("r" 3 2 0 "<unknown>" "a,b" "i:1,j" "app=w")");
  CHECK(
      row(cluster, "apps", "controllerrevisions",
          R"({"metadata":{"name":"r","ownerReferences":[{"controller":false,"kind":"Job","name":"no"},)"
          R"({"controller":true,"apiVersion":"apps/v1","kind":"StatefulSet","name":"s"}]},"revision":4})") ==
      R"("r" "statefulset.apps/s" 4 "<unknown>")");
  const std::string times = R"("startTime":"2026-01-02T00:00:00Z","completionTime":"2026-01-02T00:00:30Z")";
  CHECK(row(cluster, "batch", "jobs",
            R"({"metadata":{"name":"j"},"spec":{"completions":5},"status":{"succeeded":5,)" + times +
                R"(,"conditions":[{"type":"Complete","status":"True"}]}})") ==
        R"("j" "Complete" "5/5" "30s" "<unknown>" "" "" "<none>")");
  CHECK(row(cluster, "batch", "jobs",
            R"({"metadata":{"name":"j","deletionTimestamp":"x"},"spec":{"parallelism":3}})") ==
        R"("j" "Terminating" "0/1 of 3" "" "<unknown>" "" "" "<none>")");
  CHECK(row(cluster, "policy", "poddisruptionbudgets",
            R"({"metadata":{"name":"b"},"spec":{"minAvailable":"50%"},"status":{"disruptionsAllowed":2}})") ==
        R"("b" "50%" "N/A" 2 "<unknown>")");
  CHECK(row(cluster, "policy", "poddisruptionbudgets",
            R"({"metadata":{"name":"b"},"spec":{"maxUnavailable":1}})") == R"("b" "N/A" "1" 0 "<unknown>")");
  CHECK(row(cluster, "scheduling.k8s.io", "priorityclasses",
            R"({"metadata":{"name":"p"},"value":-7,"globalDefault":true,"preemptionPolicy":"Never"})") ==
        R"("p" -7 true "<unknown>" "Never")");
}

TEST_CASE("both groups of events are printed alike") {
  TestCluster cluster;
  REQUIRE(
      cluster
          .call(
              "POST", "/api/v1/namespaces/default/events",
              R"({"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","name":"p","namespace":"default"},)"
              R"("reason":"Why","message":"because","type":"Normal"})")
          .status == 201);
  const auto cells = [&](const char* path) {
    const auto table = cluster.call("GET", path, "", "application/json", kTable);
    return json::to_text(*find((*find(table.doc, "rows"))[0], "cells"));
  };
  CHECK(cells("/api/v1/namespaces/default/events") ==
        cells("/apis/events.k8s.io/v1/namespaces/default/events"));
  CHECK(cells("/api/v1/namespaces/default/events").find("because") != std::string::npos);
}
