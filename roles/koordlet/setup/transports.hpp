// Transports: the ways between the agent and the container runtime, as flags have them, put together.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/executor/executor.hpp"
#include "framework/hooks/desk.hpp"
#include "framework/qos/ahead.hpp"
#include "framework/states/source_status.hpp"
#include "koord/async/event.hpp"
#include "koord/async/task_group.hpp"
#include "koord/rpc/engine.hpp"
#include "koord/runtime/role.hpp"
#include "setup/nri_settings.hpp"
#include "transports/container_runtime/container_runtime.hpp"
#include "transports/hook_server/hook_server.hpp"
#include "transports/pod_resources/pod_resources.hpp"

namespace koord::kube {
class EventRecorder;
}

namespace koord::koordlet {

struct TransportSettings {
  Desk::Options desk;
  HookServer::Options hook_server;  // its socket is empty: there is none
  ContainerRuntime::Options runtime;
  PodResources::Options pod_resources;
  std::function<Result<>(const RuntimeMount&)> prepare = {};  // of the desk
  std::optional<nri::Settings> nri;
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
    /// Null until they were looked at, and where nobody looks.
    std::function<std::shared_ptr<const NodeDevices>()> devices;
    kube::EventRecorder& recorder;
    /// What a runtime tells of before the agent's strategies know of it: QosManager::write_ahead().
    std::function<Result<>(std::span<const Ahead::Value>)> write_ahead;
    std::function<Result<>(std::span<const Ahead::Given>)> note_given;
    BootFile::Place births;
  };
  static Result<std::unique_ptr<Transports>> make(const Parts& parts, TransportSettings settings);

  void start();
  /// After the tasks have stopped.
  Task<> stop();
  /// Once a tick, before files are written.
  void tick();
  ContainerRuntime& runtime() { return runtime_; }
  /// Those that are on, for `koord top`.
  std::vector<SourceStatus> sources() const;

 private:
  Transports(const Parts& parts, TransportSettings settings);
  void set_up_nri(const nri::Settings& settings);
  void write(const std::vector<LaterValue>& values);
  Task<Result<>> keep_births();
  void save_births();

  Parts parts_;
  TransportSettings settings_;
  std::unique_ptr<Desk> desk_;
  rpc::Engine engine_;
  ContainerRuntime runtime_;
  std::optional<HookServer> hook_server_;
  std::optional<nri::Transport> nri_;
  Event bears_;
  bool births_refused_ = false;
  std::optional<PodResources> pod_resources_;  // where its gate is on
};

}  // namespace koord::koordlet
