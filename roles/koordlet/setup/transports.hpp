// Transports: the ways between the agent and the container runtime, as flags have them, put together.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/executor/executor.hpp"
#include "framework/hooks/desk.hpp"
#include "koord/async/task_group.hpp"
#include "koord/rpc/engine.hpp"
#include "koord/runtime/role.hpp"
#include "setup/flags.hpp"
#include "transports/container_runtime/container_runtime.hpp"
#include "transports/hook_server/hook_server.hpp"
#include "transports/pod_resources/pod_resources.hpp"

namespace koord::koordlet {

struct TransportSettings {
  Desk::Options desk;
  HookServer::Options hook_server;  // its socket is empty: there is none
  ContainerRuntime::Options runtime;
  PodResources::Options pod_resources;
};
/// Code::invalid names the flag and what it may be.
Result<TransportSettings> transport_settings(const runtime::FlagValues& flags, const Place& place);

/// On the event loop's thread.
class Transports {
 public:
  /// All outlive it.
  struct Parts {
    runtime::RoleContext& context;
    StrategyTable strategies;
    const InventoryHub& hub;
    Executor& executor;
    std::function<std::shared_ptr<const host::Topology>()> topology;
    TaskGroup& tasks;
  };
  static Result<std::unique_ptr<Transports>> make(const Parts& parts, TransportSettings settings);

  void start();
  /// After the tasks have stopped.
  Task<> stop();
  /// Once a tick, before files are written.
  void tick();
  ContainerRuntime& runtime() { return runtime_; }

 private:
  Transports(const Parts& parts, TransportSettings settings);

  Parts parts_;
  TransportSettings settings_;
  std::unique_ptr<Desk> desk_;
  rpc::Engine engine_;
  ContainerRuntime runtime_;
  std::optional<HookServer> hook_server_;
  std::optional<PodResources> pod_resources_;  // where its gate is on
};

}  // namespace koord::koordlet
