// RoleRig: what a process hands to one role, on a fake clock, with an API server that the test plays.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "koord/async/offload.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/config.hpp"
#include "koord/kube/informer.hpp"
#include "koord/runtime/role.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"

namespace koord::test {

/// The test makes the role from `context` and hands it to start().
struct RoleRig : runtime::ClientFactory {
  RoleRig(const runtime::RoleDescriptor& descriptor, const std::vector<std::string>& arguments)
      : gates(descriptor.gates) {
    const std::string name(descriptor.name);
    const auto line =
        runtime::parse_flags(arguments, {"", {}}, std::vector<runtime::FlagOwner>{{name, descriptor.flags}});
    if (!line) FAIL(line.error().message());
    flags = line->roles.find(name)->second;
  }
  ~RoleRig() override {
    run_task(loop, tasks.stop(loop.clock, std::chrono::seconds(20)));
    run_task(loop, informers.stop());
    role.reset();
  }

  void start(Result<std::unique_ptr<runtime::Role>> made) {
    if (!made) FAIL(made.error().message());
    role = std::move(*made);
    informers.start();
    tasks.spawn("role", role->run());
  }

  Result<kube::Client*> client(const runtime::ClientSettings&) override { return &api; }
  Result<kube::ClientConfig> config(const runtime::ClientSettings&) override {
    return Error(Code::internal, "not here");
  }

  /// For a role with a thread of its own, which works in real time: false if it does not come to it.
  template <class Done>
  bool run_until(Done&& done) {
    for (int i = 0; i < 5000 && !done(); ++i) {
      loop.advance(std::chrono::milliseconds(10));
      const auto work = boost::asio::make_work_guard(loop.context);
      loop.context.restart();
      loop.context.run_one_for(std::chrono::microseconds(100));
    }
    return done();
  }

  unsigned probe(runtime::HealthChecks::Probe which) { return health.answer(which, {}, "").status; }

  Loop loop;
  FakeTransport server{loop.clock};
  kube::Client api{server, loop.clock, {.max_retries = 0}};
  CapturedLog captured;
  Logger log{captured, loop.clock};
  WorkerPool workers{1};
  kube::InformerSet informers{loop.executor(), loop.clock};
  metrics::Registry metrics;
  runtime::FlagValues flags;
  FeatureGates gates;
  runtime::HealthChecks health;
  runtime::Routes routes;
  int left_behind = 0;
  std::optional<Error> failure;
  TaskGroup tasks{loop.executor(), [this](std::string_view, const Error& error) { failure = error; }};
  runtime::RoleContext context{
      "role", "1.2.3", loop.executor(), loop.clock, workers, log, metrics, flags,
      gates,  *this,   informers,       health,     routes,  {},  {},      [this] { ++left_behind; }};
  std::unique_ptr<runtime::Role> role;
};

}  // namespace koord::test
