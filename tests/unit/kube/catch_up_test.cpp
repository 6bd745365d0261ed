// catch_up(): an informer learns whether something is still under way to it, whatever its watch has told.
#include <catch2/catch.hpp>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "koord/async/task_group.hpp"
#include "koord/async/timer.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/informer.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"

using namespace koord;
using namespace koord::kube;
using namespace std::chrono_literals;
using api::Pod;

namespace {

std::string pod(std::string name, int version) {
  return R"({"metadata":{"name":")" + name + R"(","namespace":"ns","resourceVersion":")" +
         std::to_string(version) + R"("}})";
}
std::string line(std::string type, std::string object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}
std::string bookmark(int version) {
  return line("BOOKMARK", R"({"metadata":{"resourceVersion":")" + std::to_string(version) + R"("}})");
}
bool has(const net::Request& request, std::string_view text) {
  return request.target.find(text) != std::string::npos;
}

/// A server whose pods stand at `version`. The first watch is the informer's, which is told what the test
/// feeds; a probe is answered with `probed`.
struct World {
  World() {
    server.answer = [this](const net::Request& request) -> Result<net::Response> {
      if (has(request, "sendInitialEvents")) return test::status_response(422, "Invalid");
      if (request.target.ends_with("timeoutSeconds=3")) {
        probes.push_back(request.target);
        if (gone) return test::status_response(410, "Expired");
        return test::json_response(200, probed);
      }
      if (has(request, "watch=")) return test::json_response(200, "");
      if (refuses && request.target.ends_with("limit=1"))
        return test::status_response(503, "Unavailable", "away");
      lists.push_back(request.target);
      return test::json_response(200,
                                 R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":")" +
                                     std::to_string(version) + R"("},"items":[)" + items + "]}");
    };
    pods = set.informer<Pod>(client);
    set.start();
    loop.settle();
    REQUIRE(pods->synced());
  }
  ~World() {
    test::run_task(loop, tasks.stop(loop.clock, 5s));
    test::run_task(loop, set.stop());
  }

  void begin() {
    tasks.spawn("catch up", [](World& world) -> Task<Result<>> {
      world.ended = co_await world.pods->catch_up();
      co_return Result<>();
    }(*this));
    loop.settle();
  }
  void pass(nanoseconds time) {
    for (nanoseconds passed{0}; passed < time; passed += 10ms) loop.advance(10ms);
  }
  /// To the informer's own watch.
  void tell(std::string text) {
    server.bodies.front()->feed(std::move(text));
    loop.settle();
  }

  test::Loop loop;
  test::FakeTransport server{loop.clock};
  Client client{server, loop.clock, {.max_retries = 0}};
  InformerSet set{loop.executor(), loop.clock};
  TaskGroup tasks{loop.executor()};
  std::optional<Informer<Pod>> pods;
  int version = 7;
  bool gone = false, refuses = false;
  std::string probed, items = pod("a", 5);
  std::vector<std::string> lists, probes;
  std::optional<Result<>> ended;
};

TEST_CASE("who is as far as the server asks once") {
  World world;
  world.begin();
  REQUIRE(world.ended);
  CHECK(world.ended->has_value());
  CHECK(world.probes.empty());
  // One object of what the server has now, not of what a cache of it has.
  REQUIRE(world.lists.size() == 2);
  CHECK(world.lists[1].find("limit=1") != std::string::npos);
  CHECK(world.lists[1].find("resourceVersion") == std::string::npos);
}

TEST_CASE("what is under way is waited for, and no longer than that") {
  World world;
  world.version = 20;
  world.probed = line("MODIFIED", pod("a", 11)) + line("ADDED", pod("b", 12));
  world.begin();
  world.pass(100ms);
  CHECK_FALSE(world.ended);
  REQUIRE(world.probes.size() == 1);
  CHECK(world.probes[0].find("resourceVersion=7&") != std::string::npos);
  CHECK(world.pods->get("ns", "b") == nullptr);  // the probe's changes are its own
  // The server says that these two were all.
  world.server.bodies.back()->feed(bookmark(20));
  world.pass(100ms);
  CHECK_FALSE(world.ended);
  world.tell(line("MODIFIED", pod("a", 11)));
  world.pass(100ms);
  CHECK_FALSE(world.ended);
  world.tell(line("ADDED", pod("b", 12)));
  world.pass(20ms);
  REQUIRE(world.ended);
  CHECK(world.ended->has_value());
  CHECK(world.pods->get("ns", "b") != nullptr);
  world.pass(1s);
  CHECK(world.server.bodies.back()->dropped());
}

TEST_CASE("a collection that nobody changed is whole when the server says so") {
  World world;
  world.version = 20;
  world.begin();
  world.pass(1s);
  CHECK_FALSE(world.ended);
  world.server.bodies.back()->feed(bookmark(19));
  world.pass(100ms);
  CHECK_FALSE(world.ended);
  world.server.bodies.back()->feed(bookmark(20));
  world.pass(20ms);
  REQUIRE(world.ended);
  CHECK(world.ended->has_value());
}

TEST_CASE("a change after the asked version answers, too") {
  World world;
  world.version = 20;
  world.begin();
  world.pass(50ms);
  world.tell(line("ADDED", pod("c", 21)));
  world.pass(20ms);
  REQUIRE(world.ended);
  CHECK(world.ended->has_value());
}

TEST_CASE("where the server does not say how far its watch is, what is there is compared") {
  World world;
  world.version = 20;
  SECTION("all is here") {
    world.begin();
    world.pass(3s);
    CHECK_FALSE(world.ended);
    world.server.bodies.back()->feed(bookmark(7));
    world.server.bodies.back()->end();
    world.pass(100ms);
    REQUIRE(world.ended);
    CHECK(world.ended->has_value());
    CHECK(world.lists.back().find("limit=500") != std::string::npos);
    CHECK(world.lists.back().find("resourceVersion") == std::string::npos);
  }
  SECTION("what is another, new or gone is waited for") {
    world.items = pod("a", 11) + "," + pod("b", 12);
    world.begin();
    world.pass(3s);
    world.server.bodies.back()->end();
    world.pass(1s);
    CHECK_FALSE(world.ended);
    world.tell(line("MODIFIED", pod("a", 11)) + line("ADDED", pod("gone", 11)));
    world.pass(100ms);
    CHECK_FALSE(world.ended);
    world.tell(line("ADDED", pod("b", 12)));
    world.pass(100ms);
    CHECK_FALSE(world.ended);
    world.tell(line("DELETED", pod("gone", 13)));
    world.pass(100ms);
    REQUIRE(world.ended);
    CHECK(world.ended->has_value());
  }
  SECTION("of what cannot be read any more that stays which was known before") {
    world.items =
        R"({"metadata":{"name":"a","namespace":"ns","resourceVersion":"11"},"spec":{"containers":7}})";
    world.begin();
    world.pass(3s);
    world.server.bodies.back()->end();
    world.pass(1s);
    REQUIRE(world.ended);
    CHECK(world.ended->has_value());
  }
  SECTION("what has changed since is no matter") {
    world.items = pod("a", 11) + "," + pod("b", 12);
    world.begin();
    world.pass(3s);
    world.server.bodies.back()->end();
    world.pass(100ms);
    world.tell(line("MODIFIED", pod("a", 21)));
    world.pass(100ms);
    REQUIRE(world.ended);
    CHECK(world.ended->has_value());
  }
}

TEST_CASE("a server that forgot, or refuses, is an error") {
  World world;
  world.version = 20;
  SECTION("expired") {
    world.gone = true;
    world.begin();
    world.pass(500ms);
    REQUIRE(world.ended);
    CHECK(world.ended->error().code() == Code::gone);
  }
  SECTION("refused") {
    world.refuses = true;
    world.begin();
    REQUIRE(world.ended);
    CHECK(world.ended->error().code() == Code::unavailable);
  }
}

TEST_CASE("a kind that the server does not serve has nothing under way") {
  test::Loop loop;
  test::FakeTransport server{loop.clock};
  server.answer = [](const net::Request&) { return test::status_response(404, "NotFound"); };
  Client client{server, loop.clock, {.max_retries = 0}};
  InformerSet set{loop.executor(), loop.clock};
  auto metrics = set.informer<api::NodeMetric>(client);
  set.start();
  loop.settle();
  REQUIRE(metrics.synced());
  CHECK(test::run_task(loop, metrics.catch_up()).has_value());
  test::run_task(loop, set.stop());
}

}  // namespace
