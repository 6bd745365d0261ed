// RemovePodsHavingTooManyRestarts: all 20 rows of sigs' TestRemovePodsHavingTooManyRestarts and the 5 of its
// validation.
#include <catch2/catch.hpp>

#include "unit/descheduler/plugins/rows.hpp"

namespace koord::descheduler {
extern const PluginEntry kRemovePodsHavingTooManyRestarts;
}

namespace koord::descheduler::test {
namespace {

/// Ten pods, the i-th with 20 * i restarts, and 5 * i of its init container; three of them may not go.
std::vector<std::string> ten_pods(const std::string& more = "", bool init_restarts = true) {
  std::vector<std::string> pods;
  for (int i = 0; i < 10; ++i) {
    std::string pod = "pod-" + std::to_string(i) + " node1 restarts=" + std::to_string(20 * i);
    if (init_restarts) pod += " init.restarts=" + std::to_string(5 * i);
    if (i == 6) pod += " owner=DaemonSet";
    if (i == 7) pod += " local";
    if (i == 8) pod += " mirror";
    pods.push_back(pod + more);
  }
  pods.push_back("CPU-consumer-1 node4 cpu=150 memory=100");
  pods.push_back("CPU-consumer-2 node5 cpu=150 memory=100");
  return pods;
}

TEST_CASE("pods that restart too often go, the worst first") {
  struct Row {
    const char* what;
    std::size_t gone;
    int threshold;
    bool init;
    const char* holds = "";
    std::vector<std::string> others = {};
    const char* more = "";
    const char* states = "[]";
    bool init_restarts = true;
  };
  const char* const crash = R"(["CrashLoopBackOff"])";
  const char* const running = R"(["Running"])";
  const Row rows[] = {
      {"none often enough", 0, 10000, true},
      {"once", 6, 1, true},
      {"exactly so often", 6, 25, true},
      {"without init containers", 5, 25, false},
      {"a bit less often", 6, 20, true},
      {"exactly so often without them", 6, 20, false},
      {"one more than five", 1, 5 * 25 + 1, true},
      {"one more than five without them", 1, 5 * 20 + 1, false},
      {"three of the node may go", 3, 1, true, "node=3"},
      {"three of the namespace may go", 3, 1, true, "ns=3"},
      {"the other node has a taint", 0, 1, true, "node=3 nodefit", {"node2 taint:hardware=gpu:NoSchedule"}},
      {"the other node is cordoned", 0, 1, true, "node=3 nodefit", {"node3 cordoned"}},
      {"the other node is full", 0, 1, true, "node=3 nodefit", {"node4 cpu=200"}},
      {"the other node has room", 3, 1, true, "node=3 nodefit", {"node5"}},
      {"they wait for the next try",
       3,
       1,
       false,
       "node=3 nodefit",
       {"node5"},
       " waits=CrashLoopBackOff",
       crash},
      {"they do not wait", 0, 1, false, "node=3 nodefit", {"node5"}, "", crash},
      {"they run", 3, 1, false, "node=3", {}, " phase=Running", running},
      {"they do not run", 0, 1, false, "node=3", {}, " phase=Pending", running},
      {"init containers wait", 3, 1, true, "node=3", {}, " init.waits=CrashLoopBackOff", crash, false},
      {"init containers that wait do not count",
       0,
       1,
       false,
       "node=3",
       {},
       " init.waits=CrashLoopBackOff",
       crash,
       false},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    Rows world{{"node1"}, ten_pods(row.more, row.init_restarts), row.holds};
    world.nodes.insert(world.nodes.end(), row.others.begin(), row.others.end());
    const std::string args = R"({"podRestartThreshold":)" + std::to_string(row.threshold) +
                             R"(,"includingInitContainers":)" + (row.init ? "true" : "false") +
                             R"(,"states":)" + row.states + "}";
    CHECK(count_gone(kRemovePodsHavingTooManyRestarts, args, world) == row.gone);
  }
  CHECK(gone(kRemovePodsHavingTooManyRestarts, R"({"podRestartThreshold":100})", {{"node1"}, ten_pods()}) ==
        "pod-9 pod-5");
}

TEST_CASE("numbers of restarts that do not fit 32 bits together are still many") {
  const Rows world{{"node1"}, {"p1 node1 restarts=2147483647 init.restarts=2147483647"}};
  CHECK(gone(kRemovePodsHavingTooManyRestarts, R"({"podRestartThreshold":1,"includingInitContainers":true})",
             world) == "p1");
}

TEST_CASE("a threshold of restarts and states that cannot be are refused in sigs' words") {
  const auto refused = [](const char* args) { return why_refused(kRemovePodsHavingTooManyRestarts, args); };
  CHECK(refused(R"({"podRestartThreshold":1,"states":["Running"]})").empty());
  CHECK(refused("{}") == "invalid PodsHavingTooManyRestarts threshold");
  CHECK(refused(R"({"podRestartThreshold":1,"states":["Failed"]})") ==
        "states must be one of [CrashLoopBackOff Running]");
  CHECK(refused(R"({"podRestartThreshold":1,"states":["CrashLoopBackOff"]})").empty());
  CHECK(refused(R"({"states":["Failed"]})") ==
        "[invalid PodsHavingTooManyRestarts threshold, states must be one of [CrashLoopBackOff Running]]");
}

}  // namespace
}  // namespace koord::descheduler::test
