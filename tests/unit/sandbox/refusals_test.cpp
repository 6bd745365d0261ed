// What kube-apiserver refuses of built-in kinds, in its words; what it fills in and where.
#include <catch2/catch.hpp>

#include "cluster.hpp"

using namespace koord;
using namespace koord::sandbox;

namespace {

struct Row {
  const char* path;
  const char* object;
  const char* message;  // a part of it
};

constexpr const char* kPodsHere = "/api/v1/namespaces/default/pods";
constexpr const char* kNodes = "/api/v1/nodes";
constexpr const char* kPriorities = "/apis/scheduling.k8s.io/v1/priorityclasses";
constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
constexpr const char* kDeployments = "/apis/apps/v1/namespaces/default/deployments";

// A pod whose spec has `more` beside a container; a container with `more`.
std::string pod(std::string_view more) {
  return fmt::format(
      R"({{"metadata":{{"name":"p"}},"spec":{{"containers":[{{"name":"c","image":"i"}}],{}}}}})", more);
}
std::string container(std::string_view more) {
  return fmt::format(
      R"({{"metadata":{{"name":"p"}},"spec":{{"containers":[{{"name":"c","image":"i",{}}}]}}}})", more);
}

}  // namespace

TEST_CASE("pods are refused in Kubernetes' words") {
  TestCluster cluster;
  const std::pair<std::string, const char*> rows[] = {
      {container(R"("imagePullPolicy":"Sometimes")"),
       R"(spec.containers[0].imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", "IfNotPresent", "Never")"},
      {container(R"("ports":[{"name":"a"}])"), "spec.containers[0].ports[0].containerPort: Required value"},
      {container(R"("ports":[{"containerPort":65536}])"),
       "spec.containers[0].ports[0].containerPort: Invalid value: 65536: must be between 1 and 65535, "
       "inclusive"},
      {container(R"("ports":[{"containerPort":80,"hostPort":-1}])"),
       "spec.containers[0].ports[0].hostPort: Invalid value: -1: must be between 1 and 65535, inclusive"},
      {pod(R"("tolerations":[{"operator":"Equal","value":"x"}])"),
       "spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when `key` is empty"},
      {pod(R"("tolerations":[{"key":"a","operator":"Exists","value":"x"}])"),
       "spec.tolerations[0].operator: Invalid value: \"x\": value must be empty when `operator` is 'Exists'"},
      {pod(R"("tolerations":[{"key":"a","operator":"Is"}])"),
       R"(spec.tolerations[0].operator: Unsupported value: "Is")"},
      {pod(R"("tolerations":[{"key":"a","effect":"Never"}])"),
       R"(spec.tolerations[0].effect: Unsupported value: "Never")"},
      {pod(R"("tolerations":[{"key":"a","operator":"Exists","effect":"NoSchedule","tolerationSeconds":3}])"),
       "effect must be 'NoExecute' when `tolerationSeconds` is set"},
      {pod(R"("restartPolicy":"Sometimes")"), R"(spec.restartPolicy: Unsupported value: "Sometimes")"},
      {pod(R"("dnsPolicy":"Mine")"), R"(spec.dnsPolicy: Unsupported value: "Mine")"},
      {pod(R"("terminationGracePeriodSeconds":-1)"),
       "spec.terminationGracePeriodSeconds: Invalid value: -1: must be greater than or equal to 0"},
      {pod(R"("runtimeClassName":"none")"), R"(pod rejected: RuntimeClass "none" not found)"},
      {pod(R"("priority":7)"),
       "the integer value of priority (7) must not be provided in pod spec; priority admission controller "
       "computed 0"},
  };
  for (const auto& [body, message] : rows) {
    CAPTURE(body);
    const auto answer = cluster.call("POST", kPodsHere, body);
    CHECK(answer.status / 100 == 4);
    CHECK_THAT(answer.text("message"), Catch::Contains(message));
  }
}

TEST_CASE("other kinds are refused in Kubernetes' words") {
  TestCluster cluster;
  const Row rows[] = {
      {kNodes, R"({"metadata":{"name":"n"},"spec":{"taints":[{"key":"a"}]}})",
       "taints[0].effect: Required value"},
      {kNodes, R"({"metadata":{"name":"n"},"spec":{"taints":[{"key":"a","effect":"Never"}]}})",
       R"(taints[0].effect: Unsupported value: "Never")"},
      {kNodes,
       R"({"metadata":{"name":"n"},"spec":{"taints":[{"key":"a","effect":"NoSchedule"},{"key":"a","effect":"NoSchedule"}]}})",
       "taints[1]: Duplicate value"},
      {kNodes, R"({"metadata":{"name":"n"},"spec":{"taints":[{"key":"a b","effect":"NoSchedule"}]}})",
       R"(taints[0].key: Invalid value: "a b")"},
      {kPriorities, R"({"metadata":{"name":"system-mine"},"value":1})",
       "priority class names with 'system-' prefix are reserved for system use only"},
      {kPriorities, R"({"metadata":{"name":"p"},"value":1000000001})",
       "maximum allowed value of a user defined priority is 1000000000"},
      {kPriorities, R"({"metadata":{"name":"p"},"value":1,"preemptionPolicy":"Maybe"})",
       R"(preemptionPolicy: Unsupported value: "Maybe")"},
      {kLeases, R"({"metadata":{"name":"l"},"spec":{"leaseDurationSeconds":0}})",
       "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"},
      {kLeases, R"({"metadata":{"name":"l"},"spec":{"leaseTransitions":-1}})",
       "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"},
      {kDeployments, R"({"metadata":{"name":"d"},"spec":{"template":{}}})", "spec.selector: Required value"},
      {kDeployments, R"({"metadata":{"name":"d"},"spec":{"selector":{},"template":{}}})",
       "empty selector is invalid for deployment"},
      {kDeployments,
       R"({"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"c"}}}}})",
       "`selector` does not match template `labels`"},
      {"/apis/apps/v1/namespaces/default/statefulsets", R"({"metadata":{"name":"s"},"spec":7})",
       "json: cannot unmarshal number into Go struct field StatefulSet.spec of type v1.StatefulSetSpec"},
      {"/api/v1/namespaces/default/pods", R"({"metadata":{"name":"p","resourceVersion":"7"}})",
       "resourceVersion should not be set on objects to be created"},
      {"/api/v1/namespaces/default/pods", R"({"apiVersion":"v2","kind":"Pod","metadata":{"name":"p"}})",
       "the API version in the data (v2) does not match the expected API version (v1)"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.path, row.object);
    const auto answer = cluster.call("POST", row.path, row.object);
    CHECK(answer.status / 100 == 4);
    CHECK_THAT(answer.text("message"), Catch::Contains(row.message));
  }
}

TEST_CASE("what may not change is refused, what names another object too") {
  TestCluster cluster;
  REQUIRE(cluster.call("POST", kPriorities, R"({"metadata":{"name":"p"},"value":7,"globalDefault":true})")
              .status == 201);
  const auto put = [&](const std::string& path, const std::string& body) {
    return cluster.call("PUT", path, body).text("message");
  };
  const std::string mine = fmt::format("{}/p", kPriorities);
  CHECK_THAT(put(mine, R"({"metadata":{"name":"p"},"value":8})"),
             Catch::Contains("value: Forbidden: may not be changed in an update."));
  CHECK_THAT(put(mine, R"({"metadata":{"name":"p"},"value":7,"preemptionPolicy":"Never"})"),
             Catch::Contains("preemptionPolicy: Invalid value: \"Never\": field is immutable"));
  CHECK_THAT(put(mine, R"({"metadata":{"name":"q"},"value":7})"),
             Catch::Contains("the name of the object (q) does not match the name on the URL (p)"));
  // A pod without a class gets the default one: of several that with the lowest value.
  REQUIRE(cluster.call("POST", kPriorities, R"({"metadata":{"name":"low"},"value":3,"globalDefault":true})")
              .status == 201);
  const auto made = cluster.call("POST", kPodsHere, pod(R"("schedulingGates":[{"name":"a/b"}])"));
  REQUIRE(made.status == 201);
  CHECK(made.text("spec", "priorityClassName") == "low");
  CHECK(made.text("spec", "priority") == "3");
  CHECK_THAT(made.body, Catch::Contains("Scheduling is blocked due to non-empty scheduling gates"));
  CHECK_THAT(cluster.call("POST", fmt::format("{}/p/binding", kPodsHere), R"({"target":{"name":"n"}})")
                 .text("message"),
             Catch::Contains("has non-empty .spec.schedulingGates"));
}

TEST_CASE("a secret's plain values are encoded, and stay where it is immutable") {
  TestCluster cluster;
  const std::string secrets = "/api/v1/namespaces/default/secrets";
  const auto made = cluster.call(
      "POST", secrets,
      R"({"metadata":{"name":"s"},"data":{"a":"eA=="},"stringData":{"b":"two"},"immutable":true})");
  REQUIRE(made.status == 201);
  CHECK(made.text("type") == "Opaque");
  CHECK(made.text("data") == R"({"a":"eA==","b":"dHdv"})");
  CHECK(made.text("stringData").empty());
  CHECK_THAT(
      cluster.call("PUT", secrets + "/s", R"({"metadata":{"name":"s"},"data":{"a":"eQ=="},"immutable":true})")
          .text("message"),
      Catch::Contains("field is immutable when `immutable` is set"));
}

TEST_CASE("who asks about tokens and rights is answered as the one user who may do everything") {
  TestCluster cluster;
  const auto review = [&](const char* kind, const char* body) {
    return cluster.call("POST", fmt::format("/apis/{}", kind), body).body;
  };
  CHECK_THAT(review("authentication.k8s.io/v1/tokenreviews", R"({"spec":{"token":"no"}})"),
             Catch::Contains("invalid bearer token"));
  CHECK_THAT(review("authentication.k8s.io/v1/tokenreviews", R"({"spec":{"token":""}})"),
             Catch::Contains(R"("authenticated":true)") &&
                 Catch::Contains(R"("groups":["system:masters","system:authenticated"])"));
  CHECK_THAT(review("authentication.k8s.io/v1/selfsubjectreviews", "{}"),
             Catch::Contains(R"("username":"admin")"));
  CHECK_THAT(review("authorization.k8s.io/v1/selfsubjectaccessreviews", R"({"spec":{}})"),
             Catch::Contains(R"("allowed":true)"));
  CHECK_THAT(
      review("authorization.k8s.io/v1/subjectaccessreviews", R"({"spec":{"user":"system:anonymous"}})"),
      Catch::Contains(R"("allowed":false)"));
  CHECK_THAT(review("authorization.k8s.io/v1/selfsubjectrulesreviews", R"({"spec":{"namespace":"default"}})"),
             Catch::Contains(R"("resourceRules":[{"verbs":["*"])"));
  CHECK(cluster.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", "[]").status == 400);
}
