// What is bound without being a pod: objects of a throw-away kind, from the decision to the API server.
#include "write/placed.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "bookings.hpp"
#include "koord/kube/client.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"
#include "world.hpp"
#include "write/silent_role.hpp"
#include "write/writer.hpp"

namespace koord::scheduler::test {
namespace {

using namespace scheduling::test;
using koord::test::json_response;
using koord::test::status_response;
using namespace std::chrono_literals;

using scheduling::Decision;
using Answer = Result<net::Response>;
using Given = std::shared_ptr<const Booking>;

Answer refused(unsigned code, const char* reason) { return status_response(code, reason); }
Answer silent() { return Error(Code::timeout, "no answer"); }

Given on(const Given& booking, const char* node, const char* version) {
  return changed(booking, [&](Booking& b) {
    b.status.node = node;
    b.metadata.resource_version = version;
  });
}

/// A writer, and an API server that has a booking; what happens is a list of steps.
struct Hotel : SilentRole {
  Hotel() {
    transport.answer = [this](const net::Request& request) { return answer(request); };
    recorder = &events_recorder;
    kinds.add(kind);
    writer.emplace(loop.executor(), WriterParts{.client = client,
                                                .clock = loop.clock,
                                                .log = Logger(captured, loop.clock),
                                                .telemetry = telemetry,
                                                .role = *this,
                                                .checks_pods = true});
  }
  ~Hotel() {
    koord::test::run_task(loop, events_recorder.stop());
    koord::test::run_task(loop, writer->stop(0s));
  }
  Answer answer(const net::Request& request) {
    if (request.target.ends_with("/events")) {
      events.push_back(request.body);
      return json_response(201, "{}");
    }
    const std::string name = request.target.substr(request.target.find("/default/") + 9);
    steps.push_back(fmt::format("{} {} {}", request.method, name, request.body));
    if (request.method == "GET")
      return there ? json_response(200, api::encode(*there)) : refused(404, "NotFound");
    if (answers.empty()) return json_response(200, there ? api::encode(*there) : "{}");
    Answer first = std::move(answers.front());
    answers.erase(answers.begin());
    return first;
  }
  kube::Object find(const kube::ObjectType& type, std::string_view, std::string_view name) const override {
    if (&type == &kube::kObjectType<Booking>) return known;
    const auto it = pods.find(name);
    return it == pods.end() ? nullptr : it->second;
  }
  void binding_ended(std::shared_ptr<const api::Pod>, bool bound) override {
    ended.push_back(bound ? "bound" : "not bound");
  }
  void preempted(std::shared_ptr<const api::Pod>, bool all) override {
    ended.push_back(all ? "preempted" : "not preempted");
  }
  void done() override { ++given_back; }

  Decision decision(Decision::Outcome outcome) const {
    return {.pod = pod, .profile = "default-scheduler", .attempts = 1, .outcome = std::move(outcome)};
  }
  Decision binding() {
    scheduling::PodInfo info;
    info.pod = pod;
    scheduling::Profile profile;
    scheduling::PodAttempt attempt(info, profile);
    return decision(Decision::Bind{
        .node = Symbol("n1"), .binder = "Booker", .binding = booker.bind(attempt), .tells_end = true});
  }
  void write(Decision d) {
    writer->write(std::move(d));
    for (int i = 0; i < 20; ++i) {
      loop.settle();
      loop.advance(1s);
    }
    CHECK(writer->in_flight() == 0);
  }
  /// Of the first event with the reason; empty: there is none.
  std::string event(std::string_view reason) const {
    for (const std::string& e : events)
      if (e.find(fmt::format(R"("reason":"{}")", reason)) != std::string::npos) return e;
    return {};
  }
  bool has_step(std::string_view part) const {
    return std::any_of(steps.begin(), steps.end(),
                       [&](const std::string& step) { return step.find(part) != std::string::npos; });
  }

  koord::test::Loop loop;
  koord::test::FakeTransport transport{loop.clock};
  kube::Client client{transport, loop.clock, {}};
  metrics::Registry registry;
  Telemetry telemetry{registry, {}};
  CapturedLog captured;
  kube::EventRecorder events_recorder{
      loop.executor(), client, loop.clock, {.controller = "c", .instance = "c-1"}};
  std::shared_ptr<const Bookings> kind = std::make_shared<Bookings>();
  ManualClock engine_clock;
  scheduling::Engine engine{engine_clock, {}};
  Booker booker{engine.context()};

  Given known = make_booking("b"), there = known;  // by the watch, and at the API server
  std::shared_ptr<const api::Pod> pod = kind->as_pod(known);
  std::map<std::string, std::shared_ptr<const api::Pod>, std::less<>> pods;
  std::vector<Answer> answers;  // to writes; then all are taken
  std::vector<std::string> steps, events, ended;
  int given_back = 0;
  std::optional<Writer> writer;
};

/// What the booking is patched with, in its version.
std::string bound_from(const char* version) {
  return fmt::format(R"(PATCH bookings/b/status {{"metadata":{{"uid":"uid-of-b","resourceVersion":"{}"}},)"
                     R"("status":{{"node":"n1","phase":"Placed"}}}})",
                     version);
}

TEST_CASE(
    "an object's binding is a patch of it, tried again where that is safe, and never somebody else's place") {
  struct Case {
    const char* name;
    std::vector<Answer> answers;
    const char *there, *version;        // at the API server, when it is looked at after the first try
    std::vector<std::string> versions;  // that were patched
    const char* failure = nullptr;
  };
  const Case cases[] = {
      {"at once", {}, "", "1", {"1"}},
      {"changed meanwhile", {refused(409, "Conflict")}, "", "2", {"1", "2"}},
      {"no answer, and nothing was done", {silent()}, "", "1", {"1", "1"}},
      {"no answer, and it was done", {silent()}, "n1", "2", {"1"}},
      {"a server error", {refused(500, "InternalError")}, "", "1", {"1", "1"}},
      {"somebody else bound it",
       {refused(409, "Conflict")},
       "n2",
       "2",
       {"1"},
       R"(running Bind plugin \"Booker\": booking default/b is on node n2 already)"},
      {"forbidden", {refused(403, "Forbidden")}, "", "1", {"1"}, R"(running Bind plugin \"Booker\": )"},
      {"broken for long",
       std::vector<Answer>(5, refused(500, "InternalError")),
       "",
       "1",
       {"1", "1", "1", "1", "1"},
       R"(running Bind plugin \"Booker\": )"},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    Hotel h;
    h.answers = c.answers;
    h.there = on(h.known, c.there, c.version);
    h.write(h.binding());
    std::vector<std::string> patched, wanted;
    for (const std::string& step : h.steps)
      if (step.find("Placed") != std::string::npos) patched.push_back(step);
    for (const std::string& version : c.versions) wanted.push_back(bound_from(version.c_str()));
    CHECK(patched == wanted);
    CHECK(h.ended == std::vector<std::string>{c.failure == nullptr ? "bound" : "not bound"});
    CHECK(h.given_back == 1);
    CHECK_FALSE(h.has_step("/binding"));
    const std::string regards =
        R"("regarding":{"kind":"Booking","namespace":"default","name":"b","uid":"uid-of-b","apiVersion":"test.koord/v1")";
    if (c.failure == nullptr) {
      CHECK_THAT(h.event("Scheduled"), Catch::Contains("Successfully assigned default/b to n1"));
      CHECK_THAT(h.event("Scheduled"), Catch::Contains(regards));
    } else {
      CHECK_THAT(h.event("FailedScheduling"), Catch::Contains(c.failure));
      CHECK_THAT(h.event("FailedScheduling"), Catch::Contains(regards));
      CHECK(h.has_step(R"("reason":"SchedulerError")"));
    }
  }
}

TEST_CASE("an object that goes, ends or is another one meanwhile is not bound") {
  struct Case {
    const char* name;
    std::function<void(Hotel&)> now;
    const char* failure;
    bool told;  // by its status
  };
  const Case cases[] = {
      {"gone", [](Hotel& h) { h.known = h.there = nullptr; }, R"(booking \"b\" not found)", false},
      {"gone when it is patched",
       [](Hotel& h) {
         h.there = nullptr;
         h.answers = {refused(409, "Conflict")};
       },
       R"(running Bind plugin \"Booker\": booking \"b\" not found)", true},
      {"another of its name",
       [](Hotel& h) { h.known = changed(h.known, [](Booking& b) { b.metadata.uid = "another"; }); },
       R"(booking \"b\" not found)", false},
      {"being deleted",
       [](Hotel& h) {
         h.known = changed(h.known, [](Booking& b) { b.metadata.deletion_timestamp = api::Time(); });
       },
       "booking is being deleted", true},
      {"at its end",
       [](Hotel& h) { h.known = changed(h.known, [](Booking& b) { b.status.phase = "Ended"; }); },
       "booking default/b wants no place any more", false},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    Hotel h;
    Decision d = h.binding();
    c.now(h);
    h.write(std::move(d));
    CHECK(h.ended == std::vector<std::string>{"not bound"});
    CHECK_THAT(h.event("FailedScheduling"), Catch::Contains(c.failure));
    CHECK(h.has_step("SchedulerError") == c.told);
    CHECK(h.given_back == 1);
    CHECK_FALSE(h.captured.contains("could not patch"));
  }
}

TEST_CASE("an object that no plugin binds fails by its name, and no pod of that name is bound") {
  Hotel h;
  h.write(h.decision(Decision::Bind{.node = Symbol("n1")}));
  CHECK_THAT(h.event("FailedScheduling"),
             Catch::Contains("no Bind plugin of profile default-scheduler binds booking default/b"));
  CHECK_FALSE(h.has_step("/binding"));
  h.write(h.decision(Decision::Bind{.node = Symbol("n1"), .binder = "DefaultBinder"}));
  CHECK_FALSE(h.has_step("/binding"));
  CHECK(h.ended == std::vector<std::string>{"not bound", "not bound"});
}

TEST_CASE("without the lease no object is written") {
  Hotel h;
  h.writes = false;
  h.write(h.binding());
  h.write(h.decision(Decision::Unschedulable{.message = "no"}));
  CHECK(h.steps.empty());
  CHECK(h.events.empty());
  CHECK(h.ended == std::vector<std::string>{"not bound"});
  CHECK(h.given_back == 2);
}

TEST_CASE("what plugins change of an object is written before it is bound, and the binding knows of it") {
  Hotel h;
  h.there = changed(h.known, [](Booking& b) {
    b.metadata.annotations["a"] = "1";
    b.metadata.resource_version = "2";
  });
  Decision d = h.binding();
  auto& bind = std::get<Decision::Bind>(d.outcome);
  scheduling::PodChanges changes;
  changes.annotations["a"] = "1";
  bind.changes = std::make_shared<const scheduling::PodChanges>(changes);
  bind.patches = "DefaultPreBind";
  h.write(std::move(d));
  CHECK(h.steps ==
        std::vector<std::string>{
            R"(PATCH bookings/b {"metadata":{"uid":"uid-of-b","annotations":{"a":"1"}}})", bound_from("2")});
  CHECK(h.ended == std::vector<std::string>{"bound"});
}

TEST_CASE("an object hears of a failed attempt as its kind says, also where it has changed since") {
  Hotel h;
  h.answers = {refused(409, "Conflict")};
  h.there = on(h.known, "", "2");
  h.write(
      h.decision(Decision::Unschedulable{.message = "0/1 nodes are available.", .nominate = Symbol("n2")}));
  const std::string said =
      R"("status":{"nominated":"n2","reason":"Unschedulable","message":"0/1 nodes are available."}})";
  CHECK(h.steps ==
        std::vector<std::string>{
            R"(PATCH bookings/b/status {"metadata":{"uid":"uid-of-b","resourceVersion":"1"},)" + said,
            "GET bookings/b ",
            R"(PATCH bookings/b/status {"metadata":{"uid":"uid-of-b","resourceVersion":"2"},)" + said});
  CHECK_THAT(h.event("FailedScheduling"), Catch::Contains(R"("kind":"Booking")"));

  h.steps.clear();
  h.write(h.decision(Decision::Wait{Symbol("n1"), Symbol("n1"), "A"}));
  CHECK(h.has_step(R"("status":{"nominated":"n1"})"));

  // It is told of by what it is.
  h.answers = {refused(403, "Forbidden")};
  h.write(h.decision(Decision::Unschedulable{.message = "no"}));
  CHECK(h.captured.contains("could not patch a booking's status"));
  CHECK(h.captured.contains("booking=b"));
}

TEST_CASE("an object that has to make room goes as its kind says, and who takes it is called what it is") {
  Hotel h;
  const auto preempt = [&](std::shared_ptr<const api::Pod> who, std::shared_ptr<const api::Pod> victim) {
    Decision::Unschedulable refused{.message = "no", .nominate = Symbol("n1"), .preemption = {}};
    refused.preemption.victims.push_back({std::move(victim), false});
    refused.preemption.tried = true;
    Decision d = h.decision(std::move(refused));
    d.pod = std::move(who);
    h.write(std::move(d));
  };
  const auto p = make_pod("p");
  h.pods["p"] = p;
  SECTION("for a pod") {
    h.answers = {refused(409, "Conflict")};
    h.there = on(h.known, "n1", "2");
    preempt(p, h.pod);
    CHECK(h.has_step(
        R"("resourceVersion":"1"},"status":{"phase":"Ended","message":"its room went to a pod"}})"));
    CHECK(h.has_step(
        R"("resourceVersion":"2"},"status":{"phase":"Ended","message":"its room went to a pod"}})"));
    CHECK_FALSE(h.has_step("DELETE"));
    CHECK_THAT(h.event("Preempted"), Catch::Contains("Preempted by pod uid-p on node n1"));
    CHECK_THAT(h.event("Preempted"), Catch::Contains(R"("kind":"Booking")"));
    CHECK(h.ended == std::vector<std::string>{"preempted"});
  }
  SECTION("by its deletion") {
    h.known = changed(h.known, [](Booking& b) { b.spec.priority = -1; });
    preempt(p, h.pod);
    CHECK_FALSE(h.has_step("PATCH bookings"));
    CHECK(h.has_step("DELETE bookings/b "));
    CHECK(h.has_step(R"("uid":"uid-of-b")"));
    CHECK(h.ended == std::vector<std::string>{"preempted"});
  }
  SECTION("that has gone") {
    h.known = nullptr;
    preempt(p, h.pod);
    CHECK_FALSE(h.has_step("bookings"));
    CHECK(h.ended == std::vector<std::string>{"preempted"});
  }
  SECTION("that may not be told") {
    h.answers = {refused(403, "Forbidden")};
    preempt(p, h.pod);
    CHECK(h.ended == std::vector<std::string>{"not preempted"});
  }
  SECTION("for an object") {
    preempt(h.pod, p);
    CHECK(h.has_step("default-scheduler: preempting to accommodate a higher priority booking"));
    CHECK(h.has_step("DELETE pods/p"));
    CHECK_THAT(h.event("Preempted"), Catch::Contains("Preempted by booking uid-of-b on node n1"));
    CHECK_THAT(h.event("Preempted"), Catch::Contains(R"("related":{"kind":"Booking")"));
  }
}

}  // namespace
}  // namespace koord::scheduler::test
