// Kubernetes' own gangs in the sandbox: what is a Workload, a PodGroup, or a pod's reference to one; rows of
// Kubernetes 1.35's validation_test.go of scheduling.k8s.io.
#include <catch2/catch.hpp>

#include "cluster.hpp"

using namespace koord;
using namespace koord::sandbox;

namespace {

constexpr const char* kWorkloads = "/apis/scheduling.k8s.io/v1alpha1/namespaces/default/workloads";
constexpr const char* kPodGroups = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups";
constexpr const char* kPodsHere = "/api/v1/namespaces/default/pods";

constexpr const char* kController = R"("controllerRef":{"apiGroup":"batch","kind":"Job","name":"j"})";
constexpr const char* kGroups =
    R"("podGroups":[{"name":"a","policy":{"basic":{}}},{"name":"b","policy":{"gang":{"minCount":4}}}])";

std::string workload(const std::string& spec, const std::string& name = "w") {
  return fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{{{}}}}})", name, spec);
}
std::string group(const std::string& name, const std::string& policy) {
  return fmt::format(R"("podGroups":[{{"name":"{}","policy":{}}}])", name, policy);
}
std::string controller(const std::string& members) {
  return fmt::format(R"("controllerRef":{{{}}},{})", members, kGroups);
}
std::string groups(int count) {
  std::string all;
  for (int n = 0; n < count; ++n)
    all += fmt::format(R"({}{{"name":"g{}","policy":{{"basic":{{}}}}}})", n ? "," : "", n);
  return fmt::format(R"("podGroups":[{}])", all);
}
std::string pod_group(const std::string& policy, const std::string& more = {}) {
  return fmt::format(R"({{"metadata":{{"name":"g"}},"spec":{{"schedulingPolicy":{}{}{}}}}})", policy,
                     more.empty() ? "" : ",", more);
}
std::string pod(const std::string& name, const std::string& more) {
  return fmt::format(
      R"({{"metadata":{{"name":"{}"}},"spec":{{"containers":[{{"name":"c","image":"i"}}],{}}}}})", name,
      more);
}

}  // namespace

TEST_CASE("workloads are taken or refused in Kubernetes' words") {
  struct Row {
    const char* name;
    std::string object;
    std::string message;  // a part of it; empty: it is taken
  };
  const std::string longest(64, 'g');
  const Row kRows[] = {
      {"basic and gang policies", workload(fmt::format("{},{}", kController, kGroups)), ""},
      {"no controllerRef", workload(kGroups), ""},
      {"no controllerRef apiGroup", workload(controller(R"("kind":"Job","name":"j")")), ""},
      {"invalid name", workload(kGroups, ".w"), "metadata.name: Invalid value: \".w\""},
      {"invalid controllerRef apiGroup", workload(controller(R"("apiGroup":".g","kind":"Job","name":"j")")),
       "spec.controllerRef.apiGroup: Invalid value: \".g\""},
      {"no controllerRef kind", workload(controller(R"("apiGroup":"g","name":"j")")),
       "spec.controllerRef.kind: Required value"},
      {"invalid controllerRef kind", workload(controller(R"("kind":"a/b","name":"j")")),
       "spec.controllerRef.kind: Invalid value: \"a/b\": may not contain '/'"},
      {"no controllerRef name", workload(controller(R"("kind":"Job")")),
       "spec.controllerRef.name: Required value"},
      {"invalid controllerRef name", workload(controller(R"("kind":"Job","name":"a/b")")),
       "spec.controllerRef.name: Invalid value: \"a/b\""},
      {"no pod groups", workload(R"("podGroups":[])"),
       "spec.podGroups: Required value: must have at least one item"},
      {"as many pod groups as may be", workload(groups(8)), ""},
      {"too many pod groups", workload(groups(9)),
       "spec.podGroups: Invalid value: 9: must have at most 8 items"},
      {"no pod group name", workload(group("", R"({"basic":{}})")),
       "spec.podGroups[0].name: Invalid value: \"\""},
      {"invalid pod group name", workload(group(".g", R"({"basic":{}})")),
       "spec.podGroups[0].name: Invalid value: \".g\""},
      {"too long pod group name", workload(group(longest, R"({"basic":{}})")),
       "spec.podGroups[0].name: Invalid"},
      {"no policy set", workload(group("g", "{}")),
       "spec.podGroups[0].policy: Required value: exactly one of `basic`, `gang` is required"},
      {"two policies", workload(group("g", R"({"basic":{},"gang":{"minCount":2}})")),
       "spec.podGroups[0].policy: Invalid value: \"{`basic`, `gang`}\": exactly one of `basic`, `gang` is "
       "required, but multiple fields are set"},
      {"zero min count in gang", workload(group("g", R"({"gang":{"minCount":0}})")),
       "spec.podGroups[0].policy.gang.minCount: Invalid value: 0: must be greater than zero"},
      {"negative min count in gang", workload(group("g", R"({"gang":{"minCount":-1}})")),
       "spec.podGroups[0].policy.gang.minCount: Invalid value: -1: must be greater than zero"},
      {"two pod groups with the same name",
       workload(R"("podGroups":[{"name":"g","policy":{"basic":{}}},{"name":"g","policy":{"basic":{}}}])"),
       "spec.podGroups[1].name: Duplicate value: \"g\""},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    TestCluster cluster;
    const auto answer = cluster.call("POST", kWorkloads, row.object);
    CHECK(answer.status == (row.message.empty() ? 201 : 422));
    if (!row.message.empty()) CHECK_THAT(answer.text("message"), Catch::Contains(row.message));
  }
}

TEST_CASE("a workload's groups stay as they are, and its controller once it has one") {
  struct Row {
    const char* name;
    std::string before, after, message;
  };
  const std::string whole = fmt::format("{},{}", kController, kGroups);
  const std::string immutable = "podGroups: Invalid value: ";
  const Row kRows[] = {
      {"no change", whole, whole, ""},
      {"set controller ref", kGroups, whole, ""},
      {"change pod group name", kGroups, group("c", R"({"basic":{}})"), immutable},
      {"add pod group", groups(2), groups(3), immutable},
      {"delete pod group", groups(2), groups(1), immutable},
      {"change gang min count", group("g", R"({"gang":{"minCount":4}})"),
       group("g", R"({"gang":{"minCount":5}})"), immutable},
      {"change controllerRef", whole, controller(R"("apiGroup":"batch","kind":"Jobs","name":"j")"),
       "controllerRef: Invalid value: "},
      {"delete controllerRef", whole, kGroups, "controllerRef: Invalid value: "},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    TestCluster cluster;
    REQUIRE(cluster.call("POST", kWorkloads, workload(row.before)).status == 201);
    const auto answer = cluster.call("PUT", fmt::format("{}/w", kWorkloads), workload(row.after));
    CHECK(answer.status == (row.message.empty() ? 200 : 422));
    if (row.message.empty()) continue;
    CHECK_THAT(answer.text("message"), Catch::Contains(row.message));
    CHECK_THAT(answer.text("message"), Catch::Contains("field is immutable"));
  }
}

TEST_CASE("a pod refers to a group by names, which stay") {
  TestCluster cluster;
  const std::pair<std::string, std::string> kRows[] = {
      {R"("workloadRef":{"name":"w","podGroup":"g"})", ""},
      {R"("workloadRef":{"name":"w.x","podGroup":"g","podGroupReplicaKey":"1"})", ""},
      {R"("schedulingGroup":{"podGroupName":"g"})", ""},
      {R"("workloadRef":{"name":"","podGroup":"g"})", "spec.workloadRef.name: Invalid value: \"\""},
      {R"("workloadRef":{"name":".w","podGroup":"g"})", "spec.workloadRef.name: Invalid value: \".w\""},
      {R"("workloadRef":{"name":"w","podGroup":""})", "spec.workloadRef.podGroup: Invalid value: \"\""},
      {R"("workloadRef":{"name":"w","podGroup":"a.b"})", "spec.workloadRef.podGroup: Invalid value: \"a.b\""},
      {R"("workloadRef":{"name":"w","podGroup":"g","podGroupReplicaKey":"a.b"})",
       "spec.workloadRef.podGroupReplicaKey: Invalid value: \"a.b\""},
      {R"("schedulingGroup":{})", "spec.schedulingGroup.podGroupName: Required value"},
      {R"("schedulingGroup":{"podGroupName":"a.b"})",
       "spec.schedulingGroup.podGroupName: Invalid value: \"a.b\""},
  };
  int number = 0;
  for (const auto& [more, message] : kRows) {
    CAPTURE(more);
    const auto answer = cluster.call("POST", kPodsHere, pod(fmt::format("p{}", number++), more));
    CHECK(answer.status == (message.empty() ? 201 : 422));
    if (!message.empty()) CHECK_THAT(answer.text("message"), Catch::Contains(message));
  }
  CHECK_THAT(cluster
                 .call("PUT", fmt::format("{}/p0", kPodsHere),
                       pod("p0", R"("workloadRef":{"name":"w","podGroup":"other"})"))
                 .text("message"),
             Catch::Contains("spec: Forbidden: pod updates may not change fields other than"));
}

TEST_CASE("a PodGroup has one policy, a mode, and one topology at most; its number may be changed") {
  constexpr const char* kGang = R"({"gang":{"minCount":3}})";
  const std::pair<std::string, std::string> kRows[] = {
      {pod_group(R"({"basic":{}})"), ""},
      {pod_group(kGang,
                 R"("disruptionMode":{"all":{}},"schedulingConstraints":{"topology":[{"key":"x/rack"}]})"),
       ""},
      {pod_group("{}"), "spec.schedulingPolicy: Invalid value: \"\": must specify one of: `basic`, `gang`"},
      {pod_group(R"({"basic":{},"gang":{"minCount":3}})"), "must specify exactly one of: `basic`, `gang`"},
      {pod_group(R"({"gang":{"minCount":0}})"),
       "spec.schedulingPolicy.gang.minCount: Invalid value: 0: must be greater than or equal to 1"},
      {pod_group(kGang, R"("disruptionMode":{})"), "spec.disruptionMode: Invalid value"},
      {pod_group(kGang, R"("disruptionMode":{"all":{},"single":{}})"),
       "must specify exactly one of: `single`, `all`"},
      {pod_group(kGang, R"("schedulingConstraints":{"topology":[{"key":"a"},{"key":"b"}]})"),
       "spec.schedulingConstraints.topology: Invalid value: 2: must have at most 1 item"},
      {pod_group(kGang, R"("schedulingConstraints":{"topology":[{}]})"),
       "spec.schedulingConstraints.topology[0].key: Required value"},
  };
  for (const auto& [object, message] : kRows) {
    CAPTURE(object);
    TestCluster cluster;
    const auto answer = cluster.call("POST", kPodGroups, object);
    CHECK(answer.status == (message.empty() ? 201 : 422));
    if (!message.empty()) CHECK_THAT(answer.text("message"), Catch::Contains(message));
  }
  TestCluster cluster;
  const auto made = cluster.call("POST", kPodGroups, pod_group(kGang));
  REQUIRE(made.status == 201);
  CHECK(made.text("spec", "disruptionMode") == R"({"single":{}})");
  const std::string mine = fmt::format("{}/g", kPodGroups);
  CHECK(cluster.call("PUT", mine, pod_group(R"({"gang":{"minCount":2}})")).status == 200);
  CHECK_THAT(cluster.call("PUT", mine, pod_group(R"({"basic":{}})")).text("message"),
             Catch::Contains("spec.schedulingPolicy.gang: Invalid value"));
  CHECK_THAT(cluster.call("PUT", mine, pod_group(kGang, R"("disruptionMode":{"all":{}})")).text("message"),
             Catch::Contains("spec.disruptionMode: Invalid value"));
}
