// The controller of reservations against an API server that the test plays.
#include "scheduling/plugins/reservation/control/controller.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>

#include "koord/api/koordinator/reservation.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/metrics.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/informer.hpp"
#include "plugins/reservations.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"
#include "world.hpp"

namespace koord::scheduling::reservation {
namespace {

using namespace scheduling::test;
using namespace std::chrono_literals;
using koord::test::json_response;
using koord::test::status_response;

constexpr std::string_view kReservations = "/apis/scheduling.koordinator.sh/v1alpha1/reservations";

/// A node `n`, a pod `p` on it and reservations, told once; what is written is kept and answered.
struct World {
  explicit World(ControllerOptions options = {}) : controller(make_controller(options, informers, api)) {
    server.answer = [this](const net::Request& request) { return answer(request); };
  }
  ~World() {
    koord::test::run_task(loop, tasks.stop(loop.clock, 5s));
    koord::test::run_task(loop, informers.stop());
  }
  void begin() {
    informers.start();
    loop.settle();
    tasks.spawn("controller", controller->run({api, loop.clock, log, [this] { return leads; }, metrics}));
    loop.settle();
  }
  Result<net::Response> answer(const net::Request& request) {
    const auto has = [&](std::string_view text) { return request.target.find(text) != std::string::npos; };
    if (request.method != "GET") {
      writes.push_back(fmt::format("{} {} {}", request.method, request.target, request.body));
      if (refuse > 0 && refuse-- > 0) return status_response(500, "InternalError", "the disk is full");
      return json_response(200, "{}");
    }
    if (has("sendInitialEvents")) return status_response(422, "Invalid");
    if (has("watch=")) {
      watches.push_back(request.target.substr(0, request.target.find('?')));
      return json_response(200, "");
    }
    if (has("/nodes")) return list(node ? api::encode(*make_node("n")) : "");
    if (has("/pods")) return list(pod ? api::encode(*pod) : "");
    std::string items;
    for (const auto& each : reservations) items += (items.empty() ? "" : ",") + api::encode(*each);
    return list(items);
  }
  static Result<net::Response> list(const std::string& items) {
    return json_response(200, fmt::format(R"({{"metadata":{{"resourceVersion":"7"}},"items":[{}]}})", items));
  }
  void tell(std::string_view collection, std::string_view type, const std::string& object) {
    for (std::size_t i = 0; i < watches.size(); ++i)
      if (watches[i] == collection)
        server.bodies[i]->feed(fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object));
    loop.settle();
  }
  std::size_t wrote(std::string_view text) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        writes, [&](const std::string& each) { return each.find(text) != std::string::npos; }));
  }

  koord::test::Loop loop;
  koord::test::FakeTransport server{loop.clock};
  kube::Client api{server, loop.clock, {.max_retries = 0}};
  kube::InformerSet informers{loop.executor(), loop.clock};
  CapturedLog captured;
  Logger log{captured, loop.clock};
  metrics::Registry metrics;
  std::unique_ptr<PluginController> controller;
  bool node = true, leads = true;
  int refuse = 0;
  std::shared_ptr<const api::Pod> pod;
  std::vector<std::shared_ptr<const api::Reservation>> reservations;
  std::vector<std::string> writes, watches;
  std::optional<Error> failure;
  TaskGroup tasks{loop.executor(), [this](std::string_view, const Error& error) { failure = error; }};
};

std::shared_ptr<const api::Reservation> placed(std::string name, const ReservationEdit& edit = {}) {
  return make_reservation(std::move(name), "4", [&](api::Reservation& r) {
    r.metadata.resource_version = "5";
    r.status.phase = "Available";
    r.status.node_name = "n";
    r.status.allocatable["cpu"] = *api::Quantity::parse("4");
    if (edit) edit(r);
  });
}

std::shared_ptr<const api::Pod> user_of(std::string_view reservation) {
  return changed(make_pod("p", "1"), [&](api::Pod& pod) {
    pod.metadata.uid = "uid-of-p";
    pod.metadata.resource_version = "5";
    pod.spec.node_name = "n";
    pod.metadata.annotations[api::ReservationAllocated::kAnnotation] =
        fmt::format(R"({{"name":"{0}","uid":"uid-of-{0}"}})", reservation);
  });
}

TEST_CASE("owners are written into the status of that very reservation") {
  World world;
  world.reservations = {placed("r"), placed("idle")};
  world.pod = user_of("r");
  world.begin();
  REQUIRE(world.writes.size() == 1);
  CHECK(world.writes[0].starts_with(fmt::format("PATCH {}/r/status ", kReservations)));
  CHECK(world.wrote(R"("uid":"uid-of-r","resourceVersion":"5")") == 1);
  CHECK(world.wrote(R"("name":"p")") == 1);
  CHECK(world.wrote(R"("allocated":{"cpu":"1"})") == 1);
}

TEST_CASE("gauges follow reservations") {
  World world;
  world.reservations = {placed("r", [](api::Reservation& r) {
    r.status.allocatable["memory"] = *api::Quantity::parse("4Gi");
    r.status.allocatable["example.com/gpu"] = *api::Quantity::parse("0");
    r.status.allocated["cpu"] = *api::Quantity::parse("500m");
  })};
  world.begin();
  const auto shows = [&](std::string_view line) {
    return world.metrics.exposition().find(line) != std::string::npos;
  };
  CHECK(shows("scheduler_reservation_status_phase{name=\"r\",phase=\"Available\"} 1\n"));
  CHECK(shows("scheduler_reservation_status_phase{name=\"r\",phase=\"Pending\"} 0\n"));
  const auto resource = [](std::string_view type, std::string_view name, std::string_view unit,
                           double value) {
    return fmt::format(
        "scheduler_reservation_resource{{type=\"{}\",name=\"r\",resource=\"{}\",unit=\"{}\"}} {}\n", type,
        name, unit, value);
  };
  CHECK(shows(resource("allocatable", "cpu", "core", 4)));
  CHECK(shows(resource("allocated", "cpu", "core", 0.5)));
  CHECK(shows(resource("utilization", "cpu", "ratio", 0.125)));
  CHECK(shows(resource("allocatable", "memory", "Gi", 4)));
  CHECK(shows(resource("allocated", "memory", "Gi", 0)));
  CHECK(shows(resource("allocatable", "example.com/gpu", "raw", 0)));
  CHECK_FALSE(shows("utilization\",name=\"r\",resource=\"example.com/gpu\""));
  world.tell(kReservations, "DELETED", api::encode(*changed(world.reservations[0], [](api::Reservation& r) {
               r.metadata.resource_version = "9";
             })));
  CHECK_FALSE(shows("name=\"r\""));
}

TEST_CASE("a write that fails is tried again, and holds up no other reservation") {
  World world;
  world.refuse = 1;
  world.reservations = {placed("r"), placed("s", [](api::Reservation& r) { r.status.node_name = "gone"; })};
  world.pod = user_of("r");
  world.begin();
  world.loop.advance(1s);
  CHECK(world.wrote("/r/status") + world.wrote("/s/status") == 3);
  CHECK(world.wrote(R"("phase":"Failed")") >= 1);
  CHECK(world.captured.contains("the disk is full"));
  CHECK_FALSE(world.failure);
}

TEST_CASE("a reservation fails with its node, and when its time is up without anybody's word") {
  World world;
  world.reservations = {placed("r"), placed("s", [&](api::Reservation& r) {
                          r.spec.ttl = api::Duration(30s);
                          r.metadata.creation_timestamp = api::Time(world.loop.clock.now());
                        })};
  world.begin();
  CHECK(world.writes.empty());
  for (int i = 0; i < 50 && world.wrote("/s/status") == 0; ++i) world.loop.advance(1s);
  CHECK(world.wrote("/s/status") == 1);
  CHECK(world.wrote("/r/status") == 0);
  world.tell("/api/v1/nodes", "DELETED", R"({"metadata":{"name":"n","resourceVersion":"9"}})");
  CHECK(world.wrote("/r/status") == 1);
  CHECK(world.wrote(R"("reason":"Expired")") >= 2);
}

TEST_CASE("what is over is deleted after its time; nothing is written without the lease") {
  World world({.collect_after = 1h});
  world.leads = GENERATE(true, false);
  world.reservations = {placed("r", [&](api::Reservation& r) {
    r.status.phase = "Succeeded";
    api::ReservationCondition& ready = r.status.conditions.emplace_back();
    ready.type = "Ready";
    ready.status = "False";
    ready.reason = "Succeeded";
    ready.last_probe_time = api::Time(world.loop.clock.now());
  })};
  world.begin();
  for (int i = 0; i < 59; ++i) world.loop.advance(1min);
  CHECK(world.writes.empty());
  for (int i = 0; i < 3; ++i) world.loop.advance(1min);
  CHECK((world.wrote(fmt::format("DELETE {}/r", kReservations)) > 0) == world.leads);
  if (world.leads) CHECK(world.wrote(R"("uid":"uid-of-r")") > 0);
}

TEST_CASE("pods whose reservation was deleted say so no longer, where the gate is on") {
  const bool cleans = GENERATE(true, false);
  World world({.cleans_pods = cleans});
  world.reservations = {placed("r", [](api::Reservation& r) {
    r.status.current_owners.emplace_back().uid = "uid-of-p";
    r.status.current_owners[0].name = "p";
    r.status.current_owners[0].namespace_ = "default";
    r.status.allocated["cpu"] = *api::Quantity::parse("1");
  })};
  world.pod = user_of("r");
  world.begin();
  CHECK(world.writes.empty());
  world.tell(kReservations, "DELETED", api::encode(*changed(world.reservations[0], [](api::Reservation& r) {
               r.metadata.resource_version = "9";
             })));
  REQUIRE(world.writes.size() == (cleans ? 1 : 0));
  if (cleans) CHECK(world.writes[0].starts_with("PATCH /api/v1/namespaces/default/pods/p "));
  if (cleans) CHECK(world.wrote(R"("scheduling.koordinator.sh/reservation-allocated":null)") == 1);
}

}  // namespace
}  // namespace koord::scheduling::reservation
