// The role takes a reservation's room for a pod: what it writes into the Reservation, what becomes of writes
// that fail, and of a scheduler that ends with one.
#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "koord/api/schema/codec.hpp"
#include "plugins/reservations.hpp"
#include "role.hpp"
#include "support/role_rig.hpp"
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
    "leaderElection: {leaderElect: false}\n"
    "profiles:\n"
    "- plugins: {multiPoint: {enabled: [{name: Reservation}]}}\n";
constexpr std::string_view kReservation = "/reservations/r";

/// An API server with a node of four CPUs, a Reservation of a low priority that keeps three of them, and a
/// pod that wants three.
struct Server {
  Server() {
    auto r = std::make_shared<api::Reservation>(*make_reservation("r", "3"));
    r->spec.template_.text =
        R"({"spec":{"priority":10,"containers":[{"name":"c","resources":{"requests":{"cpu":"3"}}}]}})";
    r->metadata.resource_version = std::to_string(version);
    r->status.phase = "Available";
    r->status.node_name = "n";
    r->status.allocatable["cpu"] = api::Quantity::must("3");
    r->status.conditions.push_back({.type = "Scheduled", .status = "True", .reason = "Scheduled"});
    r->status.conditions.push_back({.type = "Ready", .status = "True", .reason = "Available"});
    reservation = std::move(r);
    pod = std::make_shared<api::Pod>(*make_pod("p", "3", "", [](api::Pod& p) { p.spec.priority = 100; }));
  }

  Result<net::Response> answer(const net::Request& request) {
    const auto has = [&](std::string_view text) { return request.target.find(text) != std::string::npos; };
    if (dead) return Error(Code::unavailable, "connection reset by peer");
    if (has("sendInitialEvents")) return status_response(422, "Invalid");
    if (has("watch=")) {
      if (has("/reservations?")) watches.push_back(streams);
      ++streams;
      return json_response(200, "");
    }
    if (has("/events")) {
      events.push_back(request.body);
      return json_response(201, "{}");
    }
    if (has(kReservation) && request.method != "GET") return write(request);
    if (has(kReservation)) return json_response(200, api::encode(*reservation));
    if (request.method == "GET" && has("/nodes")) return list("Node", api::encode(*make_node("n")));
    if (request.method == "GET" && has("/reservations"))
      return list("Reservation", api::encode(*reservation));
    if (request.method == "GET" && has("/pods?")) return list("Pod", api::encode(*pod));
    if (has("/pods/p/binding")) {
      if (!pod->spec.node_name.empty()) return status_response(409, "Conflict");
      ++bindings;
      pod->spec.node_name = "n";
      return json_response(201, R"({"kind":"Status","status":"Success"})");
    }
    if (has("/pods/p")) return json_response(200, api::encode(*pod));
    return json_response(200, R"({"metadata":{"resourceVersion":"7"},"items":[]})");
  }

  Result<net::Response> write(const net::Request& request) {
    ++writes;
    if (writes == 1 && first_answer != 0)
      return status_response(first_answer, first_answer == 409 ? "Conflict" : "InternalError");
    if (writes == 1 && dies && !takes_last) {
      dead = true;
      return Error(Code::unavailable, "connection reset by peer");
    }
    CHECK(request.method == "PATCH");
    CHECK(request.target.ends_with("/reservations/r/status"));
    const auto said = api::decode<api::Reservation>(request.body);
    REQUIRE(said.has_value());
    CHECK(said->metadata.uid == reservation->metadata.uid);
    if (said->metadata.resource_version != reservation->metadata.resource_version)
      return status_response(409, "Conflict");
    auto now = std::make_shared<api::Reservation>(*reservation);
    if (said->status.phase == "Failed" && now->status.phase != "Failed") ++failures;
    now->status.phase = said->status.phase;
    now->status.conditions = said->status.conditions;
    now->metadata.resource_version = std::to_string(++version);
    reservation = std::move(now);
    if (tell) tell(fmt::format("{{\"type\":\"MODIFIED\",\"object\":{}}}\n", api::encode(*reservation)));
    if (writes == 1 && dies) {
      dead = true;
      return Error(Code::unavailable, "connection reset by peer");
    }
    return json_response(200, api::encode(*reservation));
  }

  Result<net::Response> list(std::string_view kind, const std::string& item) const {
    return json_response(
        200, fmt::format(R"({{"kind":"{}List","metadata":{{"resourceVersion":"{}"}},"items":[{}]}})", kind,
                         version, item));
  }
  /// "PHASE REASON MESSAGE" of its condition Ready.
  std::string outcome() const {
    for (const api::ReservationCondition& each : reservation->status.conditions)
      if (each.type == "Ready")
        return fmt::format("{} {} {}", reservation->status.phase.view(), each.reason.view(), each.message);
    return std::string(reservation->status.phase.view());
  }
  bool told(std::string_view part) const {
    return std::ranges::any_of(events,
                               [&](const std::string& e) { return e.find(part) != std::string::npos; });
  }

  std::shared_ptr<const api::Reservation> reservation;
  std::shared_ptr<api::Pod> pod;
  std::vector<std::string> events;
  std::function<void(const std::string&)> tell;  // those who watch Reservations
  std::size_t streams = 0;
  std::vector<std::size_t> watches;  // of Reservations, by their places among the streams
  int version = 7, writes = 0, failures = 0, bindings = 0;
  int first_answer = 0;     // to the first write into the Reservation; 0: it is done
  bool dies = false;        // with the first write into it
  bool takes_last = false;  // which is done, and nobody is told
  bool dead = false;
};

std::filesystem::path config_file() {
  auto file = std::filesystem::temp_directory_path() / fmt::format("koord-scheduler-room-{}", ::getpid());
  std::ofstream(file) << kConfig;
  return file;
}

struct Process : koord::test::RoleRig {
  explicit Process(Server& on) : RoleRig(scheduler::role(), {"--config=" + config_file().string()}) {
    on.streams = 0;
    on.watches.clear();
    on.tell = [&on, this](const std::string& line) {
      for (const std::size_t at : on.watches) server.bodies.at(at)->feed(line);
    };
    server.answer = [&on](const net::Request& request) { return on.answer(request); };
    start(make_role(context, scheduling::plugin_table()));
  }
  ~Process() override {
    koord::test::run_task(loop, tasks.stop(loop.clock, 20s));
    std::filesystem::remove(config_file());
  }
};

constexpr const char* kTold =
    "Failed Expired default-scheduler: preempting to accommodate a higher priority pod";

TEST_CASE(
    "a reservation that makes room is Failed at the API server, for whom it says, whatever the first write "
    "met") {
  const int first_answer = GENERATE(0, 409, 500, 503);
  INFO(first_answer);
  Server server;
  server.first_answer = first_answer;
  Process process(server);
  const bool done = process.run_until([&] { return server.bindings > 0 && server.told("\"Preempted\""); });
  INFO(fmt::format("{}\n{}", fmt::join(process.captured.lines(), "\n"), fmt::join(server.events, "\n")));
  REQUIRE(done);
  CHECK(server.outcome() == kTold);
  CHECK(server.reservation->status.node_name == "n");
  CHECK(server.failures == 1);
  CHECK(server.bindings == 1);
  CHECK(server.writes == (first_answer == 0 ? 1 : 2));
  CHECK(server.told("Preempted by pod uid-p on node n"));
}

TEST_CASE("a scheduler that ends with the write that takes a reservation's room leaves nothing half done") {
  const bool takes_last = GENERATE(false, true);
  INFO(takes_last);
  Server server;
  server.dies = true;
  server.takes_last = takes_last;
  {
    Process process(server);
    REQUIRE(process.run_until([&] { return server.dead; }));
  }
  CHECK(server.bindings == 0);
  CHECK(server.outcome() == (takes_last ? kTold : "Available Available "));
  server.dead = server.dies = false;
  Process process(server);
  REQUIRE(process.run_until([&] { return server.bindings > 0; }));
  CHECK(server.outcome() == kTold);
  CHECK(server.failures == 1);
  CHECK(server.bindings == 1);
}

}  // namespace
}  // namespace koord::scheduler::test
