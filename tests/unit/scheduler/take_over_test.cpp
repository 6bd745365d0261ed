// A new leader decides nothing before it knows what the leader before bound, whatever its watches have told.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "ask.hpp"
#include "koord/api/schema/codec.hpp"
#include "role.hpp"
#include "support/role_rig.hpp"
#include "support/tree.hpp"
#include "world.hpp"

namespace koord::scheduler::test {
namespace {

using namespace scheduling::test;
using namespace std::chrono_literals;
using koord::test::json_response;
using koord::test::status_response;

/// A process of one role on an API server with a node of four CPUs and a pod that wants three. Another
/// process has bound a pod of three CPUs there, of which the role's own watch was not told yet: pods stand at
/// version 20, the role's list showed 7.
struct Process : koord::test::RoleRig {
  explicit Process(const std::string& flag = "--seed=1") : RoleRig(scheduler::role(), {flag, config()}) {
    server.answer = [this](const net::Request& request) { return answer(request); };
    start(make_role(context, scheduling::plugin_table()));
  }
  ~Process() override {
    koord::test::run_task(loop, tasks.stop(loop.clock, 20s));
    role.reset();
  }

  /// kube-scheduler's own profile.
  static std::string config() {
    static const koord::testing::Tree tree(
        {{"config", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"}});
    return "--config=" + tree / "config";
  }

  Result<net::Response> answer(const net::Request& request) {
    const auto has = [&](std::string_view text) { return request.target.find(text) != std::string::npos; };
    if (has("/leases")) {
      if (request.method == "GET" && lease.empty()) return status_response(404, "NotFound");
      if (request.method != "GET") lease = request.body;
      return json_response(200, lease);
    }
    if (request.method != "GET") {
      if (has("/binding")) ++bindings;
      if (has("/events") && request.body.find("Insufficient cpu") != std::string::npos) ++refused;
      return json_response(201, "{}");
    }
    if (has("sendInitialEvents")) return status_response(422, "Invalid");
    if (has("watch=")) {
      if (!has("/pods?")) return json_response(200, "");
      if (!request.target.ends_with("timeoutSeconds=3")) watch = server.bodies.size();
      return json_response(200, request.target.ends_with("timeoutSeconds=3") ? bound() : "");
    }
    if (has("/nodes?")) return list(7, api::encode(*make_node("n")));
    if (has("/pods?"))
      return list(has("limit=1&") || request.target.ends_with("limit=1") ? 20 : 7,
                  api::encode(*make_pod("p", "3")));
    return list(7, "");
  }
  static Result<net::Response> list(int version, const std::string& item) {
    return json_response(
        200, fmt::format(R"({{"metadata":{{"resourceVersion":"{}"}},"items":[{}]}})", version, item));
  }
  /// What a watch of the pods has to tell.
  static std::string bound() {
    const auto q = changed(make_pod("q", "3"), [](api::Pod& pod) {
      pod.spec.node_name = Symbol("n");
      pod.metadata.resource_version = "20";
    });
    return fmt::format("{{\"type\":\"ADDED\",\"object\":{}}}\n", api::encode(*q));
  }
  /// Until then, or for so long; the engine's answers are waited for.
  void pass(nanoseconds time, const std::function<bool()>& until) {
    for (nanoseconds passed{0}; passed < time && !until(); passed += 20ms) {
      ask(*this, "GET", "/apis/v1/nodes/n");
      loop.advance(20ms);
    }
  }
  bool decided() const { return bindings + refused > 0; }

  std::string lease;
  std::size_t watch = 0;  // the number of the role's own among the server's streams
  int bindings = 0, refused = 0;
};

TEST_CASE("a new leader waits until it knows what was bound before") {
  Process process;
  process.pass(10s, [&] { return process.decided(); });
  CHECK_FALSE(process.decided());
  CHECK(process.probe(runtime::HealthChecks::readyz) == 200);
  process.server.bodies[process.watch]->feed(Process::bound());
  process.pass(10s, [&] { return process.decided(); });
  CHECK(process.bindings == 0);
  CHECK(process.refused == 1);
}

TEST_CASE("a watch that tells nothing holds a new leader up for --sync-hard-timeout, which says so") {
  Process process("--sync-hard-timeout=5s");
  process.pass(4500ms, [&] { return process.decided(); });
  CHECK_FALSE(process.decided());
  process.pass(3s, [&] { return process.decided(); });
  CHECK(process.bindings == 1);
  CHECK(process.captured.contains("informers=\"pods [status.phase!=Succeeded,status.phase!=Failed]\""));
}

TEST_CASE("who leads without a lease, or is not to wait, does not") {
  const char* const flag = GENERATE("--leader-elect=false", "--sync-hard-timeout=0s");
  Process process(flag);
  process.pass(1s, [&] { return process.decided(); });
  CHECK(process.bindings == 1);
}

}  // namespace
}  // namespace koord::scheduler::test
