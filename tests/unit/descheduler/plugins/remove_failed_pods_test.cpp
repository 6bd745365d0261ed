// RemoveFailedPods: all 25 rows of sigs' TestRemoveFailedPods and the 3 of its validation. Where sigs' rows
// say nothing of a pod's age, theirs skip the default of an hour.
#include <catch2/catch.hpp>

#include "unit/descheduler/plugins/rows.hpp"

namespace koord::descheduler {
extern const PluginEntry kRemoveFailedPods;
}

namespace koord::descheduler::test {
namespace {

TEST_CASE("pods that have failed go, by their reasons, exit codes, owners and age") {
  struct Row {
    const char* what;
    std::size_t gone;
    const char* args;  // beside minPodLifetimeSeconds: 0
    std::vector<std::string> pods;
    std::vector<std::string> nodes = {"node1"};
    const char* holds = "";
  };
  const std::string failed = " node1 cpu=1 memory=1 owner=ReplicaSet/replicaset-1 phase=Failed ";
  const std::string affinity = "ends=NodeAffinity", broken = "CreateContainerConfigError";
  const Row rows[] = {
      {"there is none", 0, "", {}},
      {"there is none, again", 0, "", {}},
      {"a reason", 1, "", {"p1" + failed + affinity}},
      {"an exit code", 1, R"("exitCodes":[1])", {"p1" + failed + "exit=1"}},
      {"both", 1, R"("exitCodes":[1])", {"p1" + failed + affinity + " exit=1"}},
      {"another exit code", 0, R"("exitCodes":[2])", {"p1" + failed + "exit=1"}},
      {"two exit codes", 2, R"("exitCodes":[1,2,3])", {"p1" + failed + "exit=1", "p2" + failed + "exit=2"}},
      {"one of two", 1, R"("exitCodes":[1])", {"p1" + failed + "exit=1", "p2" + failed + "exit=2"}},
      {"an init container", 1, R"("includingInitContainers":true)", {"p1" + failed + "init." + affinity}},
      {"its exit code", 1, R"("includingInitContainers":true,"exitCodes":[1])", {"p1" + failed + "exit=1"}},
      {"not its exit code",
       0,
       R"("includingInitContainers":true,"exitCodes":[1])",
       {"p1" + failed + "exit=2"}},
      {"one that waits", 1, R"("includingInitContainers":true)", {"p1" + failed + "init.waits=" + broken}},
      {"on two nodes",
       2,
       R"("includingInitContainers":true)",
       {"p1" + failed + "init.ends=" + broken, "p2 node2 phase=Failed init.ends=" + broken},
       {"node1", "node2"}},
      {"the reason", 1, R"("reasons":["CreateContainerConfigError"])", {"p1" + failed + "ends=" + broken}},
      {"one of the reasons",
       1,
       R"("reasons":["CreateContainerConfigError","NodeAffinity"])",
       {"p1" + failed + "ends=" + broken}},
      {"another reason", 0, R"("reasons":["CreateContainerConfigError"])", {"p1" + failed + affinity}},
      {"init containers do not count",
       0,
       R"("reasons":["CreateContainerConfigError"])",
       {"p1" + failed + "init.waits=" + broken}},
      {"too young", 0, R"("minPodLifetimeSeconds":3600)", {"p1" + failed + affinity}},
      {"no node to go to", 0, "", {"p1" + failed + affinity}, {"node1", "node2 cordoned"}, "nodefit"},
      {"no room to go to",
       0,
       R"("reasons":["CreateContainerConfigError"])",
       {"p1" + failed + "ends=" + broken},
       {"node1 cpu=1 memory=1", "node2 cpu=0 memory=0"},
       "nodefit"},
      {"its owner is excluded",
       0,
       R"("includingInitContainers":true,"excludeOwnerKinds":["ReplicaSet"])",
       {"p1" + failed + "init." + affinity}},
      {"another owner is excluded",
       1,
       R"("includingInitContainers":true,"excludeOwnerKinds":["DaemonSet"])",
       {"p1" + failed + "init." + affinity}},
      {"terminating",
       0,
       R"("includingInitContainers":true,"excludeOwnerKinds":["DaemonSet"])",
       {"p1" + failed + "terminating init." + affinity}},
      {"the pod's own reason, nowhere to go",
       0,
       "",
       {"p1" + failed + "reason=Shutdown"},
       {"node1"},
       "nodefit"},
      {"the pod's own reason",
       2,
       R"("reasons":["Shutdown"])",
       {"p1" + failed + "reason=Shutdown", "p2" + failed + "reason=Shutdown"}},
      // Not rows of sigs'.
      {"it runs", 0, "", {"p1 node1 phase=Running " + affinity}},
      {"old enough", 1, R"("minPodLifetimeSeconds":3600)", {"p1" + failed + "age=3600"}},
      {"from the future", 0, "", {"p1" + failed + "age=-60"}},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    std::string args = row.args;
    if (args.find("minPod") == std::string::npos)
      args = R"("minPodLifetimeSeconds":0)" + (args.empty() ? "" : "," + args);
    CHECK(count_gone(kRemoveFailedPods, "{" + args + "}", {row.nodes, row.pods, row.holds}) == row.gone);
  }
  const Rows young{{"node1"}, {"p1" + failed + "age=3599", "p2" + failed + "age=3600"}};
  CHECK(gone(kRemoveFailedPods, "{}", young) == "p2");
}

TEST_CASE("RemoveFailedPods refuses namespaces and selectors that cannot be") {
  const auto refused = [](const char* args) { return why_refused(kRemoveFailedPods, args); };
  CHECK(refused(R"({"namespaces":{"include":["default"],"exclude":["kube-system"]}})") ==
        "only one of Include/Exclude namespaces can be set");
  CHECK(refused(R"({"labelSelector":{"matchLabels":{"role.kubernetes.io/node":""}}})").empty());
  CHECK(
      refused(R"({"labelSelector":{"matchExpressions":[{"key":"","operator":"In"}]}})")
          .starts_with("failed to get label selectors from strategy's params: [key: Invalid value: \"\": "));
  CHECK_FALSE(refused(R"({"minPodLifetimeSeconds":-1})").empty());
}

}  // namespace
}  // namespace koord::descheduler::test
