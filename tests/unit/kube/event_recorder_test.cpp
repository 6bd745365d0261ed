// The recorder's driver: queue, connections, faults.
#include "koord/kube/event_recorder.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/json/value.hpp"
#include "koord/kube/client.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"

using namespace koord;
using namespace koord::kube;
using namespace std::chrono_literals;

namespace {

struct World {
  explicit World(EventRecorderConfig c = {.controller = "koord-scheduler", .instance = "koord-scheduler-h"})
      : config(std::move(c)) {
    server.answer = [](const net::Request&) { return test::json_response(201, "{}"); };
    pod.metadata.name = "p";
    pod.metadata.namespace_ = "ns";
    pod.metadata.uid = "u1";
  }
  ~World() { test::run_task(loop, recorder.stop()); }
  EventRecorderConfig config;
  test::Loop loop;
  test::FakeTransport server{loop.clock};
  Client client{server, loop.clock, {.max_retries = 0}};
  EventRecorder recorder{loop.executor(), client, loop.clock, config};
  api::Pod pod;

  void record(std::string_view note, bool repeats = true) {
    recorder.record({.regarding = event_object(pod),
                     .type = EventType::warning,
                     .reason = "FailedScheduling",
                     .action = "Scheduling",
                     .note = note,
                     .repeats = repeats});
  }
};

}  // namespace

TEST_CASE("an event is posted, its repetition patched, the third counted") {
  World w;
  w.record("0/1 nodes");
  w.loop.settle();
  REQUIRE(w.server.requests.size() == 1);
  CHECK(w.server.requests[0].target == "/apis/events.k8s.io/v1/namespaces/ns/events");
  const auto body = json::parse(w.server.requests[0].body);
  REQUIRE(body.has_value());
  CHECK(json::text_at(*body, "regarding", "kind") == "Pod");
  CHECK(json::text_at(*body, "regarding", "apiVersion") == "v1");
  CHECK(json::text_at(*body, "note") == "0/1 nodes");
  const std::string name(json::text_at(*body, "metadata", "name"));
  CHECK(name.starts_with("p."));
  w.record("0/1 nodes");
  w.record("0/1 nodes");
  w.loop.settle();
  REQUIRE(w.server.requests.size() == 2);
  CHECK(w.server.requests[1].method == "PATCH");
  CHECK(w.server.requests[1].target == "/apis/events.k8s.io/v1/namespaces/ns/events/" + name);
  CHECK(w.recorder.counts().merged == 2);
  w.record("0/2 nodes");
  w.loop.settle();
  CHECK(w.server.requests.size() == 3);
  for (int i = 0; i < 8; ++i) w.loop.advance(1min);
  REQUIRE(w.server.requests.size() == 4);
  CHECK(json::int_at(*json::parse(w.server.requests[3].body), "series", "count") == 3);
}

TEST_CASE("an event that the server does not have is written anew when it happens again") {
  // Complaint 2389: a pod that waits for long is not left without an event.
  const auto creations = [](const World& w) {
    return std::count_if(w.server.requests.begin(), w.server.requests.end(),
                         [](const net::Request& r) { return r.method == "POST"; });
  };
  SECTION("deleted while its series goes on") {
    World w;
    w.record("0/1 nodes");
    w.loop.settle();
    w.server.answer = [](const net::Request& r) {
      return r.method == "PATCH" ? test::status_response(404, "NotFound") : test::json_response(201, "{}");
    };
    w.record("0/1 nodes");
    for (int i = 0; i < 10; ++i) w.loop.advance(10s);
    CHECK(creations(w) == 1);
    w.record("0/1 nodes");
    w.loop.settle();
    CHECK(creations(w) == 2);
  }
  SECTION("refused") {
    World w;
    w.server.answer = [](const net::Request&) { return test::status_response(403, "Forbidden"); };
    w.record("0/1 nodes");
    w.loop.settle();
    w.record("0/1 nodes");
    w.loop.settle();
    CHECK(creations(w) == 2);
  }
  SECTION("dropped from a full queue") {
    World w({.controller = "c", .instance = "i", .queue_limit = 2});
    w.server.delay = 1s;
    w.record("0/1 nodes");
    for (int i = 0; i < 2; ++i) w.record("once", false);
    CHECK(w.recorder.counts().dropped == 1);
    w.record("0/1 nodes");
    CHECK(w.recorder.counts().merged == 0);
  }
}

TEST_CASE("one object's flood is limited; what happens once is not") {
  World w;
  for (int i = 0; i < 100; ++i) w.record("note " + std::to_string(i));
  CHECK(w.recorder.counts().limited == 75);
  for (int i = 0; i < 100; ++i) w.record("once", false);
  w.loop.settle();
  CHECK(w.server.requests.size() == 125);
  CHECK(w.recorder.counts().written == 125);
}

TEST_CASE("many requests are in flight, but not more than allowed, and names differ") {
  World w;
  w.server.delay = 10ms;
  for (int i = 0; i < 200; ++i) w.record("once", false);
  CHECK(w.recorder.queued() == 200);
  for (int i = 0; i < 20; ++i) w.loop.advance(10ms);
  CHECK(w.server.most_in_flight == 16);
  CHECK(w.recorder.counts().written == 200);
  std::set<std::string> names;
  for (const auto& request : w.server.requests)
    names.insert(std::string(json::text_at(*json::parse(request.body), "metadata", "name")));
  CHECK(names.size() == 200);
}

TEST_CASE("a full queue drops the oldest and counts") {
  World w({.controller = "c", .instance = "i", .queue_limit = 10});
  w.server.delay = 1h;
  for (int i = 0; i < 25; ++i) w.record("n" + std::to_string(i), false);
  CHECK(w.recorder.queued() == 10);
  CHECK(w.recorder.counts().dropped == 15);
  w.loop.settle();
  CHECK(w.server.requests.at(0).body.find("n15") != std::string::npos);
}

TEST_CASE("events outlive a server that is away for a while, and are refused but once") {
  World w;
  auto usual = w.server.answer;
  w.server.answer = [](const net::Request&) { return Error(Code::unavailable, "connection refused"); };
  for (int i = 0; i < 5; ++i) w.record("n", false);
  for (int i = 0; i < 20; ++i) w.loop.advance(1s);
  CHECK(w.recorder.counts().written == 0);
  w.server.answer = usual;
  for (int i = 0; i < 20; ++i) w.loop.advance(1s);
  CHECK(w.recorder.counts().written == 5);
  w.server.answer = [](const net::Request&) { return test::status_response(403, "Forbidden"); };
  w.record("n", false);
  for (int i = 0; i < 20; ++i) w.loop.advance(1s);
  CHECK(w.recorder.counts().failed == 1);
}

TEST_CASE("stop writes what is queued, and does not wait for ever") {
  World w;
  w.server.delay = 100ms;
  for (int i = 0; i < 32; ++i) w.record("n", false);
  test::run_task(w.loop, w.recorder.stop(2s));
  CHECK(w.recorder.counts().written == 32);
  w.record("late", false);
  CHECK(w.recorder.counts().recorded == 32);
  World slow;
  slow.server.delay = 1h;
  slow.record("n", false);
  const MonoTime before = slow.loop.clock.mono();
  test::run_task(slow.loop, slow.recorder.stop(2s));
  CHECK(slow.loop.clock.mono() - before <= 3s);
}
