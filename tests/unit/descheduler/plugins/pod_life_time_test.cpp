// PodLifeTime: all 53 rows of sigs' tests of it (1 + 2 + 1 + 4 + 13 + 4 + 4 + 4 of pods; 4 + 3 + 4 + 3 + 2 +
// 2 + 2 by states, conditions, owners, exit codes) with their counts, and the 13 and 6 of its validation.
#include <catch2/catch.hpp>

#include "unit/descheduler/plugins/rows.hpp"

namespace koord::descheduler {
extern const PluginEntry kPodLifeTime;
}

namespace koord::descheduler::test {
namespace {

std::string ago(int seconds) { return api::Time(kRowsNow - std::chrono::seconds(seconds)).to_string(); }
/// The status of a pod with these conditions: "TYPE STATUS REASON AGE".
std::string conditions(std::initializer_list<std::array<std::string, 4>> rows) {
  std::string all;
  for (const auto& [type, status, reason, age] : rows)
    all +=
        (all.empty() ? "" : ",") + (R"({"type":")" + type + R"(","status":")" + status + R"(","reason":")" +
                                    reason + R"(","lastTransitionTime":")" + ago(std::stoi(age)) + "\"}");
  return R"( {"status":{"conditions":[)" + all + "]}}";
}

struct Row {
  const char* what;
  const char* gone;
  std::string args;
  std::vector<std::string> pods;
  const char* holds = "";
};

void check(std::span<const Row> rows) {
  for (const Row& row : rows) {
    INFO(row.what);
    CHECK(gone(kPodLifeTime, "{" + row.args + "}", {{"n1"}, row.pods, row.holds}) == row.gone);
  }
}

TEST_CASE("pods that are too old go, the oldest first") {
  const std::string most = R"("maxPodLifeTimeSeconds":600)", old = " n1 age=400000000";
  const std::string pending = old + " phase=Pending";
  const Row rows[] = {
      {"terminating",
       "",
       most + R"(,"labelSelector":{"matchLabels":{"foo":"bar"}})",
       {"p14" + old + " terminating", "p15" + old + " terminating"}},
      {"with a claim that may go", "p11", most, {"p11" + old + " pvc"}},
      {"one has the label",
       "p12",
       most + R"(,"labelSelector":{"matchLabels":{"foo":"bar"}})",
       {"p12" + old + " label:foo=bar", "p13" + old + " label:foo=bar1"}},
      {"two are old", "p2 p9", most, {"p1 n1", "p2" + old, "p9" + pending}},
      {"one of the namespace may go", "p2", most, {"p1 n1", "p2" + old}, "ns=1"},
      {"one in all may go", "p2", most, {"p1 n1", "p2" + old}, "ns=2 total=1"},
      {"one of the node may go", "p2", most, {"p1 n1", "p2" + old}, "node=1"},
      {"one old, one new", "p2", most, {"p1 n1", "p2" + old}},
      {"both new", "", most, {"p3 n1", "p4 n1"}},
      {"a bit too old", "p6", most, {"p5 n1", "p6 n1 age=605"}},
      {"not quite old enough", "", most, {"p7 n1", "p8 n1 age=595"}},
      // Not rows of sigs'.
      {"exactly old enough", "", most, {"p8 n1 age=600"}},
      {"from the future", "", R"("maxPodLifeTimeSeconds":0)", {"p8 n1 age=-1"}},
      {"the oldest first", "b c a", most, {"a n1 age=601", "b n1 age=700", "c n1 age=700"}},
  };
  check(rows);
  // The row of a pod whose claim may not go is that of the evictor: it asks it like all others.
  const auto pass = pass_of({{"n1"}, {"p11" + old + " pvc"}});
  pass->filter = [](const api::Pod& pod) { return pod.spec.volumes.empty(); };
  run(*make_plugin(kPodLifeTime, "{" + most + "}"), *pass);
  CHECK(pass->gone.empty());
}

TEST_CASE("of old pods those go that are in one of the states") {
  const std::string old = " n1 age=400000000", pending = old + " phase=Pending";
  const auto states = [](const char* state, const char* more = "") {
    return std::string(R"("maxPodLifeTimeSeconds":600,"states":[")") + state + "\"]" + more;
  };
  std::vector<Row> rows = {
      {"one is being created",
       "stuck",
       states("ContainerCreating"),
       {"p9" + pending, "stuck" + old + " cpu=0 waits=ContainerCreating"}},
      {"one is being initialised",
       "stuck",
       states("PodInitializing"),
       {"p9" + pending, "stuck" + old + " cpu=0 waits=PodInitializing"}},
      {"init containers do not count",
       "",
       states("CreateContainerError"),
       {"p9" + pending + " init.waits=CreateContainerError"}},
      {"init containers count",
       "p9",
       states("CreateContainerError", R"(,"includingInitContainers":true)"),
       {"p9" + pending + " init.waits=CreateContainerError"}},
      {"ephemeral containers do not count",
       "",
       states("CreateContainerError"),
       {"p9" + pending + " ephemeral.waits=CreateContainerError"}},
      {"ephemeral containers count",
       "p9",
       states("CreateContainerError", R"(,"includingEphemeralContainers":true)"),
       {"p9" + pending + " ephemeral.waits=CreateContainerError"}},
      {"another state", "", states("ContainerCreating"), {"p9" + pending + " waits=ImagePullBackOff"}},
      {"one of two is pending", "p9", states("Pending"), {"p9" + pending, "p10" + old + " phase=Running"}},
  };
  for (const char* reason : {"ImagePullBackOff", "CrashLoopBackOff", "CreateContainerConfigError",
                             "ErrImagePull", "CreateContainerError", "InvalidImageName"})
    rows.push_back({reason, "p9", states(reason), {"p9" + pending + " waits=" + reason}});
  for (const char* reason : {"NodeLost", "NodeAffinity", "Shutdown", "UnexpectedAdmissionError"})
    rows.push_back({reason, "p9", states(reason), {"p9" + pending + " reason=" + reason}});
  for (const char* phase : {"Succeeded", "Failed", "Unknown"})
    rows.push_back({phase, "p16", states(phase), {"p16" + old + " phase=" + phase}});
  check(rows);
}

TEST_CASE("pods go by how they ended, their conditions, owners and exit codes, whatever their age") {
  const std::string failed = R"("states":["Failed"])", job = " owner=Job/job1 phase=Failed";
  const std::string succeeded = R"("states":["Succeeded"])";
  const std::string completed =
      R"("conditions":[{"reason":"PodCompleted","status":"True","minTimeSinceLastTransitionSeconds":300}])";
  const Row rows[] = {
      {"a container's end", "p1", R"("states":["NodeAffinity"])", {"p1 n1 phase=Failed ends=NodeAffinity"}},
      {"the pod's own reason", "p1", R"("states":["Shutdown"])", {"p1 n1 phase=Failed reason=Shutdown"}},
      {"an init container's end",
       "p1",
       R"("states":["CreateContainerConfigError"],"includingInitContainers":true)",
       {"p1 n1 init.ends=CreateContainerConfigError"}},
      {"an init container's end does not count",
       "",
       R"("states":["CreateContainerConfigError"])",
       {"p1 n1 init.ends=CreateContainerConfigError"}},
      {"a condition's reason",
       "p1",
       R"("conditions":[{"reason":"PodCompleted","status":"True"}])",
       {"p1 n1" + conditions({{"Initialized", "True", "PodCompleted", "7200"}}),
        "p2 n1" + conditions({{"Initialized", "True", "OtherReason", "7200"}})}},
      {"a condition's type",
       "p1",
       R"("conditions":[{"type":"Ready"}])",
       {"p1 n1" + conditions({{"Ready", "False", "", "7200"}})}},
      {"no such condition",
       "",
       R"("conditions":[{"reason":"PodCompleted"}])",
       {"p1 n1" + conditions({{"Ready", "True", "SomethingElse", "0"}})}},
      {"it has been so for long",
       "p1",
       succeeded + "," + completed,
       {"p1 n1 phase=Succeeded" + conditions({{"Initialized", "True", "PodCompleted", "7200"},
                                              {"Ready", "False", "PodCompleted", "7200"}})}},
      {"it has not been so for long",
       "",
       succeeded + R"(,"conditions":[{"minTimeSinceLastTransitionSeconds":14400}])",
       {"p1 n1 phase=Succeeded" + conditions({{"Ready", "False", "", "60"}})}},
      {"another condition is young",
       "p1",
       R"("conditions":[{"reason":"PodCompleted","minTimeSinceLastTransitionSeconds":300}])",
       {"p1 n1" + conditions({{"Initialized", "", "PodCompleted", "7200"}, {"Ready", "", "Other", "60"}})}},
      {"there are no conditions",
       "",
       R"("states":["Running"],"conditions":[{"minTimeSinceLastTransitionSeconds":300}])",
       {"p1 n1 phase=Running"}},
      {"its owner is excluded", "", failed + R"(,"ownerKinds":{"exclude":["Job"]})", {"p1 n1" + job}},
      {"only the other's owner is excluded",
       "p2",
       failed + R"(,"ownerKinds":{"exclude":["Job"]})",
       {"p1 n1" + job, "p2 n1 phase=Failed"}},
      {"only its owner is included",
       "p1",
       failed + R"(,"ownerKinds":{"include":["Job"]})",
       {"p1 n1" + job, "p2 n1 phase=Failed"}},
      {"an ephemeral container's end",
       "p1",
       R"("states":["OOMKilled"],"includingEphemeralContainers":true)",
       {"p1 n1 ephemeral.ends=OOMKilled"}},
      {"an ephemeral container's end does not count",
       "",
       R"("states":["OOMKilled"])",
       {"p1 n1 ephemeral.ends=OOMKilled"}},
      {"the exit code", "p1", failed + R"(,"exitCodes":[1])", {"p1 n1 phase=Failed exit=1"}},
      {"another exit code", "", failed + R"(,"exitCodes":[2])", {"p1 n1 phase=Failed exit=1"}},
      {"completed for long",
       "stale",
       succeeded + "," + completed,
       {"stale n1 phase=Succeeded" + conditions({{"Initialized", "True", "PodCompleted", "7200"},
                                                 {"Ready", "False", "PodCompleted", "7200"}}),
        "recent n1 phase=Succeeded" + conditions({{"Initialized", "True", "PodCompleted", "60"}}),
        "running n1 phase=Running"}},
      {"failed, but not a job's",
       "failed-rs",
       failed + R"(,"maxPodLifeTimeSeconds":0,"ownerKinds":{"exclude":["Job"]})",
       {"failed-rs n1 age=1 phase=Failed ends=Error", "failed-job n1 age=1" + job}},
  };
  check(rows);
}

TEST_CASE("PodLifeTime wants something to go by, and only states that there are") {
  const auto refused = [](const std::string& args) { return why_refused(kPodLifeTime, "{" + args + "}"); };
  const std::string states =
      "states must be one of [Completed ContainerCannotRun ContainerCreating CrashLoopBackOff "
      "CreateContainerConfigError CreateContainerError DeadlineExceeded ErrImagePull Error Evicted Failed "
      "ImagePullBackOff InvalidImageName NodeAffinity NodeLost OOMKilled Pending PodInitializing Running "
      "Shutdown StartError Succeeded UnexpectedAdmissionError Unknown]";
  for (const char* fine :
       {R"("states":["Running"])", R"("conditions":[{"reason":"PodCompleted"}])",
        R"("maxPodLifeTimeSeconds":600)", R"("states":["Running"],"maxPodLifeTimeSeconds":600)",
        R"("states":["Succeeded"],"conditions":[{"reason":"PodCompleted"}])", R"("exitCodes":[1])",
        R"("conditions":[{"reason":"PodCompleted","minTimeSinceLastTransitionSeconds":300}])",
        R"("conditions":[{"minTimeSinceLastTransitionSeconds":300}])",
        R"("maxPodLifeTimeSeconds":1,"states":["Succeeded","Failed"])",
        R"("maxPodLifeTimeSeconds":1,"states":["CrashLoopBackOff"])"})
    CHECK(refused(fine).empty());
  CHECK(refused("") ==
        "at least one filtering criterion must be specified (maxPodLifeTimeSeconds, states, "
        "conditions, or exitCodes)");
  CHECK(refused(R"("states":["Running"],"namespaces":{"include":["a"],"exclude":["b"]})") ==
        "only one of Include/Exclude namespaces can be set");
  CHECK(refused(R"("states":["Running"],"ownerKinds":{"include":["Job"],"exclude":["ReplicaSet"]})") ==
        "only one of Include/Exclude ownerKinds can be set");
  CHECK(refused(R"("states":["NotAState"])") == states);
  CHECK(refused(R"("maxPodLifeTimeSeconds":1,"states":["InvalidState"])") == states);
  CHECK(refused(R"("conditions":[{}])") ==
        "conditions[0]: at least one of type, status, reason, or minTimeSinceLastTransitionSeconds must be "
        "set");
}

}  // namespace
}  // namespace koord::descheduler::test
