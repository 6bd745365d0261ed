// Writer: what becomes of a binding that the API server refuses, delays or loses.
#include "write/writer.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

#include "koord/async/event.hpp"
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

using scheduling::Decision;
using Answer = Result<net::Response>;

Answer created() { return json_response(201, R"({"kind":"Status","status":"Success"})"); }
Answer refused(unsigned code, const char* reason) { return status_response(code, reason); }
Answer refused_for(std::chrono::seconds wait) {
  net::Response response = status_response(429, "TooManyRequests");
  response.headers.add("Retry-After", std::to_string(wait.count()));
  return response;
}
Answer lost() { return Error(Code::unavailable, "connection reset by peer"); }
Answer silent() { return Error(Code::timeout, "no answer"); }

struct Row {
  const char* name;
  std::vector<Answer> answers;  // to the tries of the binding
  const char* bound_to;         // what a GET of the pod shows: a node or ""
  int tries;
  bool scheduled;
  nanoseconds at_least{0};
};

struct Scene : SilentRole {
  explicit Scene(const Row& r) : row(r) {
    transport.answer = [this](const net::Request& request) { return answer(request); };
  }

  Answer answer(const net::Request& request) {
    if (request.target.ends_with("/binding")) return row.answers.at(static_cast<std::size_t>(tries++));
    if (request.target.find("/events") != std::string::npos) {
      if (request.body.find("\"Scheduled\"") != std::string::npos) ++scheduled_events;
      if (request.body.find("\"FailedScheduling\"") != std::string::npos) ++failed_events;
      return json_response(201, "{}");
    }
    if (request.method == "PATCH") {
      ++conditions;
      CHECK(request.body.find("SchedulerError") != std::string::npos);
      return json_response(200, "{}");
    }
    return json_response(200, R"({"metadata":{"name":"p","namespace":"default","uid":"uid-p"},)"
                              R"("spec":{"nodeName":")" +
                                  std::string(row.bound_to) + "\"}}");
  }

  kube::Object find(const kube::ObjectType&, std::string_view, std::string_view) const override {
    return pod;
  }
  void binding_ended(std::shared_ptr<const api::Pod>, bool bound) override { put_back += !bound; }
  void done() override { ++told; }

  void run(bool may_write) {
    writes = may_write;
    kube::Client client(transport, loop.clock, {});
    metrics::Registry registry;
    Telemetry telemetry(registry, {});
    CapturedLog captured;
    kube::EventRecorder events(loop.executor(), client, loop.clock, {.controller = "c", .instance = "c-1"});
    recorder = &events;
    Writer writer(loop.executor(), {client, loop.clock, Logger(captured, loop.clock), telemetry, *this});
    const MonoTime start = loop.clock.mono();
    writer.write({.pod = pod,
                  .profile = "default-scheduler",
                  .attempts = 1,
                  .outcome = Decision::Bind{.node = Symbol("n1"), .binder = "DefaultBinder"}});
    while (writer.in_flight() > 0) {
      loop.settle();
      if (writer.in_flight() > 0 && !loop.clock.advance_to_next()) break;
    }
    took = loop.clock.mono() - start;
    CHECK(writer.in_flight() == 0);
    koord::test::run_task(loop, events.stop());
    koord::test::run_task(loop, writer.stop(0s));
  }

  const Row& row;
  koord::test::Loop loop;
  koord::test::FakeTransport transport{loop.clock};
  int tries = 0, scheduled_events = 0, failed_events = 0, conditions = 0, put_back = 0, told = 0;
  std::shared_ptr<const api::Pod> pod = make_pod("p");
  nanoseconds took{};
};

TEST_CASE("a binding is tried again where that is safe, and never counted twice") {
  const Row kRows[] = {
      {"at once", {created()}, "", 1, true},
      {"server error", {refused(500, "InternalError"), created()}, "", 2, true},
      {"cut twice", {lost(), lost(), created()}, "", 3, true},
      {"asked to wait", {refused_for(3s), created()}, "", 2, true, 3s},
      {"bound by the try that was lost", {silent(), refused(409, "Conflict")}, "n1", 2, true},
      {"somebody else bound it", {refused(409, "Conflict")}, "n2", 1, false},
      {"a conflict for another reason", {refused(409, "Conflict")}, "", 1, false},
      {"gone", {refused(404, "NotFound")}, "", 1, false},
      {"forbidden", {refused(403, "Forbidden")}, "", 1, false},
      {"broken for long", std::vector<Answer>(5, refused(500, "InternalError")), "", 5, false, 1500ms},
  };
  for (const Row& row : kRows) {
    INFO(row.name);
    Scene scene(row);
    scene.run(true);
    CHECK(scene.tries == row.tries);
    CHECK(scene.scheduled_events == (row.scheduled ? 1 : 0));
    CHECK(scene.failed_events == (row.scheduled ? 0 : 1));
    CHECK(scene.conditions == (row.scheduled ? 0 : 1));
    CHECK(scene.put_back == (row.scheduled ? 0 : 1));
    CHECK(scene.told == 1);
    CHECK(scene.took >= row.at_least);
  }
}

TEST_CASE("without the lease nothing is written, and the pod is put back: the lease may be renewed yet") {
  const Row row{"lost lease", {}, "", 0, false};
  Scene scene(row);
  scene.run(false);
  CHECK(scene.tries == 0);
  CHECK(scene.transport.requests.empty());
  CHECK(scene.put_back == 1);
  CHECK(scene.told == 1);
}

/// What a plugin does before a binding: an entry in a list, and what it says.
struct Preparation : scheduling::PreBindWork {
  Preparation(std::vector<std::string>& steps, scheduling::Status answer, bool ends)
      : steps_(steps), answer_(std::move(answer)), ends_(ends) {}
  Task<scheduling::Status> run(const Context& context) override {
    steps_.push_back(fmt::format("prepare {} on {}", context.pod->metadata.name, context.node.view()));
    Event never;
    if (!ends_ && !co_await never.wait())
      co_return scheduling::Status{scheduling::StatusCode::error, "cut off"};
    co_return answer_;
  }

 private:
  std::vector<std::string>& steps_;
  scheduling::Status answer_;
  bool ends_;
};

/// A writer and an API server that takes everything; what happens is a list of steps.
struct Steps : SilentRole {
  Steps() {
    transport.answer = [this](const net::Request& request) -> Answer {
      if (request.target.ends_with("/binding")) steps.push_back("bind");
      if (request.method == "PATCH") steps.push_back(request.body);
      if (request.method == "PATCH" && !request.target.ends_with("/status") && !to_patches.empty()) {
        Answer first = std::move(to_patches.front());
        to_patches.erase(to_patches.begin());
        return first;
      }
      return created();
    };
    recorder = &events_recorder;
    writer.emplace(loop.executor(), WriterParts{.client = client,
                                                .clock = loop.clock,
                                                .log = Logger(captured, loop.clock),
                                                .telemetry = telemetry,
                                                .role = *this,
                                                .checks_pods = true});
  }
  ~Steps() {
    koord::test::run_task(loop, events_recorder.stop());
    koord::test::run_task(loop, writer->stop(0s));
  }
  kube::Object find(const kube::ObjectType&, std::string_view, std::string_view name) const override {
    for (const auto& other : others)
      if (other->metadata.name == name) return other;
    return pod && name == pod->metadata.name ? pod : nullptr;
  }
  void binding_ended(std::shared_ptr<const api::Pod>, bool bound) override {
    steps.push_back(bound ? "bound" : "not bound");
  }
  void done() override { steps.push_back("done"); }
  Decision decision(Decision::Outcome outcome = Decision::Bind{
                        .node = Symbol("n1"), .binder = "DefaultBinder", .tells_end = true}) {
    return {.pod = pod, .profile = "default-scheduler", .attempts = 1, .outcome = std::move(outcome)};
  }
  static Decision::Bind& binding(Decision& d) { return std::get<Decision::Bind>(d.outcome); }
  /// What plugins change, to be said.
  static scheduling::PodChanges& change(Decision& d) {
    auto changes = std::make_shared<scheduling::PodChanges>();
    if (binding(d).changes) *changes = *binding(d).changes;
    binding(d).changes = changes;
    return *changes;
  }
  void prepare(Decision& d, const char* plugin, scheduling::Status answer = {}, bool ends = true) {
    binding(d).pre_binds.push_back({plugin, std::make_shared<Preparation>(steps, std::move(answer), ends)});
  }
  std::string write(Decision d) {
    writer->write(std::move(d));
    loop.settle();
    return fmt::format("{}", fmt::join(steps, ", "));
  }

  koord::test::Loop loop;
  koord::test::FakeTransport transport{loop.clock};
  kube::Client client{transport, loop.clock, {}};
  metrics::Registry registry;
  Telemetry telemetry{registry, {}};
  CapturedLog captured;
  kube::EventRecorder events_recorder{
      loop.executor(), client, loop.clock, {.controller = "c", .instance = "c-1"}};
  std::shared_ptr<const api::Pod> pod = make_pod("p");
  std::vector<std::shared_ptr<const api::Pod>> others;
  std::vector<std::string> steps;
  std::vector<Answer> to_patches;  // of pods, not of their status; then all are taken
  std::optional<Writer> writer;
};

constexpr const char* kNomination = R"({"status":{"nominatedNodeName":"n1"}})";

TEST_CASE("before a binding that has to wait its node is told, and what is to be done is done in turn") {
  Steps s;
  Decision d = s.decision();
  s.binding(d).nominate = Symbol("n1");
  s.prepare(d, "A");
  s.prepare(d, "B");
  CHECK(s.write(std::move(d)) ==
        fmt::format("done, {}, prepare p on n1, prepare p on n1, bind, bound", kNomination));
}

TEST_CASE("a pod that waits has its node told, and uses up no permit") {
  Steps s;
  CHECK(s.write(s.decision(Decision::Wait{Symbol("n1"), {}, "A"})) == "done");
  CHECK(s.write(s.decision(Decision::Wait{Symbol("n1"), Symbol("n1"), "A"})) ==
        fmt::format("done, {}, done", kNomination));
  CHECK(s.writer->in_flight() == 0);
}

TEST_CASE("a pod whose binding waits for long is told so, once") {
  Steps s;
  std::vector<std::string> notes;
  s.transport.answer = [&](const net::Request& request) -> Answer {
    if (request.target.ends_with("/events")) notes.push_back(request.body);
    return created();
  };
  const auto told = [&] {
    return std::count_if(notes.begin(), notes.end(), [](const std::string& n) {
      return n.find("WaitingForBinding") != std::string::npos;
    });
  };
  s.write(s.decision(Decision::Wait{Symbol("n1"), {}, "Coscheduling"}));
  SECTION("for a permit") {
    s.loop.advance(Writer::kTellWaiting - 1s);
    CHECK(told() == 0);
    s.loop.advance(1s);
    CHECK(told() == 1);
    CHECK(notes.at(0).find("assumed on n1, waiting for a permit of Coscheduling") != std::string::npos);
    s.loop.advance(1h);
    CHECK(told() == 1);
  }
  SECTION("not when it went on") {
    s.write(s.decision());
    s.loop.advance(1h);
    CHECK(told() == 0);
  }
  SECTION("not when it is gone") {
    s.pod = nullptr;
    s.loop.advance(1h);
    CHECK(told() == 0);
  }
  SECTION("for what is done before") {
    Decision bind = s.decision();
    s.prepare(bind, "VolumeBinding", {}, false);
    s.write(std::move(bind));
    s.loop.advance(Writer::kTellWaiting);
    CHECK(told() == 1);
    CHECK(notes.at(0).find("waiting for what VolumeBinding is doing before the binding") !=
          std::string::npos);
  }
}

TEST_CASE("a pod that is kept out of the queue has an event and a condition") {
  Steps s;
  const std::string steps = s.write(s.decision(Decision::Gated{"gang: 1 of 4"}));
  CHECK(steps.find("\"reason\":\"SchedulingGated\"") != std::string::npos);
  CHECK(steps.find("gang: 1 of 4") != std::string::npos);
  CHECK(s.events_recorder.counts().recorded == 1);
  CHECK(steps.ends_with("done"));
}

TEST_CASE("what plugins have to add to a failure is an event beside it, under the same limits") {
  struct Telling : Steps {
    std::vector<scheduling::FailureEventPlugin::Event> also_told(std::string_view profile,
                                                                 const api::Pod& pod,
                                                                 std::string_view message) const override {
      return {{"FailedScheduling-Room", fmt::format("{} {} {}", profile, pod.metadata.name, message)}};
    }
  } s;
  std::vector<std::string> events;
  s.transport.answer = [&](const net::Request& request) {
    if (request.target.find("/events") != std::string::npos) events.push_back(request.body);
    return created();
  };
  s.write(s.decision(Decision::Unschedulable{"0/1 nodes are available: 1 Insufficient cpu.", {}, {}}));
  s.write(s.decision(Decision::Unschedulable{"0/1 nodes are available: 1 Insufficient cpu.", {}, {}}));
  s.loop.settle();
  CHECK(s.events_recorder.counts().recorded == 4);
  CHECK(s.events_recorder.counts().merged == 2);
  REQUIRE(events.size() >= 2);
  CHECK(events[0].find(R"("reason":"FailedScheduling")") != std::string::npos);
  CHECK(events[1].find(R"("reason":"FailedScheduling-Room")") != std::string::npos);
  CHECK(events[1].find(R"("action":"Scheduling")") != std::string::npos);
  CHECK(events[1].find(R"("type":"Warning")") != std::string::npos);
  CHECK(events[1].find("default-scheduler p 0/1 nodes are available: 1 Insufficient cpu.") !=
        std::string::npos);
}

TEST_CASE("a preparation that fails ends the binding, and its reason is told") {
  struct Case {
    const char* name;
    scheduling::Status answer;
    const char *reason, *message;
  };
  for (const Case& c :
       {Case{"error",
             {scheduling::StatusCode::error, "broken"},
             "SchedulerError",
             R"(running PreBind plugin \"A\": broken)"},
        Case{"rejected", {scheduling::StatusCode::unschedulable, "no"}, "Unschedulable", "no"}}) {
    INFO(c.name);
    Steps s;
    Decision d = s.decision();
    s.prepare(d, "A", c.answer);
    s.prepare(d, "B");
    s.write(std::move(d));
    REQUIRE(s.steps.size() == 4);
    CHECK(s.steps[0] == "done");
    CHECK(s.steps[1] == "prepare p on n1");
    CHECK(s.steps[2] == "not bound");
    CHECK(s.steps[3].find(fmt::format(R"("reason":"{}")", c.reason)) != std::string::npos);
    CHECK(s.steps[3].find(fmt::format(R"("message":"{}")", c.message)) != std::string::npos);
  }
}

TEST_CASE("a preparation that never ends uses up no permit, and is cut off by the end") {
  Steps s;
  Decision d = s.decision();
  s.prepare(d, "A", {}, false);
  CHECK(s.write(std::move(d)) == "done, prepare p on n1");
  s.loop.advance(24h);
  CHECK(s.writer->in_flight() == 1);
  CHECK(s.steps.size() == 2);
  const MonoTime began = s.loop.clock.mono();
  koord::test::run_task(s.loop, s.writer->stop(5s));
  CHECK(s.loop.clock.mono() - began == 5s);
  CHECK(s.writer->in_flight() == 0);
}

constexpr const char* kPatch = R"({"metadata":{"uid":"uid-p","labels":{"l":"2"},"annotations":{"a":"1"}}})";

TEST_CASE("what plugins change of a pod is one patch, after their work and before the binding") {
  struct Case {
    const char* name;
    std::vector<Answer> answers;
    int patches;
    const char* failure = nullptr;
  };
  const char* const kGoing = R"({"metadata":{"name":"p","deletionTimestamp":"2026-01-01T00:00:00Z"}})";
  const Case cases[] = {
      {"taken", {}, 1},
      {"a conflict", {refused(409, "Conflict"), refused(409, "Conflict")}, 3},
      {"too many requests", {refused_for(0s)}, 2},
      {"a lost connection", {lost()}, 2},
      {"too many conflicts",
       {refused(409, "Conflict"), refused(409, "Conflict"), refused(409, "Conflict"),
        refused(409, "Conflict")},
       4,
       "running PreBindExtension plugin"},
      {"forbidden", {refused(403, "Forbidden")}, 1, "running PreBindExtension plugin"},
      {"it is being deleted",
       {json_response(200, kGoing)},
       1,
       R"(running PreBindExtension plugin \"DefaultPreBind\": pod is being deleted)"},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    Steps s;
    s.to_patches = c.answers;
    Decision d = s.decision();
    s.prepare(d, "A");
    s.change(d).labels["l"] = "2";
    s.change(d).annotations["a"] = "1";
    s.binding(d).patches = "DefaultPreBind";
    s.writer->write(std::move(d));
    for (int i = 0; i < 20; ++i) {
      s.loop.settle();
      s.loop.advance(1s);
    }
    CHECK(std::count(s.steps.begin(), s.steps.end(), kPatch) == c.patches);
    REQUIRE(s.steps.size() >= 3);
    CHECK(s.steps[0] == "done");
    CHECK(s.steps[1] == "prepare p on n1");
    CHECK(s.steps[2] == kPatch);
    if (c.failure == nullptr) {
      CHECK(s.steps.back() == "bound");
    } else {
      CHECK(std::count(s.steps.begin(), s.steps.end(), "bind") == 0);
      CHECK_THAT(s.steps.back(), Catch::Contains(c.failure));
    }
  }
}

TEST_CASE("a pod that is as plugins want it already is not patched, and nothing is where a plugin failed") {
  Steps s;
  s.pod = make_pod("p", "1", "1Mi", [](api::Pod& p) { p.metadata.annotations["a"] = "1"; });
  Decision d = s.decision();
  s.change(d).annotations["a"] = "1";
  CHECK(s.write(d) == "done, bind, bound");
  s.steps.clear();
  s.change(d).annotations["a"] = "2";
  s.prepare(d, "A", {scheduling::StatusCode::error, "broken"});
  s.write(std::move(d));
  CHECK(s.steps[1] == "prepare p on n1");
  CHECK(s.steps[2] == "not bound");
}

TEST_CASE("plugins take keys of a pod away, change its spec, and write into other pods, before the binding") {
  Steps s;
  s.pod = make_pod("p", "1", "1Mi", [](api::Pod& p) { p.metadata.labels = {{"old", "1"}, {"stays", "1"}}; });
  const auto other = make_pod("other"), lost = make_pod("lost");
  s.others = {other};
  Decision d = s.decision();
  scheduling::PodChanges& changes = s.change(d);
  changes.removed_labels = {"old"};
  changes.spec.emplace_back([](api::PodSpec& spec) { spec.tolerations.emplace_back().key = "k"; });
  changes.others = {{other, {.annotations = {{"member", "1"}}}}, {lost, {.labels = {{"a", "b"}}}}};
  s.binding(d).patches = "DefaultPreBind";
  SECTION("who has gone meanwhile is passed over") {
    s.write(std::move(d));
    REQUIRE(s.steps.size() == 5);
    CHECK_THAT(s.steps[1], Catch::Contains(R"("old":null)") && Catch::Contains(R"("tolerations")") &&
                               Catch::Contains("uid-p") && !Catch::Contains("stays"));
    CHECK_THAT(s.steps[2], Catch::Contains(R"("member":"1")") && Catch::Contains("uid-other"));
    CHECK(s.steps[3] == "bind");
    CHECK(s.steps[4] == "bound");
  }
  SECTION("one that cannot be written keeps the pod from being bound, and is named") {
    s.to_patches = {created(), refused(403, "Forbidden")};
    s.write(std::move(d));
    CHECK(std::count(s.steps.begin(), s.steps.end(), "bind") == 0);
    CHECK_THAT(s.steps.back(), Catch::Contains("pod default/other"));
  }
}

TEST_CASE("before its binding a pod is looked at once more") {
  struct Case {
    const char* name;
    PodEdit now;
    const char* message;  // nullptr: it is bound
  };
  const Case cases[] = {
      {"as it was", [](api::Pod&) {}, nullptr},
      {"of another scheduler by its label",
       [](api::Pod& p) { p.metadata.labels["scheduling.koordinator.sh/scheduler-name"] = "another"; },
       "schedulerName unmatched"},
      {"of ours by its label",
       [](api::Pod& p) {
         p.spec.scheduler_name = "another";
         p.metadata.labels["scheduling.koordinator.sh/scheduler-name"] = "default-scheduler";
       },
       nullptr},
      {"being deleted", [](api::Pod& p) { p.metadata.deletion_timestamp = api::Time(); },
       "pod is being deleted"},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    Steps s;
    s.pod = make_pod("p", "1", "1Mi", c.now);
    s.write(s.decision());
    CHECK(std::count(s.steps.begin(), s.steps.end(), "bind") == (c.message == nullptr ? 1 : 0));
    if (c.message != nullptr) {
      CHECK(s.steps.at(0) == "not bound");
      CHECK_THAT(s.steps.at(1), Catch::Contains(c.message));
      CHECK(s.steps.at(2) == "done");
    }
  }
}

}  // namespace
}  // namespace koord::scheduler::test
