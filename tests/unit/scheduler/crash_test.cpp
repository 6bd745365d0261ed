// The role with pods that wait for each other and have something to do before they are bound: stopped while
// they wait, and killed between any two of its writes.
#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>

#include "drive/engine_thread.hpp"
#include "koord/api/schema/codec.hpp"
#include "role.hpp"
#include "scripted_plugin.hpp"
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
    "- plugins: {multiPoint: {enabled: [{name: A}]}}\n";

/// An API server with one node and the pods "p" and "q", which may die with a write.
struct Server {
  Server() {
    for (const char* name : {"p", "q"}) pods[name] = std::make_shared<api::Pod>(*make_pod(name));
  }

  Result<net::Response> answer(const net::Request& request) {
    const auto has = [&](std::string_view text) { return request.target.find(text) != std::string::npos; };
    if (dead) return Error(Code::unavailable, "connection reset by peer");
    if (has("sendInitialEvents")) return status_response(422, "Invalid");
    if (has("watch=")) return json_response(200, "");
    if (request.method == "GET" && has("/nodes")) return list("Node", {api::encode(*make_node("n"))});
    if (request.method == "GET" && has("/pods?")) {
      std::vector<std::string> items;
      for (const auto& [name, pod] : pods) items.push_back(api::encode(*pod));
      return list("Pod", items);
    }
    for (auto& [name, pod] : pods) {
      if (!has(fmt::format("/pods/{}", name))) continue;
      if (request.method == "GET") return json_response(200, api::encode(*pod));
      if (++writes == dies_at) dead = true;
      if (dead && !takes_last) return Error(Code::unavailable, "connection reset by peer");
      Result<net::Response> written = write(name, *pod, request);
      if (dead) return Error(Code::unavailable, "connection reset by peer");
      return written;
    }
    return json_response(201, "{}");
  }

  Result<net::Response> write(const std::string& name, api::Pod& pod, const net::Request& request) {
    if (request.target.find("/binding") == std::string::npos) {
      if (request.body.find("nominatedNodeName") != std::string::npos) ++nominations;
      if (request.body.find(R"("nominatedNodeName":"n")") != std::string::npos)
        pod.status.nominated_node_name = "n";
      return json_response(200, api::encode(pod));
    }
    if (!pod.spec.node_name.empty()) return status_response(409, "Conflict");
    pod.spec.node_name = "n";
    ++bindings[name];
    return json_response(201, R"({"kind":"Status","status":"Success"})");
  }

  static Result<net::Response> list(std::string_view kind, const std::vector<std::string>& items) {
    return json_response(
        200, fmt::format(
                 R"({{"kind":"{}List","apiVersion":"v1","metadata":{{"resourceVersion":"7"}},"items":[{}]}})",
                 kind, fmt::join(items, ",")));
  }
  bool all_bound() const { return bindings.size() == pods.size(); }

  std::map<std::string, std::shared_ptr<api::Pod>> pods;
  std::map<std::string, int> bindings;
  int writes = 0, nominations = 0;
  int dies_at = 0;          // the number of a write; 0: never
  bool takes_last = false;  // that write is done, nobody is told
  bool dead = false;
};

std::filesystem::path config_file() {
  auto file = std::filesystem::temp_directory_path() / fmt::format("koord-scheduler-crash-{}", ::getpid());
  std::ofstream(file) << kConfig;
  return file;
}

/// A process of one role on the server.
struct Process : koord::test::RoleRig {
  explicit Process(Server& on) : RoleRig(scheduler::role(), {"--config=" + config_file().string()}) {
    server.answer = [&on](const net::Request& request) { return on.answer(request); };
    plugins.assign(scheduling::plugin_table().begin(), scheduling::plugin_table().end());
    plugins.push_back(&kScriptedA);
    start(make_role(context, plugins));
  }
  ~Process() override {
    koord::test::run_task(loop, tasks.stop(loop.clock, 20s));
    std::filesystem::remove(config_file());
  }
  std::vector<const scheduling::PluginEntry*> plugins;
};

TEST_CASE("pods that wait for each other are bound together, each with its node told before") {
  Script script;
  script.gang = 2;
  script.pre_binds = "A";
  Server server;
  Process process(server);
  REQUIRE(process.run_until([&] { return server.all_bound(); }));
  CHECK(server.bindings == std::map<std::string, int>{{"p", 1}, {"q", 1}});
  CHECK(server.nominations == 2);
  REQUIRE(process.run_until([&] { return script.kept == 0; }));  // told of both bindings
}

TEST_CASE("whatever write a scheduler dies with, the next one binds each pod once") {
  const bool takes_last = GENERATE(false, true);
  // Two nominations and two bindings.
  for (int dies_at = 1; dies_at <= 4; ++dies_at) {
    INFO(dies_at << " " << takes_last);
    Server server;
    server.dies_at = dies_at;
    server.takes_last = takes_last;
    {
      Script script;
      script.gang = 2;
      script.pre_binds = "A";
      Process process(server);
      CHECK(process.run_until([&] { return server.dead; }));
    }
    server.dead = false;
    server.dies_at = 0;
    Script script;
    script.pre_binds = "A";
    Process process(server);
    CHECK(process.run_until([&] { return server.all_bound(); }));
    CHECK(server.bindings == std::map<std::string, int>{{"p", 1}, {"q", 1}});
  }
}

TEST_CASE("a scheduler whose pods wait, or whose preparation never ends, stops within its bound") {
  const bool hangs = GENERATE(false, true);
  Script script;
  script.gang = hangs ? 0 : 3;
  script.hangs = hangs;
  script.pre_binds = "A";
  Server server;
  Process process(server);
  REQUIRE(process.run_until([&] { return server.nominations == 2; }));
  const MonoTime began = process.loop.clock.mono();
  koord::test::run_task(process.loop, process.tasks.stop(process.loop.clock, 20s));
  CHECK(process.loop.clock.mono() - began <= 8s);
  CHECK(server.bindings.empty());
}

}  // namespace
}  // namespace koord::scheduler::test
