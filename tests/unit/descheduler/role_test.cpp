// The role: when passes are made and when not, its end, and what it shows.
#include "role.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "passes/scripted_plugins.hpp"
#include "support/metric_names.hpp"
#include "support/role_rig.hpp"
#include "support/tree.hpp"

namespace koord::descheduler::test {
namespace {

using namespace std::chrono_literals;
using koord::test::json_response;
using koord::test::status_response;
using Health = runtime::HealthChecks;

constexpr std::string_view kConfig =
    "apiVersion: descheduler/v1alpha2\nkind: DeschedulerConfiguration\ndeschedulingInterval: 10s\n"
    "profiles:\n- plugins: {deschedule: {enabled: [{name: Chooser}]}}\n";

/// An API server with three nodes, a pod on each, no NodeMetrics (404) and a lease.
struct Cluster {
  Result<net::Response> answer(const net::Request& request) {
    const auto has = [&](std::string_view text) { return request.target.find(text) != std::string::npos; };
    if (has("/leases")) {
      if (request.method == "GET" && lease.empty()) return status_response(404, "NotFound");
      if (request.method != "GET") lease = request.body;
      lease_writes += request.method != "GET";
      if (lease_refused) return status_response(500, "InternalError");
      return json_response(200, lease);
    }
    if (away) return Error(Code::unavailable, "connection refused");
    if (!forbidden.empty() && has(forbidden)) return status_response(403, "Forbidden", "not for you");
    if (has("sendInitialEvents")) return status_response(422, "Invalid");
    if (has("/nodemetrics")) return status_response(404, "NotFound");
    if (has("watch=")) return json_response(200, "");
    const auto list = [](const std::string& items) {
      return json_response(200,
                           fmt::format(R"({{"metadata":{{"resourceVersion":"7"}},"items":[{}]}})", items));
    };
    const auto each = [](auto&& item) { return fmt::format("{},{},{}", item("a"), item("b"), item("c")); };
    if (has("/nodes?"))
      return list(each([](const char* n) { return fmt::format(R"({{"metadata":{{"name":"{}"}}}})", n); }));
    if (has("/pods?"))
      return list(each([](const char* n) {
        return fmt::format(
            R"({{"metadata":{{"name":"{0}1","namespace":"x","uid":"{0}"}},"spec":{{"nodeName":"{0}"}}}})", n);
      }));
    return list("");
  }

  std::string lease, forbidden;  // forbidden: part of a path that it may not read
  bool lease_refused = false, away = false;
  int lease_writes = 0;
};

struct Process : koord::test::RoleRig {
  explicit Process(Cluster& cluster, std::vector<std::string> flags = {}, std::string_view config = kConfig)
      : RoleRig(descheduler::role(), with(std::move(flags), config)) {
    server.answer = [&cluster](const net::Request& request) { return cluster.answer(request); };
    start(make_role(context, scripted_table()));
  }
  ~Process() override { stop(); }
  void stop() {
    koord::test::run_task(loop, tasks.stop(loop.clock, 20s));
    role.reset();
  }
  static std::vector<std::string> with(std::vector<std::string> flags, std::string_view config) {
    static std::vector<std::unique_ptr<koord::testing::Tree>> trees;
    trees.push_back(std::make_unique<koord::testing::Tree>(
        std::initializer_list<std::pair<std::string, std::string>>{{"config", std::string(config)}}));
    if (!config.empty()) flags.push_back("--config=" + (*trees.back() / "config"));
    return flags;
  }
  void pass(nanoseconds time) {
    for (const MonoTime until = loop.clock.mono() + time; loop.clock.mono() < until;) loop.advance(100ms);
  }
  net::Response ask(const std::string& path) {
    net::Request request;
    request.method = "GET";
    request.path = request.target = path;
    const runtime::Routes::Route* route = routes.find(path);
    REQUIRE(route);
    CHECK(route->debug);
    return koord::test::run_task(loop, route->handler(std::move(request)), true);
  }
};

TEST_CASE("passes are made from beginning to beginning, once all is known") {
  Script script;
  Cluster cluster;
  Process process(cluster);
  process.pass(5s);
  CHECK(process.probe(Health::readyz) == 200);
  CHECK(script.asked.size() == 1);
  CHECK(script.nodes == std::vector<std::size_t>{3});
  CHECK(script.started == 1);
  process.pass(30s);
  CHECK(script.asked.size() == 4);
  CHECK(process.ask("/passes").body.find(R"("number":4)") != std::string::npos);
}

TEST_CASE("a pass that takes long is followed by the next at once, and none is made up for") {
  Script script;
  Cluster cluster;
  script.wants["koord-descheduler/Chooser/deschedule"] = {"a1"};
  Process process(cluster);
  int slow = 1;
  script.evict = [&](const api::Pod&) -> Task<Result<>> {
    if (slow-- > 0) (void)co_await sleep(process.loop.clock, 35s);
    co_return Result<>();
  };
  process.pass(38s);
  CHECK(script.asked.size() == 2);
  process.pass(9s);
  CHECK(script.asked.size() == 3);
}

TEST_CASE("without an interval one pass is made") {
  Script script;
  Cluster cluster;
  Process process(cluster, {},
                  "apiVersion: descheduler/v1alpha2\nkind: DeschedulerConfiguration\n"
                  "profiles:\n- plugins: {balance: {enabled: [{name: Balancer}]}}\n");
  process.pass(60s);
  CHECK(script.asked.size() == 1);
  CHECK_FALSE(process.failure);
  CHECK(process.captured.contains("one pass was made"));
}

TEST_CASE("nothing is asked before all is known that speaks against evicting") {
  const char* const path =
      GENERATE("/pods?", "/nodes?", "/namespaces?", "/priorityclasses?", "/nodemetrics?");
  CAPTURE(path);
  Script script;
  Cluster cluster;
  cluster.forbidden = path;
  Process process(cluster);
  process.pass(30s);
  CHECK(script.asked.empty());
  CHECK(script.started == 0);
  const net::Response said = process.health.answer(Health::readyz, {}, "");
  CHECK(said.status == 500);
  CHECK_THAT(said.body, Catch::Contains("the informers have not synced: ") && Catch::Contains("not for you"));
  CHECK(process.probe(Health::livez) == 200);
  cluster.forbidden.clear();
  process.pass(60s);
  CHECK_FALSE(script.asked.empty());
}

TEST_CASE("what Koordinator's account may not list is done without, after ten seconds and not in silence") {
  const auto [fits, forbidden] = GENERATE(table<bool, std::string>({
      {false, "/poddisruptionbudgets?"},
      {true, "/poddisruptionbudgets?"},
      {true, "/csinodes?"},
  }));
  CAPTURE(fits, forbidden);
  Script script;
  Cluster cluster;
  cluster.forbidden = forbidden;
  Process process(cluster, {fits ? "--node-fit=scheduler" : "--node-fit=basic"});
  process.pass(9s);
  CHECK(script.asked.empty());
  CHECK(process.probe(Health::readyz) == 500);
  process.pass(10s);
  CHECK_FALSE(script.asked.empty());
  CHECK(process.probe(Health::readyz) == 200);
  CHECK_THAT(process.ask("/passes").body,
             Catch::Contains("this account may not list ") &&
                 Catch::Contains(fits ? "as with --node-fit=basic" : "which is done without"));
  CHECK(process.captured.contains("this account may not list "));
  cluster.forbidden.clear();
  process.pass(120s);
  CHECK_THAT(process.ask("/passes").body, !Catch::Contains(R"("notes":["this account)"));
  CHECK(process.captured.contains("may list all now"));
}

TEST_CASE("a cluster that cannot be followed any more is not acted upon") {
  Script script;
  Cluster cluster;
  Process process(cluster);
  process.pass(5s);
  const std::size_t before = script.asked.size();
  CHECK(before == 1);
  cluster.away = true;
  for (const auto& body : process.server.bodies) body->cut();
  process.pass(80s);
  const std::size_t meanwhile = script.asked.size();
  CHECK(meanwhile <= before + 6);
  process.pass(60s);
  CHECK(script.asked.size() == meanwhile);
  CHECK_THAT(process.ask("/passes").body, Catch::Contains("pods have not been followed for 1m"));
  cluster.away = false;
  process.pass(120s);
  CHECK(script.asked.size() > meanwhile);
}

TEST_CASE("who waits for the lease asks nobody") {
  Script script;
  Cluster cluster;
  cluster.lease =
      R"({"metadata":{"name":"l","namespace":"n","resourceVersion":"1"},"spec":{"holderIdentity":"another",)"
      R"("leaseDurationSeconds":15,"renewTime":"2026-01-01T00:00:00.000000Z"}})";
  Process process(cluster);
  process.pass(14s);
  CHECK(script.asked.empty());
  CHECK(script.started == 0);
  CHECK(process.probe(Health::readyz) == 200);
  process.pass(30s);
  CHECK(script.started == 1);
  CHECK_FALSE(script.asked.empty());
}

TEST_CASE("a lease that is lost in the middle of a pass ends it before the next eviction, and the role") {
  Script script;
  Cluster cluster;
  script.wants["koord-descheduler/Chooser/deschedule"] = {"a1", "b1"};
  Process process(cluster);
  script.evict = [&](const api::Pod&) -> Task<Result<>> {
    cluster.lease_refused = true;
    (void)co_await sleep(process.loop.clock, 60s);
    co_return Result<>();
  };
  process.pass(30s);
  REQUIRE(process.failure);
  CHECK(process.failure->message() == "leaderelection lost");
  process.pass(120s);
  CHECK(script.evicted.size() == 1);
  CHECK(script.stopped == 1);
}

TEST_CASE("a descheduler that is told to end gives the lease back, and another one goes on") {
  Script script;
  Cluster cluster;
  script.wants["koord-descheduler/Chooser/deschedule"] = {"a1"};
  {
    Process process(cluster);
    process.pass(5s);
    CHECK(script.evicted.size() == 1);
    const MonoTime began = process.loop.clock.mono();
    process.stop();
    CHECK(process.loop.clock.mono() - began < 5s);
    CHECK(script.stopped == 1);
    CHECK(cluster.lease.find(R"("holderIdentity":"")") != std::string::npos);
  }
  Process next(cluster);
  next.pass(5s);
  CHECK(script.evicted.size() == 2);
}

TEST_CASE("it ends in the middle of an eviction that is never answered") {
  Script script;
  Cluster cluster;
  script.wants["koord-descheduler/Chooser/deschedule"] = {"a1"};
  Process process(cluster);
  script.evict = [&](const api::Pod&) -> Task<Result<>> {
    co_return co_await sleep(process.loop.clock, std::chrono::hours(1));
  };
  process.pass(5s);
  CHECK(script.evicted.size() == 1);
  const MonoTime began = process.loop.clock.mono();
  process.stop();
  CHECK(process.loop.clock.mono() - began < 10s);
}

TEST_CASE("a configuration is written and nothing is begun") {
  const koord::testing::Tree tree({{"nothing", ""}});
  const std::string file = tree / "written";
  Script script;
  {
    koord::test::RoleRig rig(descheduler::role(), Process::with({"--write-config-to=" + file}, kConfig));
    bool finished = false;
    rig.context.finish = [&] { finished = true; };
    rig.start(make_role(rig.context, scripted_table()));
    rig.loop.settle();
    CHECK(finished);
    CHECK(rig.server.requests.empty());
    CHECK(script.checked == std::vector<bool>{true, true});
  }
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  CHECK_THAT(text.str(), Catch::Contains(R"("deschedulingInterval":"10s")") &&
                             Catch::Contains(R"({"name":"Chooser","args":{)"));
  SECTION("a plugin that refuses it is heard") {
    script.make_error = "not with me";
    koord::test::RoleRig rig(descheduler::role(), Process::with({"--write-config-to=" + file}, kConfig));
    const auto made = make_role(rig.context, scripted_table());
    REQUIRE_FALSE(made.has_value());
    CHECK(
        made.error().message() ==
        "initializing profiles: creating profile for descheduler name koord-descheduler: initializing plugin "
        "\"Chooser\": not with me");
  }
}

TEST_CASE("the file says where plain ports are, unless flags do") {
  struct Row {
    const char* config;
    std::vector<std::string> flags;
    std::vector<std::string> places;
  };
  const Row rows[] = {
      {"healthzBindAddress: 1.2.3.4:1\nmetricsBindAddress: 1.2.3.4:1\n", {}, {"1.2.3.4:1"}},
      {"healthzBindAddress: 1.2.3.4:1\n", {}, {"1.2.3.4:1", "0.0.0.0:10251"}},
      {"", {}, {"0.0.0.0:10251"}},
      {"healthzBindAddress: 1.2.3.4:1\n", {"--port=0"}, {}},
      {"healthzBindAddress: 1.2.3.4:1\n", {"--address=127.0.0.1"}, {}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.config, row.flags);
    Script script;
    koord::test::RoleRig rig(descheduler::role(),
                             Process::with(row.flags, fmt::format("{}{}", kConfig, row.config)));
    REQUIRE(make_role(rig.context, scripted_table()).has_value());
    std::vector<std::string> places;
    for (const auto& [flag, address] : rig.routes.places()) {
      CHECK(flag == "port");
      places.push_back(address);
    }
    CHECK(places == row.places);
  }
  Script script;
  koord::test::RoleRig rig(descheduler::role(), {});
  REQUIRE(make_role(rig.context, scripted_table()).has_value());
  CHECK(rig.routes.places().empty());
}

TEST_CASE("the configuration in effect is shown, and the metrics are those that the descriptor lists") {
  Script script;
  Cluster cluster;
  Process process(cluster);
  CHECK(process.context.routes.configz().starts_with(
      R"({"componentconfig":{"apiVersion":"descheduler/v1alpha2","kind":"DeschedulerConfiguration")"));
  CHECK(koord::test::metric_names(process.metrics) == koord::test::metric_names(descheduler::role().metrics));
}

}  // namespace
}  // namespace koord::descheduler::test
