// Evictions: what victims are told and asked, and what becomes of those that cannot be.
#include "write/evictions.hpp"

#include <catch2/catch.hpp>

#include "koord/kube/client.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"
#include "world.hpp"
#include "write/silent_role.hpp"

namespace koord::scheduler::test {
namespace {

using namespace scheduling::test;
using koord::test::json_response;
using koord::test::status_response;
using namespace std::chrono_literals;

/// An API server on which victims die as a test says; what happens is a list of steps.
struct Scene : SilentRole {
  Scene() {
    recorder = &events_recorder;
    transport.answer = [this](const net::Request& request) -> Result<net::Response> {
      if (request.target.find("/events") != std::string::npos) {
        const auto at = request.body.find("Preempted by pod");
        steps.push_back(at == std::string::npos ? request.body
                                                : request.body.substr(at, request.body.find('"', at) - at));
        return json_response(201, "{}");
      }
      const auto name = request.target.substr(request.target.rfind("/pods/") + 6);
      steps.push_back(fmt::format("{} {}", request.method, name));
      if (request.method == "DELETE") deletions.push_back(request.body);
      if (request.method == "PATCH") patches.push_back(request.body);
      const auto at = answers.find(steps.back());
      return at == answers.end() ? json_response(200, "{}") : at->second;
    };
  }
  void know(const std::shared_ptr<const api::Pod>& pod) { pods[pod->metadata.name] = pod; }

  /// A decision of the pod "p", of which the victims are "v0", "v1", ...; until all of it is done.
  void preempt(int victims, const std::vector<std::string>& yielding = {},
               const std::function<void(scheduling::Preemption&)>& edit = {}) {
    scheduling::Decision::Unschedulable refused{.message = {}, .nominate = Symbol("n1"), .preemption = {}};
    scheduling::Preemption& preemption = refused.preemption;
    preemption.tried = true;
    for (int i = 0; i < victims; ++i) preemption.victims.push_back({make_pod(fmt::format("v{}", i)), false});
    preemption.chosen = preemption.victims.size();
    for (const auto& victim : preemption.victims)
      if (!gone) know(victim.pod);
    for (const std::string& name : yielding) {
      preemption.nominations.push_back(
          {make_pod(name, "1", "1Gi", [](api::Pod& p) { p.status.nominated_node_name = "n1"; })});
      know(preemption.nominations.back().pod);
    }
    if (edit) edit(preemption);
    const WriterParts parts{client, loop.clock, Logger(captured, loop.clock), telemetry, *this};
    TaskGroup tasks(loop.executor(), log_failures(Logger(captured, loop.clock)));
    Evictions evictions(tasks, parts);
    evictions.begin(
        std::make_shared<const scheduling::Decision>(scheduling::Decision{.pod = make_pod("p"),
                                                                          .profile = "default-scheduler",
                                                                          .attempts = 1,
                                                                          .outcome = std::move(refused)}),
        [&] { ++ended; });
    while (tasks.size() > 0) {
      loop.settle();
      if (tasks.size() > 0 && !loop.clock.advance_to_next()) break;
    }
    koord::test::run_task(loop, events_recorder.stop());
    koord::test::run_task(loop, tasks.stop(loop.clock, 0s));
  }
  kube::Object find(const kube::ObjectType&, std::string_view, std::string_view name) const override {
    const auto it = pods.find(name);
    return it == pods.end() ? nullptr : it->second;
  }
  void preempted(std::shared_ptr<const api::Pod> pod, bool all) override {
    steps.push_back(fmt::format("{} {}", pod->metadata.name, all ? "all" : "not all"));
  }
  bool did(std::string_view step) const { return std::find(steps.begin(), steps.end(), step) != steps.end(); }

  koord::test::Loop loop;
  koord::test::FakeTransport transport{loop.clock};
  kube::Client client{transport, loop.clock, {}};
  metrics::Registry registry;
  Telemetry telemetry{registry, {}};
  CapturedLog captured;
  kube::EventRecorder events_recorder{
      loop.executor(), client, loop.clock, {.controller = "c", .instance = "c-1"}};
  std::map<std::string, std::shared_ptr<const api::Pod>, std::less<>> pods;  // as they are now
  std::map<std::string, net::Response> answers;  // to "METHOD NAME"; else it is done
  bool gone = false;
  std::vector<std::string> steps, deletions, patches;
  int ended = 0;
};

TEST_CASE("a victim is told why it goes, and then deleted: itself, not who has its name by then") {
  Scene s;
  s.preempt(2);
  CHECK(s.deletions.size() == 2);
  for (const char* name : {"v0", "v1"}) {
    INFO(name);
    const auto told = std::find(s.steps.begin(), s.steps.end(), fmt::format("PATCH {}/status", name));
    const auto asked = std::find(s.steps.begin(), s.steps.end(), fmt::format("DELETE {}", name));
    REQUIRE(asked != s.steps.end());
    CHECK(told < asked);
    CHECK(std::any_of(s.deletions.begin(), s.deletions.end(), [&](const std::string& body) {
      return body.find(fmt::format(R"("uid":"uid-{}")", name)) != std::string::npos;
    }));
  }
  for (const std::string& body : s.patches) {
    CHECK(body.find("DisruptionTarget") != std::string::npos);
    CHECK(body.find("PreemptionByScheduler") != std::string::npos);
  }
  CHECK(std::count(s.steps.begin(), s.steps.end(), "Preempted by pod uid-p on node n1") == 2);
  CHECK(s.did("p all"));
  CHECK(s.ended == 1);
}

TEST_CASE("whoever lost room that was left to them is told so") {
  Scene s;
  s.preempt(1, {"y"});
  CHECK(s.did("PATCH y/status"));
  CHECK(std::any_of(s.patches.begin(), s.patches.end(), [](auto& body) {
    return body.find(R"("nominatedNodeName":null)") != std::string::npos;
  }));
  CHECK(s.did("p all"));
}

TEST_CASE("members of a job are nominated with it, and each victim hears of its own node") {
  Scene s;
  s.preempt(2, {}, [&](scheduling::Preemption& p) {
    p.victims[1].pod = make_pod("v1", "1", "1Gi", [](api::Pod& v) { v.spec.node_name = "n2"; });
    s.know(p.victims[1].pod);
    const auto bound = make_pod("bound", "1", "1Gi", [](api::Pod& b) { b.spec.node_name = "n3"; });
    const auto member = make_pod("member");
    for (const auto& pod : {bound, member}) s.know(pod);
    p.nominations = {{member, Symbol("n2")}, {bound, Symbol("n2")}};
  });
  CHECK(s.did("PATCH member/status"));
  CHECK(std::any_of(s.patches.begin(), s.patches.end(), [](auto& body) {
    return body.find(R"("nominatedNodeName":"n2")") != std::string::npos;
  }));
  CHECK_FALSE(s.did("PATCH bound/status"));
  CHECK(s.did("Preempted by pod uid-p on node n1"));
  CHECK(s.did("Preempted by pod uid-p on node n2"));
  CHECK(s.did("p all"));
}

TEST_CASE("a victim that has gone has gone; one that cannot be asked is told of") {
  struct Row {
    const char* name;
    std::string step;
    net::Response answer;
    bool all, event;
  };
  const Row kRows[] = {
      {"gone before it is told", "PATCH v0/status", status_response(404, "NotFound"), true, true},
      {"gone before it is asked", "DELETE v0", status_response(404, "NotFound"), true, true},
      {"made again under its name", "DELETE v0", status_response(409, "Conflict"), true, true},
      {"may not be told", "PATCH v0/status", status_response(403, "Forbidden"), false, false},
      {"may not be deleted", "DELETE v0", status_response(403, "Forbidden"), false, false},
  };
  for (const Row& row : kRows) {
    INFO(row.name);
    Scene s;
    s.answers[row.step] = row.answer;
    s.preempt(1);
    CHECK(s.did(row.all ? "p all" : "p not all"));
    CHECK(s.did("Preempted by pod uid-p on node n1") == row.event);
    CHECK(s.ended == 1);
    CHECK(s.captured.contains("a preemption failed") == !row.all);
  }
}

TEST_CASE("one victim of two that cannot be asked does not keep the other") {
  Scene s;
  s.answers["DELETE v0"] = status_response(403, "Forbidden");
  s.preempt(2);
  CHECK(s.did("DELETE v1"));
  CHECK(s.did("p not all"));
  CHECK(s.ended == 1);
}

TEST_CASE("who has gone, goes already, or only waited for a permit is not asked") {
  SECTION("gone") {
    Scene s;
    s.gone = true;
    s.preempt(1);
    CHECK(s.deletions.empty());
    CHECK(s.did("p all"));
  }
  SECTION("goes already") {
    Scene s;
    s.preempt(1, {}, [&](scheduling::Preemption& p) {
      s.know(changed(p.victims[0].pod, [](api::Pod& v) { v.metadata.deletion_timestamp = api::Time(); }));
    });
    CHECK(s.deletions.empty());
    CHECK(s.did("p all"));
  }
  SECTION("waited") {
    Scene s;
    s.preempt(1, {}, [](scheduling::Preemption& p) { p.victims[0].waited = true; });
    CHECK(s.deletions.empty());
    CHECK(s.did("Preempted by pod uid-p on node n1"));
    CHECK(s.did("p all"));
  }
}

TEST_CASE("without the lease nobody is asked to go") {
  Scene s;
  s.writes = false;
  s.preempt(2, {"y"});
  CHECK(s.transport.requests.empty());
  CHECK(s.did("p not all"));
  CHECK(s.ended == 1);
}

}  // namespace
}  // namespace koord::scheduler::test
