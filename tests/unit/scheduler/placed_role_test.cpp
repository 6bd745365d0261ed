// The role with a plugin that has objects placed: from the API server's list to the patch that binds one.
#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "ask.hpp"
#include "bookings.hpp"
#include "koord/api/schema/codec.hpp"
#include "role.hpp"
#include "support/role_rig.hpp"
#include "world.hpp"

namespace koord::scheduler::test {
namespace {

using namespace scheduling::test;
using namespace std::chrono_literals;
using koord::test::json_response;
using koord::test::status_response;

std::filesystem::path config_file() {
  auto file =
      std::filesystem::temp_directory_path() / ("koord-scheduler-placed-" + std::to_string(::getpid()));
  std::ofstream(file) << "apiVersion: kubescheduler.config.k8s.io/v1\n"
                         "kind: KubeSchedulerConfiguration\n"
                         "profiles:\n"
                         "- plugins: {multiPoint: {enabled: [{name: Booker}]}}\n";
  return file;
}

/// A process of one role on an API server with a node of four CPUs, a pod that wants two, and a booking.
struct Process : koord::test::RoleRig {
  explicit Process(std::shared_ptr<const Booking> given)
      : RoleRig(scheduler::role(), {"--config=" + config_file().string()}), booking(std::move(given)) {
    server.answer = [this](const net::Request& request) { return answer(request); };
    plugins.assign(scheduling::plugin_table().begin(), scheduling::plugin_table().end());
    plugins.push_back(&kBooker);
    start(make_role(context, plugins));
  }
  ~Process() override {
    koord::test::run_task(loop, tasks.stop(loop.clock, 20s));
    role.reset();
    std::filesystem::remove(config_file());
  }

  Result<net::Response> answer(const net::Request& request) {
    const auto has = [&](std::string_view text) { return request.target.find(text) != std::string::npos; };
    if (has("/leases")) {
      if (request.method == "GET" && lease.empty()) return status_response(404, "NotFound");
      if (request.method != "GET") lease = request.body;
      return json_response(200, lease);
    }
    if (has("/events")) {
      events.push_back(request.body);
      return json_response(201, "{}");
    }
    if (request.method != "GET") {
      writes.push_back(fmt::format("{} {} {}", request.method, request.target, request.body));
      if (has("/bookings/b/status"))
        booking = changed(booking, [](Booking& b) {
          b.status.node = "n";
          b.metadata.resource_version = "8";
        });
      return json_response(200, has("/bookings") ? api::encode(*booking) : "{}");
    }
    if (has("sendInitialEvents")) return status_response(422, "Invalid");
    if (has("watch=")) return json_response(200, "");
    const auto list = [](std::string_view kind, const std::string& item) {
      return json_response(
          200, fmt::format(R"({{"kind":"{}List","metadata":{{"resourceVersion":"7"}},"items":[{}]}})", kind,
                           item));
    };
    if (has("/nodes")) return list("Node", api::encode(*make_node("n")));
    if (has("/pods")) return list("Pod", api::encode(*make_pod("p", "2")));
    if (has("/bookings")) return list("Booking", api::encode(*booking));
    return json_response(200, R"({"metadata":{"resourceVersion":"7"},"items":[]})");
  }

  bool wrote(std::string_view part) const {
    return std::any_of(writes.begin(), writes.end(),
                       [&](const std::string& w) { return w.find(part) != std::string::npos; });
  }
  bool told(std::string_view part) const {
    return std::any_of(events.begin(), events.end(),
                       [&](const std::string& e) { return e.find(part) != std::string::npos; });
  }
  void pass(const std::function<bool()>& until) {
    for (int i = 0; i < 1000 && !until(); ++i) {
      ask(*this, "GET", "/apis/v1/nodes/n");
      loop.advance(5ms);
    }
  }

  std::shared_ptr<const Booking> booking;
  std::string lease;
  std::vector<const scheduling::PluginEntry*> plugins;
  std::vector<std::string> writes, events;
};

TEST_CASE("an object that wants a place is given one by the role, before pods of a lower priority") {
  Process process(make_booking("b", "3", [](Booking& b) { b.spec.priority = 10; }));
  process.pass([&] {
    return process.told("Successfully assigned default/b to n") && process.told("Insufficient cpu");
  });
  CHECK(process.wrote(R"(PATCH /apis/test.koord/v1/namespaces/default/bookings/b/status {"metadata":)"
                      R"({"uid":"uid-of-b","resourceVersion":"1"},"status":{"node":"n","phase":"Placed"}})"));
  CHECK(process.told("0/1 nodes are available: 1 Insufficient cpu."));
  CHECK_FALSE(process.wrote("/binding"));
  CHECK(
      process.metrics.exposition().find(
          R"(scheduler_plugin_execution_duration_seconds_count{plugin="Booker",extension_point="Bind",status="Success"} 1)") !=
      std::string::npos);
}

TEST_CASE("an object that had its place when the role started counts there before the first pod is tried") {
  Process process(make_booking("b", "3", [](Booking& b) { b.status.node = "n"; }));
  process.pass([&] { return process.told("Insufficient cpu"); });
  CHECK(process.told("0/1 nodes are available: 1 Insufficient cpu."));
  CHECK_FALSE(process.wrote("bookings"));
  CHECK_FALSE(process.wrote("/binding"));
}

}  // namespace
}  // namespace koord::scheduler::test
