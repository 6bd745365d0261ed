// The elector's driver: what it writes, and that it stops.
#include "koord/kube/leader_election.hpp"

#include <catch2/catch.hpp>

#include "koord/async/task_group.hpp"
#include "koord/json/pointer.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"
#include "koord/kube/client.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"

using namespace koord;
using namespace koord::kube;
using namespace std::chrono_literals;

namespace {

struct World {
  test::Loop loop;
  test::FakeTransport server{loop.clock};
  Client client{server, loop.clock, {.max_retries = 0}};
  TaskGroup group{loop.executor()};
  std::optional<json::Document> lease;
  int version = 1;
  unsigned refuse = 0;

  World() {
    server.answer = [this](const net::Request& request) -> Result<net::Response> {
      if (refuse != 0) return test::status_response(refuse, "");
      if (request.method == "GET")
        return lease ? test::json_response(200, json::to_text(*lease))
                     : test::status_response(404, "NotFound");
      json::Document body = *json::parse(request.body);
      if (request.method == "PUT" &&
          json::text_at(body, "metadata", "resourceVersion") != std::to_string(version))
        return test::status_response(409, "Conflict");
      json::set_text(*json::find(body, "metadata"), "resourceVersion", std::to_string(++version),
                     body.arena());
      lease = std::move(body);
      return test::json_response(200, json::to_text(*lease));
    };
  }
  ~World() { test::run_task(loop, group.stop(loop.clock, 1s)); }
  std::string text(std::string_view path) {
    const json::Value* value = json::find_path(*lease, path);
    return value ? std::string(value->text()) : "-";
  }
};

LeaderElectionConfig config(std::string identity) {
  return {.lease_namespace = "koordinator-system",
          .lease_name = "koord-scheduler",
          .identity = std::move(identity)};
}

struct Role {
  Role(World& w, std::string identity) : Role(w, config(std::move(identity))) {}
  Role(World& w, LeaderElectionConfig config) : election(w.client, w.loop.clock, std::move(config)) {}
  LeaderElection election;
  std::string ended;
  Task<> run() {
    Result<> result = co_await election.acquire();
    if (result) result = co_await election.hold();
    ended = std::string(to_string(result.error().code()));
  }
};

}  // namespace

TEST_CASE("the lease is made, renewed in place, and given back") {
  World w;
  Role role(w, "a");
  CHECK_FALSE(role.election.leading());
  w.group.spawn("role", role.run());
  w.loop.advance(1s);
  CHECK(role.election.leading());
  CHECK(w.text("/spec/holderIdentity") == "a");
  CHECK(json::int_at(*w.lease, "spec", "leaseDurationSeconds") == 15);
  CHECK(json::int_at(*w.lease, "spec", "leaseTransitions") == 0);
  CHECK(w.text("/metadata/namespace") == "koordinator-system");
  // What others put there stays.
  json::Value& metadata = *json::find(*w.lease, "metadata");
  json::set_text(json::object_at(metadata, "labels", w.lease->arena()), "team", "x", w.lease->arena());
  json::set_text(metadata, "resourceVersion", std::to_string(++w.version), w.lease->arena());
  const std::string renewed = w.text("/spec/renewTime");
  for (int i = 0; i < 20; ++i) w.loop.advance(1s);
  CHECK(role.election.leading());
  CHECK(w.text("/spec/renewTime") > renewed);
  CHECK(w.text("/metadata/labels/team") == "x");
  test::run_task(w.loop, w.group.stop(w.loop.clock, 5s));
  CHECK(role.ended == "cancelled");
  CHECK_FALSE(role.election.leading());
  CHECK(w.text("/spec/holderIdentity").empty());
}

TEST_CASE("leading ends in time although the server does not answer") {
  World w;
  Role role(w, "a");
  w.group.spawn("role", role.run());
  w.loop.advance(1s);
  REQUIRE(role.election.leading());
  w.server.delay = 1h;
  for (int i = 0; i < 120 && role.election.leading(); ++i) w.loop.advance(100ms);
  CHECK_FALSE(role.election.leading());
  for (int i = 0; i < 10; ++i) w.loop.advance(100ms);
  CHECK(role.ended == "conflict");
}

TEST_CASE("a namespace that is missing is told, not waited for") {
  World w;
  w.server.answer = [](const net::Request&) {
    return test::status_response(404, "NotFound", "namespaces not found");
  };
  Role role(w, "a");
  w.group.spawn("role", role.run());
  w.loop.advance(1s);
  CHECK(role.ended == "not found");
}

TEST_CASE("a second elector takes over what the first gave back") {
  World w;
  Role first(w, "a"), second(w, "b");
  TaskGroup group(w.loop.executor());
  group.spawn("first", first.run());
  w.loop.advance(1s);
  w.group.spawn("second", second.run());
  w.loop.advance(5s);
  CHECK(first.election.leading());
  CHECK(second.election.holder() == "a");
  test::run_task(w.loop, group.stop(w.loop.clock, 5s));
  for (int i = 0; i < 6; ++i) w.loop.advance(1s);
  CHECK(second.election.leading());
  CHECK(json::int_at(*w.lease, "spec", "leaseTransitions") == 1);
  test::run_task(w.loop, w.group.stop(w.loop.clock, 5s));
}

TEST_CASE("a leader that does not do its work lets the lease run out") {
  World w;
  bool works = true;
  LeaderElectionConfig settings = config("a");
  settings.may_renew = [&] { return works; };
  Role role(w, settings);
  w.group.spawn("role", role.run());
  for (int i = 0; i < 10; ++i) w.loop.advance(1s);
  REQUIRE(role.election.leading());

  // For a while: the next renewal comes in time.
  works = false;
  std::string renewed = w.text("/spec/renewTime");
  for (int i = 0; i < 6; ++i) w.loop.advance(1s);
  CHECK(role.election.leading());
  CHECK(w.text("/spec/renewTime") == renewed);
  works = true;
  for (int i = 0; i < 20; ++i) w.loop.advance(1s);
  CHECK(role.election.leading());
  CHECK(w.text("/spec/renewTime") > renewed);

  // For good: it is lost renew_deadline after the last renewal, nothing was written, and another may have it.
  works = false;
  renewed = w.text("/spec/renewTime");
  for (int i = 0; i < 11; ++i) w.loop.advance(1s);
  CHECK_FALSE(role.election.leading());
  CHECK(role.ended == "conflict");
  CHECK(w.text("/spec/renewTime") == renewed);
  Role second(w, "b");
  w.group.spawn("second", second.run());
  for (int i = 0; i < 20; ++i) w.loop.advance(1s);
  CHECK(w.text("/spec/holderIdentity") == "b");
  test::run_task(w.loop, w.group.stop(w.loop.clock, 5s));
}
