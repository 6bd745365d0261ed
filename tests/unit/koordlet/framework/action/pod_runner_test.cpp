// PodRunner: what becomes of an eviction, whatever the API server or the node says to it.
#include "framework/action/pod_runner.hpp"

#include <catch2/catch.hpp>
#include <future>
#include <optional>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/base/file.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using test::status_response;
using namespace std::chrono_literals;

/// A node of cgroup v2 with one pod of two containers, and an API server that a test plays.
struct Scene {
  Scene() {
    server.answer = [this](const net::Request& request) -> Result<net::Response> {
      if (request.target.find("/events") == std::string::npos) return answer;
      events.push_back(request.body);
      return test::json_response(201, "{}");
    };
    auto object = std::make_shared<api::Pod>();
    object->metadata.name = "a";
    object->metadata.namespace_ = Symbol("ns");
    object->metadata.uid = "u";
    auto pod = std::make_shared<PodInfo>();
    pod->uid = "u", pod->name = "a", pod->ns = "ns", pod->object = object;
    for (const char* name : {"c1", "c2"})
      pod->containers.push_back({.name = name, .id = name, .group = fmt::format("kubepods/podu/{}", name)});
    action = {.pod = pod, .message = "trigger by koordlet feature F, kill pod: a"};
  }
  ~Scene() {
    test::run_task(loop, recorder.stop());
    test::run_task(loop, tasks.stop(loop.clock, 0s));
  }
  void run(ActionKind kind) {
    action.kind = kind;
    runner.run(action, [this](const Result<>& result) { outcome = result; });
  }
  void make_groups(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      tree.write(fmt::format("kubepods/podu/{}/cgroup.procs", name), "2\n");
      tree.write(fmt::format("kubepods/podu/{}/cgroup.kill", name), "");
    }
  }
  std::string killed(std::string_view name) const {
    return read_file(tree / fmt::format("kubepods/podu/{}/cgroup.kill", name)).value();
  }
  /// Until the worker has answered.
  Result<> wait() {
    const auto guard = asio::make_work_guard(loop.context);
    while (!outcome) {
      loop.context.restart();
      loop.context.run_one();
    }
    return *outcome;
  }

  test::Loop loop;
  koord::testing::Tree tree;
  test::FakeTransport server{loop.clock};
  kube::Client client{server, loop.clock, {}};
  kube::EventRecorder recorder{loop.executor(), client, loop.clock, {.controller = "c", .instance = "c-1"}};
  CapturedLog captured;
  Logger log{captured, loop.clock};
  WorkerPool workers{1};
  host::CgroupFs fs = host::CgroupFs::open({.cgroup = tree.path() + "/"}, host::CgroupVersion::v2).value();
  TaskGroup tasks{loop.executor(), log_failures(log)};
  Auditor auditor{{.log_dir = tree / "audit"}, loop.clock, log};
  PodRunner runner{{tasks, loop.clock, log, workers, fs, &auditor, &client, &recorder}};
  Result<net::Response> answer = test::json_response(201, "{}");
  Action action;
  std::optional<Result<>> outcome;
  std::vector<std::string> events;
};

TEST_CASE("The API server is asked once to evict this pod, not who has its name by then",
          "[koordlet][evict]") {
  struct Case {
    Result<net::Response> answer;
    nanoseconds delay;
    std::optional<Code> code;  // of the outcome; nothing: evicted
    std::string event;         // empty: there is none
  };
  const Case cases[] = {
      {test::json_response(201, "{}"), 0s, {}, "evictPodSuccess"},
      {status_response(404, "NotFound"), 0s, Code::not_found, ""},
      {status_response(409, "Conflict", "Precondition failed: UID in precondition"), 0s, Code::conflict,
       "evictPodFail"},
      {status_response(429, "TooManyRequests", "violates a budget"), 0s, Code::too_many_requests,
       "evictPodFail"},
      {status_response(500, "InternalError", "two budgets"), 0s, Code::server_error, "evictPodFail"},
      {status_response(403, "Forbidden"), 0s, Code::forbidden, "evictPodFail"},
      {Error(Code::unavailable, "connection refused"), 0s, Code::unavailable, "evictPodFail"},
      {test::json_response(201, "{}"), 1h, Code::timeout, "evictPodFail"},
  };
  for (const Case& one : cases) {
    Scene scene;
    scene.answer = one.answer;
    scene.server.delay = one.delay;
    scene.run(ActionKind::evict_pod);
    scene.loop.settle();
    const net::Request asked = scene.server.requests.at(0);
    CHECK(asked.method == "POST");
    CHECK(asked.target == "/api/v1/namespaces/ns/pods/a/eviction");
    CHECK(asked.body.find(R"("preconditions":{"uid":"u"})") != std::string::npos);
    CHECK(scene.outcome.has_value() == (one.delay == 0s));
    scene.server.delay = 0s;
    scene.loop.advance(11s);
    REQUIRE(scene.outcome.has_value());
    CHECK(scene.server.requests.size() == 1 + scene.events.size());
    CHECK(scene.outcome->has_value() == !one.code.has_value());
    if (one.code) CHECK(scene.outcome->error().code() == *one.code);
    CHECK(scene.events.size() == (one.event.empty() ? 0 : 1));
    for (const std::string& event : scene.events) {
      CHECK(event.find(fmt::format(R"("reason":"{}")", one.event)) != std::string::npos);
      CHECK(event.find(
                "evict Pod:ns/a, reason: evicted, message: trigger by koordlet feature F, kill pod: a") !=
            std::string::npos);
      CHECK((event.find(", error ") != std::string::npos) == one.code.has_value());
    }
    CHECK(scene.captured.count(LogLevel::warn) == (one.event == "evictPodFail" ? 1 : 0));
    CHECK(scene.captured.count(LogLevel::error) == 0);
  }
}

TEST_CASE("A pod is stopped if something of it was there to be stopped", "[koordlet][evict]") {
  Scene scene;
  SECTION("all of it") {
    scene.make_groups({"c1", "c2"});
    scene.run(ActionKind::stop_pod);
    CHECK(scene.wait().has_value());
    CHECK(scene.killed("c1") == "1");
    CHECK(scene.killed("c2") == "1");
  }
  SECTION("one has ended by itself") {
    scene.make_groups({"c2"});
    scene.run(ActionKind::stop_pod);
    CHECK(scene.wait().has_value());
    CHECK(scene.killed("c2") == "1");
  }
  SECTION("the kubelet's list is of containers that were") {
    scene.run(ActionKind::stop_pod);
    CHECK(scene.wait().error().code() == Code::unavailable);
    CHECK(scene.captured.contains("a pod cannot be evicted"));
  }
  SECTION("nobody is in its groups any more") {
    scene.make_groups({"c1", "c2"});
    for (const char* name : {"c1", "c2"})
      scene.tree.write(fmt::format("kubepods/podu/{}/cgroup.procs", name), "");
    scene.run(ActionKind::stop_pod);
    CHECK(scene.wait().error().code() == Code::unavailable);
    CHECK_FALSE(scene.captured.contains("a pod was evicted"));
  }
  SECTION("one that cannot be stopped keeps no other one alive") {
    scene.make_groups({"c2"});
    scene.tree.write("kubepods/podu/c1/cgroup.procs", "2\n");
    scene.tree.write("kubepods/podu/c1/cgroup.kill/", "");  // a folder takes no write
    scene.run(ActionKind::stop_pod);
    CHECK_FALSE(scene.wait().has_value());
    CHECK(scene.killed("c2") == "1");
  }
  CHECK(scene.events.empty());  // upstream sends none either
}

TEST_CASE("An eviction is audited, however it is done", "[koordlet][evict]") {
  Scene scene;
  scene.make_groups({"c1"});
  scene.run(GENERATE(ActionKind::stop_pod, ActionKind::evict_pod));
  CHECK(scene.wait().has_value());
  CHECK_THAT(scene.auditor.answer("", "", true).body,
             Catch::Contains(R"("type":"pod","level":"0","namespace":"ns","name":"a","reason":"evicted",)"
                             R"("message":"trigger by koordlet feature F, kill pod: a")"));
}

TEST_CASE("A worker that is free too late stops nobody any more", "[koordlet][evict]") {
  Scene scene;
  scene.make_groups({"c1", "c2"});
  std::promise<void> ends;
  scene.tasks.spawn("hog", scene.workers.run([&ends] { ends.get_future().wait(); }));
  scene.loop.settle();
  scene.run(ActionKind::stop_pod);
  scene.loop.settle();
  scene.loop.advance(11s);
  CHECK_FALSE(scene.outcome.has_value());
  ends.set_value();
  CHECK(scene.wait().error().code() == Code::unavailable);
  CHECK(scene.killed("c1").empty());
}

}  // namespace
}  // namespace koord::koordlet
