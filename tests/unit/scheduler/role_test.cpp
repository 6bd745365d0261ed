// The role: one with an engine that hangs (probes fail, the lease runs out, and it ends in time all the
// same), and its metrics.
#include "role.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "ask.hpp"
#include "controlling_plugin.hpp"
#include "drive/engine_thread.hpp"
#include "hanging_plugin.hpp"
#include "koord/api/schema/codec.hpp"
#include "support/metric_names.hpp"
#include "support/role_rig.hpp"
#include "support/tsv.hpp"
#include "world.hpp"

namespace koord::scheduler::test {
namespace {

using namespace scheduling::test;
using namespace std::chrono_literals;
using koord::test::json_response;
using koord::test::status_response;

constexpr std::string_view kConfig =
    "apiVersion: kubescheduler.config.k8s.io/v1\n"
    "kind: KubeSchedulerConfiguration\n"
    "profiles:\n"
    "- plugins: {filter: {enabled: [{name: Hanging}]}, multiPoint: {enabled: [{name: Controlling}]}}\n";

std::filesystem::path config_file() {
  auto file = std::filesystem::temp_directory_path() / ("koord-scheduler-role-" + std::to_string(::getpid()));
  std::ofstream(file) << kConfig;
  return file;
}

std::vector<std::string> with_config(std::vector<std::string> flags) {
  flags.push_back("--config=" + config_file().string());
  return flags;
}

/// A process of one role on an API server that has one node, a pod (the engine hangs at "hang") and a lease.
struct Process : koord::test::RoleRig {
  explicit Process(std::vector<std::string> flags = {}, std::string pod_name = "hang",
                   std::string held_lease = {}, std::string forbidden_path = {})
      : RoleRig(scheduler::role(), with_config(std::move(flags))),
        pod(std::move(pod_name)),
        lease(std::move(held_lease)),
        forbidden(std::move(forbidden_path)) {
    server.answer = [this](const net::Request& request) { return answer(request); };
    plugins.assign(scheduling::plugin_table().begin(), scheduling::plugin_table().end());
    plugins.push_back(&kHanging);
    plugins.push_back(&kControlling);
    start(make_role(context, plugins));
  }
  ~Process() override {
    koord::test::run_task(loop, tasks.stop(loop.clock, 20s));
    role.reset();
    std::filesystem::remove(config_file());
    hang.let_go();
    CHECK(hang.is_gone());
  }

  Result<net::Response> answer(const net::Request& request) {
    const auto has = [&](std::string_view text) { return request.target.find(text) != std::string::npos; };
    if (has("/leases")) {
      if (request.method == "GET" && lease.empty()) return status_response(404, "NotFound");
      if (request.method != "GET") lease = request.body;
      lease_writes += request.method != "GET";
      return json_response(200, lease);
    }
    if (!forbidden.empty() && has(forbidden)) return status_response(403, "Forbidden", "not for you");
    if (has("sendInitialEvents")) return status_response(422, "Invalid");
    if (has("watch=")) return json_response(200, "");
    const auto list = [](std::string_view kind, const std::string& item) {
      return json_response(200, fmt::format(R"({{"kind":"{}List","apiVersion":"v1",)"
                                            R"("metadata":{{"resourceVersion":"7"}},"items":[{}]}})",
                                            kind, item));
    };
    if (has("/nodes")) return list("Node", api::encode(*make_node("n")));
    if (has("/pods")) return list("Pod", api::encode(*make_pod(pod)));
    return json_response(201, "{}");
  }

  net::Response ask(std::string method, std::string path, std::string body = {}) {
    return test::ask(*this, std::move(method), std::move(path), std::move(body));
  }
  /// Until the pod's attempt is remembered; the engine's answers are waited for.
  void wait_for_attempt() {
    for (int i = 0; i < 1000 && ask("GET", "/apis/v1/attempts/default/p").status != 200; ++i) {
      ask("GET", "/apis/v1/nodes/n");
      loop.advance(5ms);
    }
  }

  Hang hang;
  std::string pod;
  std::string lease;
  std::string forbidden;  // part of the path that it may not read
  int lease_writes = 0;
  std::vector<const scheduling::PluginEntry*> plugins;
};

TEST_CASE("a plugin's controller runs while the role leads, and its end is awaited") {
  Controlled told;
  Process process({}, "p");
  CHECK(told.made == 1);
  CHECK(told.started == 0);
  process.wait_for_attempt();
  CHECK(told.started == 1);
  CHECK(told.nodes == 1);
  CHECK(told.might_write);
  CHECK(told.synced == 1);
  CHECK(told.ended == 0);
  koord::test::run_task(process.loop, process.tasks.stop(process.loop.clock, 10s));
  CHECK(told.ended == 1);
}

TEST_CASE("--controller-plugins says whose controllers run") {
  const auto [list, runs] = GENERATE(table<const char*, bool>({{"*", true},
                                                               {"Controlling", true},
                                                               {"Other", false},
                                                               {"*,-Controlling", false},
                                                               {"-Controlling,*", false},
                                                               {"*,-Other", true},
                                                               {"", false}}));
  INFO(list);
  Controlled told;
  Process process({fmt::format("--controller-plugins={}", list)}, "p");
  process.wait_for_attempt();
  CHECK(told.started == (runs ? 1 : 0));
  CHECK(told.synced == 1);
}

TEST_CASE("a scheduler that may not read something is not ready, and says what it waits for") {
  Process lacks({}, "p", {}, "/persistentvolumeclaims");
  for (int i = 0; i < 20; ++i) lacks.loop.advance(1s);
  const net::Response said = lacks.health.answer(runtime::HealthChecks::readyz, {}, "");
  CHECK(said.status == 500);
  CHECK_THAT(said.body,
             Catch::Contains("the informers have not synced: persistentvolumeclaims: forbidden: ") &&
                 Catch::Contains("not for you") &&
                 Catch::Contains(": grant the right to list and watch them"));
  lacks.forbidden.clear();
  CHECK(lacks.run_until([&] { return lacks.probe(runtime::HealthChecks::readyz) == 200; }));
}

TEST_CASE("nothing of a plugin runs while another process leads") {
  Controlled told;
  Process process(
      {}, "p",
      R"({"metadata":{"name":"l","namespace":"n","resourceVersion":"1"},"spec":{"holderIdentity":)"
      R"("another","leaseDurationSeconds":15,"renewTime":"2026-01-01T00:00:00.000000Z"}})");
  for (int i = 0; i < 20; ++i) process.loop.advance(500ms);
  CHECK(told.made == 1);
  CHECK(told.started == 0);
  for (int i = 0; i < 100 && told.started == 0; ++i) process.loop.advance(500ms);
  CHECK(told.started == 1);
}

TEST_CASE("a scheduler whose engine hangs says so, loses its lease and ends") {
  Process process;
  for (int i = 0; i < 1000 && !process.hang.holds(); ++i) process.loop.advance(5ms);
  REQUIRE(process.hang.holds());
  using Health = runtime::HealthChecks;
  const MonoTime began = process.loop.clock.mono();
  const auto pass = [&](nanoseconds until) {
    while (process.loop.clock.mono() - began < until) process.loop.advance(100ms);
  };

  pass(EngineThread::kStuck - 1s);
  CHECK(process.probe(Health::livez) == 200);
  CHECK(process.probe(Health::readyz) == 200);
  CHECK(process.lease_writes > 5);

  pass(EngineThread::kStuck + 1s);
  CHECK(process.probe(Health::livez) == 500);
  CHECK(process.probe(Health::healthz) == 500);
  const int writes = process.lease_writes;
  CHECK_FALSE(process.failure);

  // The renew deadline after the last renewal, and the time that a stop may take.
  pass(EngineThread::kStuck + 10s + 2s + 1s);
  CHECK(process.lease_writes == writes);
  REQUIRE(process.failure);
  CHECK(process.failure->message() == "leaderelection lost");
  CHECK(process.left_behind == 1);
}

TEST_CASE("a scheduler whose engine hangs stops within its bound, and gives the lease back") {
  Process process;
  for (int i = 0; i < 1000 && !process.hang.holds(); ++i) process.loop.advance(5ms);
  REQUIRE(process.hang.holds());
  const MonoTime began = process.loop.clock.mono();
  koord::test::run_task(process.loop, process.tasks.stop(process.loop.clock, 10s));
  CHECK(process.loop.clock.mono() - began < 5s);
  CHECK(process.left_behind == 1);
  CHECK(process.lease.find(R"("holderIdentity":"")") != std::string::npos);
}

TEST_CASE("an attempt that takes long is told with what it is at, and counted") {
  Process process({"--scheduling-timeout=4s", "--scheduler-monitor-period=1s"});
  for (int i = 0; i < 1000 && !process.hang.holds(); ++i) process.loop.advance(5ms);
  REQUIRE(process.hang.holds());
  process.loop.advance(3s);
  CHECK(!process.captured.contains("a scheduling attempt takes longer than --scheduling-timeout"));
  for (int i = 0; i < 3; ++i) process.loop.advance(1s);
  CHECK(process.captured.contains("a scheduling attempt takes longer than --scheduling-timeout"));
  CHECK(process.captured.contains("pod=hang"));
  CHECK(process.captured.contains("point=Filter"));
  CHECK(process.metrics.exposition().find("scheduler_scheduling_timeout{profile=\"default-scheduler\"}") !=
        std::string::npos);
}

TEST_CASE("what the scheduler tells of itself, to those who may ask") {
  Process process({}, "p");
  const net::Response early = process.ask("GET", "/apis/v1/__services__");
  CHECK(early.status == 503);
  CHECK(early.body == R"({"message":"the instance is not leader"})");
  process.wait_for_attempt();
  const auto json = [&](const char* path) {
    const net::Response answer = process.ask("GET", path);
    CHECK(answer.content_type == "application/json");
    return answer.body;
  };
  CHECK(
      json("/apis/v1/__services__") ==
      R"({"GET":["/apis/v1/__services__","/apis/v1/attempts/:namespace/:name","/apis/v1/nodes/:nodeName"]})");
  const std::string attempts = json("/apis/v1/attempts/default/p");
  CHECK(attempts.find(R"("outcome":"bind","node":"n")") != std::string::npos);
  CHECK(attempts.find(R"({"plugin":"NodeResourcesFit","score":)") != std::string::npos);
  const std::string node = json("/apis/v1/nodes/n");
  CHECK(node.starts_with(R"({"node":{"apiVersion":"v1","kind":"Node")"));
  CHECK(node.find(R"("pods":[{"Pod":{)") != std::string::npos);
  CHECK(
      node.find(R"("requested":{"MilliCPU":100,"Memory":134217728,"EphemeralStorage":0,"AllowedPodNumber":0,)"
                R"("ScalarResources":null})") != std::string::npos);
  CHECK(node.find(R"("remaining":{"MilliCPU":3900,)") != std::string::npos);
  CHECK(process.ask("GET", "/apis/v1/nodes/x").status == 404);
  CHECK(json("/apis/v1/nodes/x") == R"({"message":"cannot find node x"})");
  CHECK(process.ask("GET", "/apis/v1/plugins/NodeResourcesFit/x").status == 404);
  CHECK(process.ask("GET", "/apis/v1/x").status == 404);
  CHECK(process.ask("POST", "/apis/v1/__services__").status == 405);
}

TEST_CASE("flags that say what is logged can be set while it runs") {
  Process process({}, "p");
  struct Case {
    const char *flag, *value;
    unsigned status;
    const char* text;
  };
  for (const Case& c : std::vector<Case>{
           {"s", "3", 200, "successfully set debugTopNScores to 3\n"},
           {"f", "true", 200, "successfully set debugFilterFailure to true\n"},
           {"d", "T", 200, "successfully set debugFilterFailure to T\n"},
           {"v", "4", 200, "successfully set klog.logging.verbosity to 4\n"},
           {"s", "x", 400, "failed set debugTopNScores x: not a number from 0 to 1000\n"},
           {"f", "2", 400,
            "failed set debugFilterFailure 2: strconv.ParseBool: parsing \"2\": invalid syntax\n"}}) {
    const net::Response answer = process.ask("PUT", fmt::format("/debug/flags/{}", c.flag), c.value);
    CHECK(answer.status == c.status);
    CHECK(answer.body == c.text);
  }
  CHECK(process.ask("GET", "/debug/flags/s").body == "3\n");
  CHECK(process.ask("GET", "/debug/flags/d").body == "true\n");
  CHECK(process.ask("POST", "/debug/flags/d").status == 406);
  CHECK(process.ask("GET", "/debug/flags").body.find("<tr>db<br>") != std::string::npos);
  CHECK(process.log.verbosity() == 4);
  process.wait_for_attempt();
  CHECK(process.captured.contains("scores"));
}

TEST_CASE("gates that koord cannot honour are named in a warning") {
  koord::test::RoleRig rig(scheduler::role(), {"--write-config-to=/dev/null"});
  bool finished = false;
  rig.context.finish = [&] { finished = true; };
  REQUIRE(rig.gates
              .set("OpportunisticBatching=false,SchedulerPopFromBackoffQ=false,SchedulerQueueingHints=true,"
                   "LazyReservationRestore=true,PriorityTransformer=true,DynamicSchedulerCheck=false")
              .has_value());
  rig.start(make_role(rig.context, scheduling::plugin_table()));
  CHECK(finished);
  CHECK(rig.captured.contains("feature gates have no effect in this version"));
  CHECK(rig.captured.contains("OpportunisticBatching=false"));
  CHECK(rig.captured.contains("LazyReservationRestore=true (Without effect: "));
  for (const char* honoured : {"SchedulerPopFromBackoffQ", "PriorityTransformer", "DynamicSchedulerCheck"})
    CHECK_FALSE(rig.captured.contains(honoured));
}

TEST_CASE("the configuration in effect is shown under kube-scheduler's key") {
  Process process;
  CHECK(process.context.routes.configz().starts_with(R"({"componentconfig":{)"));
}

TEST_CASE("what kube-scheduler's tests and Koordinator's dashboard of the scheduler read is there") {
  std::ifstream list(koord::test::golden("scheduler/metrics.txt"));
  const auto known = koord::test::metric_names(scheduler::role().metrics);
  std::string name;
  int count = 0;
  while (std::getline(list, name)) {
    if (name.empty() || name.starts_with('#')) continue;
    ++count;
    INFO(name);
    CHECK(std::find(known.begin(), known.end(), name) != known.end());
  }
  CHECK(count > 30);
}

TEST_CASE("the metrics of a running role are those that its descriptor lists") {
  Process process;
  for (int i = 0; i < 1000 && !process.hang.holds(); ++i) process.loop.advance(5ms);
  CHECK(koord::test::metric_names(process.metrics) == koord::test::metric_names(scheduler::role().metrics));
}

}  // namespace
}  // namespace koord::scheduler::test
