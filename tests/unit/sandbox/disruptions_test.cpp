// Disruption budgets: their status as pods come and go, and what evictions make of it.
#include <catch2/catch.hpp>

#include "live_cluster.hpp"
#include "sandbox/controllers/disruptions.hpp"

using namespace koord;
using namespace koord::sandbox;

namespace {

const std::string kBudgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

struct BudgetCluster : LiveCluster {
  Disruptions disruptions{verbs};

  /// `spec`: members of the budget's; it selects app=x.
  Answer budget(const std::string& spec, const std::string& name = "b") {
    return call(
        "POST", kBudgets,
        fmt::format(
            R"({{"metadata":{{"name":"{}"}},"spec":{{{},"selector":{{"matchLabels":{{"app":"x"}}}}}}}})",
            name, spec));
  }
  void pod(const std::string& name, const std::string& labels = R"("app":"x")") {
    REQUIRE(
        call("POST", kPods,
             fmt::format(R"({{"metadata":{{"name":"{}","labels":{{{}}}}},"spec":{{"nodeName":"node-0000",)"
                         R"("containers":[{{"name":"c","image":"i"}}]}}}})",
                         name, labels))
            .status == 201);
  }
  void replicas(int count) {
    REQUIRE(
        call("POST", "/apis/apps/v1/namespaces/default/deployments",
             fmt::format(R"({{"metadata":{{"name":"d"}},"spec":{{"replicas":{},"selector":{{"matchLabels":)"
                         R"({{"app":"x"}}}},"template":{{"metadata":{{"labels":{{"app":"x"}}}},"spec":)"
                         R"({{"nodeName":"node-0000","containers":[{{"name":"c","image":"i"}}]}}}}}}}})",
                         count))
            .status == 201);
    settle();
  }
  /// "expected/desired/healthy/allowed reason"
  std::string status(const std::string& name = "b") {
    const auto got = call("GET", kBudgets + "/" + name);
    const json::Value* conditions = find(got.doc, "status", "conditions");
    return fmt::format("{}/{}/{}/{} {}", got.text("status", "expectedPods"),
                       got.text("status", "desiredHealthy"), got.text("status", "currentHealthy"),
                       got.text("status", "disruptionsAllowed"),
                       is_empty(conditions) ? "" : text_at((*conditions)[0], "reason"));
  }
  Answer evict(const std::string& name, const std::string& body = "{}") {
    return call("POST", kPods + "/" + name + "/eviction", body);
  }
  static std::string cause(const Answer& answer) {
    const json::Value* causes = find(answer.doc, "details", "causes");
    return is_empty(causes) ? "" : std::string(text_at((*causes)[0], "message"));
  }
};

}  // namespace

TEST_CASE("a budget's status follows its pods") {
  struct Row {
    const char *spec, *status;
  };
  const Row rows[] = {
      {R"("minAvailable":2)", "3/2/3/1 SufficientPods"},
      {R"("minAvailable":3)", "3/3/3/0 InsufficientPods"},
      {R"("minAvailable":"50%")", "3/2/3/1 SufficientPods"},
      {R"("maxUnavailable":1)", "3/2/3/1 SufficientPods"},
      {R"("maxUnavailable":"50%")", "3/1/3/2 SufficientPods"},
      {R"("maxUnavailable":7)", "3/0/3/3 SufficientPods"},
      {R"("unhealthyPodEvictionPolicy":"AlwaysAllow")", "0/0/3/0 InsufficientPods"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.spec);
    BudgetCluster cluster;
    REQUIRE(cluster.budget(row.spec).status == 201);
    CHECK(cluster.status() == "/// ");
    cluster.replicas(3);
    CHECK(cluster.status() == row.status);
    CHECK(cluster.call("GET", kBudgets + "/b").text("status", "observedGeneration") == "1");
  }
}

TEST_CASE("pods without a controller count where the budget names a number") {
  BudgetCluster cluster;
  cluster.pod("p0");
  cluster.pod("p1");
  cluster.pod("other", R"("app":"y")");
  REQUIRE(cluster.budget(R"("minAvailable":1)", "number").status == 201);
  REQUIRE(cluster.budget(R"("maxUnavailable":1)", "share").status == 201);
  cluster.settle();
  CHECK(cluster.status("number") == "2/1/2/1 SufficientPods");
  CHECK(cluster.status("share") == "0/0/2/0 InsufficientPods");
  REQUIRE(cluster
              .call("PATCH", kPods + "/p1", R"({"metadata":{"labels":{"app":"y"}}})",
                    "application/merge-patch+json")
              .status == 200);
  cluster.settle();
  CHECK(cluster.status("number") == "1/1/1/0 InsufficientPods");
  REQUIRE(cluster
              .call("PATCH", kBudgets + "/number", R"({"spec":{"selector":{"matchLabels":{"app":"y"}}}})",
                    "application/merge-patch+json")
              .status == 200);
  cluster.settle();
  CHECK(cluster.status("number") == "2/1/2/1 SufficientPods");
  CHECK(cluster.call("GET", kBudgets + "/number").text("status", "observedGeneration") == "2");
}

TEST_CASE("a budget of pods whose controller has no scale allows nothing, and says why") {
  BudgetCluster cluster;
  REQUIRE(cluster.budget(R"("maxUnavailable":1)").status == 201);
  const auto owner =
      cluster.call("POST", "/api/v1/namespaces/default/configmaps", R"({"metadata":{"name":"owner"}})");
  REQUIRE(owner.status == 201);
  REQUIRE(
      cluster
          .call(
              "POST", kPods,
              fmt::format(
                  R"({{"metadata":{{"name":"p","labels":{{"app":"x"}},"ownerReferences":[{{)"
                  R"("apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"{}","controller":true}}]}},)"
                  R"("spec":{{"containers":[{{"name":"c","image":"i"}}]}}}})",
                  owner.text("metadata", "uid")))
          .status == 201);
  cluster.clock.advance(std::chrono::milliseconds{500});
  const auto got = cluster.call("GET", kBudgets + "/b");
  const json::Value* conditions = find(got.doc, "status", "conditions");
  REQUIRE(!is_empty(conditions));
  CHECK(text_at((*conditions)[0], "reason") == "SyncFailed");
  CHECK(text_at((*conditions)[0], "message") == "configmaps does not implement the scale subresource");
  CHECK(got.text("status", "disruptionsAllowed") == "0");
}

TEST_CASE("a disruption budget holds evictions back") {
  BudgetCluster cluster;
  REQUIRE(cluster.budget(R"("minAvailable":1)").status == 201);
  cluster.pod("p0");
  cluster.pod("p1");
  CHECK(cluster.evict("p0", R"({"deleteOptions":{"dryRun":["All"]}})").status ==
        201);  // pending: no one counts it
  cluster.settle();
  CHECK(cluster.status() == "2/1/2/1 SufficientPods");
  CHECK(cluster.evict("p0", R"({"deleteOptions":{"dryRun":["All"]}})").status == 201);
  CHECK(cluster.status() == "2/1/2/1 SufficientPods");
  CHECK(cluster.evict("p0").status == 201);
  // Written down by the eviction itself, before any controller has looked.
  CHECK(cluster.status() == "2/1/2/0 InsufficientPods");
  CHECK(cluster.call("GET", kBudgets + "/b").text("status", "disruptedPods", "p0") != "");
  CHECK(cluster.call("GET", kPods + "/p0").text("metadata", "deletionTimestamp") != "");
  const auto held = cluster.evict("p1");
  CHECK(held.status == 429);
  CHECK(held.text("message") == "Cannot evict pod as it would violate the pod's disruption budget.");
  cluster.settle();
  CHECK(cluster.status() == "1/1/1/0 InsufficientPods");
  CHECK(cluster.call("GET", kBudgets + "/b").text("status", "disruptedPods").empty());
  CHECK(BudgetCluster::cause(cluster.evict("p1")) ==
        "The disruption budget b needs 1 healthy pods and has 1 currently");

  REQUIRE(
      cluster.call("PATCH", kBudgets + "/b", R"({"spec":{"minAvailable":0}})", "application/merge-patch+json")
          .status == 200);
  const auto early = cluster.evict("p1");
  CHECK(early.status == 429);
  CHECK(BudgetCluster::cause(early) == "The disruption budget b is still being processed by the server.");
  cluster.clock.advance(std::chrono::milliseconds{100});
  CHECK(cluster.evict("p1").status == 201);
}

TEST_CASE("an evicted pod that does not end counts again after two minutes") {
  BudgetCluster cluster;
  REQUIRE(cluster.budget(R"("minAvailable":1)").status == 201);
  cluster.pod("p0");
  cluster.pod("p1");
  cluster.settle();
  // What is left of an eviction whose deletion failed.
  REQUIRE(
      cluster
          .call("PATCH", kBudgets + "/b/status",
                fmt::format(R"({{"status":{{"disruptedPods":{{"p0":"{}"}}}}}})", cluster.verbs.now_text()),
                "application/merge-patch+json")
          .status == 200);
  cluster.settle();
  CHECK(cluster.status() == "2/1/1/0 InsufficientPods");
  cluster.clock.advance(std::chrono::seconds{110});
  CHECK(cluster.status() == "2/1/1/0 InsufficientPods");
  cluster.clock.advance(std::chrono::seconds{20});
  CHECK(cluster.status() == "2/1/2/1 SufficientPods");
}

TEST_CASE("pods that are not healthy are evicted as their budget says") {
  struct Row {
    const char* spec;
    unsigned status;
  };
  const Row rows[] = {
      {R"("minAvailable":1)", 201},  // healthy enough without it
      {R"("minAvailable":2)", 429},
      {R"("minAvailable":2,"unhealthyPodEvictionPolicy":"IfHealthyBudget")", 429},
      {R"("minAvailable":2,"unhealthyPodEvictionPolicy":"AlwaysAllow")", 201},
  };
  for (const Row& row : rows) {
    CAPTURE(row.spec);
    BudgetCluster cluster;
    cluster.pod("sick");
    cluster.pod("well");
    cluster.settle();
    REQUIRE(cluster
                .call("PATCH", kPods + "/sick/status",
                      R"({"status":{"conditions":[{"type":"Ready","status":"False"}]}})",
                      "application/strategic-merge-patch+json")
                .status == 200);
    REQUIRE(cluster.budget(row.spec).status == 201);
    cluster.clock.advance(std::chrono::milliseconds{100});
    CHECK(cluster.evict("sick").status == row.status);
  }
}

TEST_CASE("budgets are refused in Kubernetes' words") {
  struct Row {
    const char *spec, *why;
  };
  const Row rows[] = {
      {R"("minAvailable":-1)", "spec.minAvailable: Invalid value: -1: must be greater than or equal to 0"},
      {R"("minAvailable":"101%")",
       "spec.minAvailable: Invalid value: \"101%\": must not be greater than 100%"},
      {R"("maxUnavailable":"many")",
       "spec.maxUnavailable: Invalid value: \"many\": a valid percent string must be"},
      {R"("unhealthyPodEvictionPolicy":"Never")",
       "spec.unhealthyPodEvictionPolicy: Unsupported value: \"Never\": supported values: \"AlwaysAllow\", "
       "\"IfHealthyBudget\""},
      {R"("minAvailable":1,"maxUnavailable":1)", "minAvailable and maxUnavailable cannot be both set"},
  };
  TestCluster cluster;
  for (const Row& row : rows) {
    const auto refused = cluster.call(
        "POST", kBudgets, fmt::format(R"({{"metadata":{{"name":"b"}},"spec":{{{}}}}})", row.spec));
    CAPTURE(refused.body);
    CHECK(refused.status == 422);
    CHECK(refused.text("message").find(row.why) != std::string::npos);
  }
}
