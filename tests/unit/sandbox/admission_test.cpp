// Objects of built-in kinds that are made to cost: very many of whatever is compared with something.
#include "live_cluster.hpp"
#include "moment.hpp"
#include "sandbox/controllers/disruptions.hpp"
#include "support/sanitized.hpp"

using namespace koord;
using namespace koord::sandbox;

namespace {

std::string many(std::size_t count, const std::string& open, const std::string& close,
                 const std::string& item) {
  std::string out = open;
  for (std::size_t i = 0; i < count; ++i) out.append(i ? "," : "").append(fmt::format(fmt::runtime(item), i));
  return out + close;
}

}  // namespace

TEST_CASE("objects made to cost are answered in a moment") {
  struct Row {
    std::string target, body;
    unsigned status;
  };
  const std::string head = R"({"metadata":{"name":"x")";
  const std::string container = R"("spec":{"containers":[{"name":"c","image":"i")";
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  const Row rows[] = {
      {maps, head + many(test::hostile(60'000), R"(,"labels":{)", "}", R"("-bad{}-":"-")") + "}}", 422},
      {maps,
       head +
           many(test::hostile(20'000), R"(,"ownerReferences":[)", "]",
                R"({{"apiVersion":"v1","kind":"A","name":"n","uid":"u{}"}})") +
           "}}",
       201},
      {"/api/v1/nodes",
       head + "}," +
           many(test::hostile(30'000), R"("spec":{"taints":[)", "]}",
                R"({{"key":"k{}","effect":"NoExecute"}})") +
           "}",
       201},
      {"/api/v1/nodes",
       head + "}," +
           many(test::hostile(30'000), R"("spec":{"taints":[)", "]}",
                R"({{"key":"k","effect":"NoExecute"}})") +
           "}",
       422},
      {"/api/v1/namespaces/default/secrets",
       head + "}," + many(test::hostile(40'000), R"("stringData":{)", "}", R"("k{}":"v")") + "}", 201},
      {kPods,
       head + "}," + container + many(50'000, R"(,"resources":{"limits":{)", "}}", R"("e.io/r{}":"1")") +
           "}]}}",
       413},
      {kPods,
       head + "}," + container +
           many(test::hostile(10'000), R"(,"resources":{"limits":{)", "}}", R"("e.io/r{}":"1")") + "}]}}",
       201},
      {kPods, head + "}," + many(test::hostile(200'000), R"("spec":{"containers":[)", "]", "{{}}") + "}}",
       413},
      {kPods, head + "}," + many(20'000, R"("spec":{"containers":[)", "]", "{{}}") + "}}", 413},
      {kPods,
       head + "}," +
           many(test::hostile(30'000), R"("spec":{"tolerations":[)", "]", R"({{"key":"-","operator":"x"}})") +
           "}}",
       422},
  };
  TestCluster cluster;
  for (const Row& row : rows) {
    CAPTURE(row.target, row.body.substr(0, 100));
    const Moment moment;
    auto answer = cluster.call("POST", row.target, row.body);
    CAPTURE(answer.body.substr(0, 300));
    CHECK(answer.status == row.status);
    if (answer.status == 422) CHECK(answer.text("message").ends_with("more errors]"));
    if (answer.status == 201) CHECK(cluster.call("DELETE", row.target + "/x").status == 200);
  }
}

TEST_CASE("an update's tolerations are compared in a moment") {
  TestCluster cluster;
  const std::string tolerations =
      many(test::hostile(8'000), R"(,"tolerations":[)", "]", R"({{"key":"k{}","operator":"Exists"}})");
  REQUIRE(cluster.call("POST", kPods, TestCluster::pod("p", tolerations)).status == 201);
  const Moment moment;
  auto added =
      cluster.call("PATCH", kPods + "/p",
                   R"([{"op":"add","path":"/spec/tolerations/0","value":{"key":"new","operator":"Exists"}}])",
                   "application/json-patch+json");
  CHECK(added.status == 200);
  auto removed = cluster.call("PATCH", kPods + "/p", R"([{"op":"remove","path":"/spec/tolerations/5"}])",
                              "application/json-patch+json");
  CHECK(removed.status == 422);
}

TEST_CASE("a row of a pod with very many containers is printed in a moment") {
  TestCluster cluster;
  REQUIRE(
      cluster
          .call(
              "POST", kPods,
              R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],"initContainers":)" +
                  many(3'000, "[", "]", R"({{"name":"i{}","image":"i","restartPolicy":"Always"}})") +
                  R"(,"readinessGates":)" + many(5'000, "[", "]", R"({{"conditionType":"t{}"}})") + "}}")
          .status == 201);
  REQUIRE(cluster
              .call("PATCH", kPods + "/p/status",
                    R"({"status":{"initContainerStatuses":)" +
                        many(3'000, "[", "]",
                             R"({{"name":"i{}","started":true,"ready":true,"state":{{"running":{{}}}}}})") +
                        R"(,"conditions":)" + many(5'000, "[", "]", R"({{"type":"t{}","status":"True"}})") +
                        "}}",
                    "application/merge-patch+json")
              .status == 200);
  const Moment moment;
  auto table =
      cluster.call("GET", kPods, "", "application/json", "application/json;as=Table;v=v1;g=meta.k8s.io");
  CHECK(table.body.find("\"3000/3001\"") != std::string::npos);
  CHECK(table.body.find("\"5000/5000\"") != std::string::npos);
}

TEST_CASE("very many pods: a namespace ends, nodes come late, a budget is asked, all in a moment") {
  const int count = static_cast<int>(test::hostile(3'000)), nodes = count / 10;
  LiveCluster cluster(0);
  const Disruptions disruptions{cluster.verbs};
  REQUIRE(cluster.call("POST", "/api/v1/namespaces", R"({"metadata":{"name":"team"}})").status == 201);
  const std::string pods = "/api/v1/namespaces/team/pods";
  for (int i = 0; i < count; ++i)
    REQUIRE(
        cluster
            .call(
                "POST", pods,
                fmt::format(
                    R"({{"metadata":{{"name":"p{0}","labels":{{"app":"x"}}}},"spec":{{"nodeName":"node-{1:04}",)"
                    R"("containers":[{{"name":"c","image":"i"}}]}}}})",
                    i, i % nodes))
            .status == 201);
  const Moment moment(60);
  REQUIRE(make_nodes(cluster.verbs, nodes, "", {}).has_value());
  cluster.settle();
  CHECK(cluster.call("GET", fmt::format("{}/p{}", pods, count - 1)).text("status", "phase") == "Running");
  const std::string budgets = "/apis/policy/v1/namespaces/team/poddisruptionbudgets";
  const auto budget = [&](std::string_view name) {
    return fmt::format(
        R"({{"metadata":{{"name":"{}"}},"spec":{{"minAvailable":{},"selector":{{"matchLabels":{{"app":"x"}}}}}}}})",
        name, count - 1);
  };
  REQUIRE(cluster.call("POST", budgets, budget("a")).status == 201);
  cluster.settle();
  CHECK(cluster.call("POST", pods + "/p0/eviction", "{}").status == 201);
  CHECK(cluster.call("POST", pods + "/p1/eviction", "{}").status == 429);
  REQUIRE(cluster.call("POST", budgets, budget("b")).status == 201);
  CHECK(cluster.call("POST", pods + "/p1/eviction", "{}").text("message") ==
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.");
  CHECK(cluster.call("DELETE", "/api/v1/namespaces/team").status == 200);
  cluster.clock.advance(std::chrono::seconds{60});
  CHECK(cluster.call("GET", "/api/v1/namespaces/team").status == 404);
}

TEST_CASE("what a container may ask for, and in which words it may not") {
  struct Row {
    const char *requests, *limits, *wrong;
  };
  TestCluster cluster;
  const char* const pages = R"("cpu":"1","hugepages-2Mi":"2Mi")";
  for (const Row& row : {
           // A request may be below its limit of what Kubernetes takes for its own, and of nothing else.
           Row{R"("cpu":"1")", R"("cpu":"2")", ""},
           {R"("kubernetes.io/batch-cpu":"500")", R"("kubernetes.io/batch-cpu":"1000")", ""},
           {R"("kubernetes.io/batch-memory":"1Gi")", R"("kubernetes.io/batch-memory":"2Gi")", ""},
           {R"("node.kubernetes.io/x":"1")", R"("node.kubernetes.io/x":"2")", ""},
           {R"("kubernetes.io/batch-cpu":"2k")", R"("kubernetes.io/batch-cpu":"1k")",
            "must be less than or equal to kubernetes.io/batch-cpu limit of 1k"},
           {R"("koordinator.sh/gpu-core":"50")", R"("koordinator.sh/gpu-core":"100")",
            "must be equal to koordinator.sh/gpu-core limit of 100"},
           {pages, R"("cpu":"1","hugepages-2Mi":"4Mi")", "must be equal to hugepages-2Mi limit of 4Mi"},
           // Nor may there be none.
           {R"("kubernetes.io/batch-cpu":"500")", "", ""},
           {R"("koordinator.sh/gpu-core":"50")", "",
            "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable "
            "resources"},
           {pages, "", "Limit must be set for non overcommitable resources"},
           {"", R"("koordinator.sh/gpu-core":"50")", ""},
           // Huge pages come with memory or CPUs, and whole.
           {"", pages, ""},
           {"", R"("hugepages-2Mi":"2Mi")",
            "spec.containers[0].resources: Forbidden: HugePages require cpu or memory"},
           {"", R"("memory":"1Gi","hugepages-2Mi":"3Mi")",
            "spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: \"3Mi\": 3Mi is not positive "
            "integer multiple of hugepages-2Mi"},
           {"", R"("koordinator.sh/gpu-core":"500m")", R"(Invalid value: "500m": must be an integer)"},
           {"", R"("gpus":"1")", "limits[gpus]: Invalid value: \"gpus\": must be a standard resource type"},
           {"", R"("pods":"1")", "Invalid value: \"pods\": must be a standard resource for containers"},
       }) {
    CAPTURE(row.requests, row.limits);
    const auto answer = cluster.call(
        "POST", kPods,
        fmt::format(R"({{"metadata":{{"name":"p"}},"spec":{{"containers":[{{"name":"c","image":"i",)"
                    R"("resources":{{"requests":{{{}}},"limits":{{{}}}}}}}]}}}})",
                    row.requests, row.limits));
    CHECK(answer.status == (*row.wrong ? 422 : 201));
    CHECK_THAT(std::string(answer.text("message")), Catch::Contains(row.wrong));
    if (answer.status == 201) cluster.call("DELETE", kPods + "/p");
  }
}
