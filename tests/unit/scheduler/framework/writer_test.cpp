// Writer: what becomes of a binding that the API server refuses, delays or loses.
#include "framework/writer.hpp"

#include <catch2/catch.hpp>

#include "koord/kube/client.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"
#include "world.hpp"

namespace koord::scheduler::test {
namespace {

using koord::test::json_response;
using koord::test::status_response;
using namespace std::chrono_literals;

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

struct Scene {
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

  void run(bool may_write) {
    kube::Client client(transport, loop.clock, {});
    metrics::Registry registry;
    Telemetry telemetry(registry, {});
    CapturedLog captured;
    kube::EventRecorder recorder(loop.executor(), client, loop.clock, {.controller = "c", .instance = "c-1"});
    auto pod = make_pod("p");
    Writer writer(loop.executor(), {client, loop.clock, Logger(captured, loop.clock), telemetry,
                                    [&](std::string_view) -> kube::EventRecorder& { return recorder; },
                                    [&](const api::Pod&) { return pod; }, [&] { return may_write; },
                                    [&](auto, bool bound) { put_back += !bound; }, [&] { ++done; }});
    const MonoTime start = loop.clock.mono();
    writer.write({Decision::Kind::bind, pod, Symbol("n1"), "", "default-scheduler", 1, {}, {}});
    while (writer.in_flight() > 0) {
      loop.settle();
      if (writer.in_flight() > 0 && !loop.clock.advance_to_next()) break;
    }
    took = loop.clock.mono() - start;
    CHECK(writer.in_flight() == 0);
    koord::test::run_task(loop, recorder.stop());
    koord::test::run_task(loop, writer.stop(0s));
  }

  const Row& row;
  koord::test::Loop loop;
  koord::test::FakeTransport transport{loop.clock};
  int tries = 0, scheduled_events = 0, failed_events = 0, conditions = 0, put_back = 0, done = 0;
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
    CHECK(scene.done == 1);
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
  CHECK(scene.done == 1);
}

}  // namespace
}  // namespace koord::scheduler::test
