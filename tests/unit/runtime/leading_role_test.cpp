// The frame of a role that holds a lease, on the fake clock against an API server in memory.
#include "koord/runtime/leading_role.hpp"

#include <catch2/catch.hpp>
#include <mutex>
#include <vector>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/coordination_v1/lease.hpp"
#include "koord/async/offload.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/base/metrics.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/config.hpp"
#include "koord/kube/informer.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"

namespace koord::runtime {
namespace {

using namespace std::chrono_literals;

struct NoLog final : LogSink {
  void write(LogLevel, std::string) override {}
};

struct NoClients final : ClientFactory {
  Result<kube::Client*> client(const ClientSettings&) override { return Error(Code::unsupported, "none"); }
  Result<kube::ClientConfig> config(const ClientSettings&) override {
    return Error(Code::unsupported, "none");
  }
};

/// One lease, and a role's surroundings.
struct World {
  test::Loop loop;
  test::FakeTransport server{loop.clock};
  kube::Client client{server, loop.clock, {.max_retries = 0}};
  NoLog sink;
  Logger log{sink, loop.clock};
  WorkerPool workers{1};
  metrics::Registry metrics;
  FlagValues flags;
  FeatureGates gates;
  NoClients clients;
  kube::InformerSet informers{loop.executor(), loop.clock};
  HealthChecks health;
  Routes routes;
  std::optional<api::Lease> lease;
  bool has_namespace = true;

  World() {
    server.answer = [this](const net::Request& request) -> Result<net::Response> {
      if (request.method == "GET") {
        if (!lease) return test::status_response(404, "NotFound");
      } else {
        if (!has_namespace) return test::status_response(404, "NotFound", "namespaces not found");
        lease = *api::decode<api::Lease>(request.body);
      }
      return test::json_response(200, api::encode(*lease));
    };
  }

  RoleContext context() {
    return {"test", "v0",  loop.executor(), loop.clock, workers, log,    metrics,
            flags,  gates, clients,         informers,  health,  routes, [](const Error&) {},
            [] {},  [] {}};
  }
  std::string holder() const { return lease ? lease->spec.holder_identity : "nobody"; }
};

LeaderElectionSettings election(bool on = true) {
  LeaderElectionSettings settings;
  settings.leader_elect = on;
  set_defaults(settings, "koordinator-system", "koord-test");
  return settings;
}

class TestRole final : public LeadingRole {
 public:
  TestRole(RoleContext& context, World& world, LeaderElectionSettings election)
      : LeadingRole(context, {.election = std::move(election), .client = &world.client, .host_name = "host"}),
        world_(world) {}
  using LeadingRole::leading;
  using LeadingRole::tasks;

  std::vector<std::string> seen;
  Result<> health;

 private:
  void start() override { seen.push_back("start"); }
  Task<Result<>> lead() override {
    seen.push_back("lead");
    co_return Result<>();
  }
  Result<> healthy() override { return health; }
  Task<> stop() override {
    // The lease is given back after it.
    seen.push_back(world_.holder().empty() ? "stop without lease" : "stop");
    co_return;
  }

  World& world_;
};

struct Run {
  World world;
  RoleContext context = world.context();
  TestRole role;
  TaskGroup group{world.loop.executor()};
  std::optional<Result<>> ended;

  explicit Run(LeaderElectionSettings settings = election()) : role(context, world, std::move(settings)) {}
  ~Run() { end(); }
  void start() {
    group.spawn("role", live());
    world.loop.advance(1s);
  }
  void end() { test::run_task(world.loop, group.stop(world.loop.clock, 10s)); }
  bool ends_within(nanoseconds time) {
    for (nanoseconds passed{0}; passed < time && !ended; passed += 100ms) world.loop.advance(100ms);
    return ended.has_value();
  }

 private:
  Task<> live() { ended = co_await role.run(); }
};

using Seen = std::vector<std::string>;

}  // namespace

TEST_CASE("a role leads once it has the lease, and gives it back after it has stopped") {
  Run run;
  CHECK_FALSE(run.role.leading());
  run.start();
  CHECK(run.role.seen == Seen{"start", "lead"});
  CHECK(run.role.leading());
  CHECK(run.world.holder().starts_with("host_"));
  for (int i = 0; i < 100; ++i) run.world.loop.advance(1s);
  run.end();
  CHECK(run.role.seen == Seen{"start", "lead", "stop"});
  CHECK(run.ended->error().code() == Code::cancelled);
  CHECK(run.world.holder().empty());
  CHECK_FALSE(run.role.leading());
}

TEST_CASE("without an election it leads at once") {
  Run run(election(false));
  run.start();
  CHECK(run.role.seen == Seen{"start", "lead"});
  CHECK(run.role.leading());
  CHECK(run.world.server.requests.empty());
}

TEST_CASE("while another process holds the lease it starts and waits") {
  Run run;
  api::Lease& lease = run.world.lease.emplace();
  lease.spec.holder_identity = "other";
  lease.spec.lease_duration_seconds = 15;
  run.start();
  CHECK(run.role.seen == Seen{"start"});
  CHECK_FALSE(run.role.leading());
  for (int i = 0; i < 40; ++i) run.world.loop.advance(1s);  // the other one has died
  CHECK(run.role.seen == Seen{"start", "lead"});
}

TEST_CASE("a role that says it does not work loses the lease, and ends") {
  Run run;
  run.start();
  run.role.health = Error(Code::timeout, "the engine hangs");
  CHECK(run.ends_within(11s));
  CHECK(run.ended->error().code() == Code::conflict);
  CHECK(run.ended->error().message() == "leaderelection lost");
  CHECK(run.role.seen == Seen{"start", "lead", "stop"});
  CHECK_FALSE(run.role.leading());
}

TEST_CASE("a lease that cannot be renewed ends the role before another may have it") {
  Run run;
  run.start();
  run.world.server.delay = 1h;
  CHECK(run.ends_within(11s));
  CHECK(run.ended->error().message() == "leaderelection lost");
}

TEST_CASE("a task that fails ends the role, and the lease is given back") {
  Run run;
  run.start();
  run.role.tasks().spawn("work", []() -> Task<Result<>> { co_return Error(Code::internal, "broken"); }());
  CHECK(run.ends_within(1s));
  CHECK(run.ended->error().message() == "broken");
  CHECK(run.role.seen == Seen{"start", "lead", "stop"});
  CHECK(run.world.holder().empty());
}

TEST_CASE("a namespace that is missing is told with the ways out") {
  Run run;
  run.world.has_namespace = false;
  run.start();
  CHECK(run.ends_within(10s));
  const std::string message = run.ended->error().message();
  INFO(message);
  CHECK(message.find("the namespace \"koordinator-system\" of the lease \"koord-test\" does not exist") == 0);
  CHECK(message.find("--leader-elect=false") != std::string::npos);
  CHECK(run.role.seen == Seen{"start", "stop"});
}

}  // namespace koord::runtime
