// HookServer: Koordinator's RuntimeHookService: a CRI proxy asks it before the runtime acts.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/hooks/desk.hpp"
#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"
#include "koord/rpc/engine.hpp"

namespace koord::koordlet {

/// On the event loop's thread.
class HookServer {
 public:
  static const metrics::Table kMetrics;
  struct Options {
    std::string socket;    // where it listens
    std::string endpoint;  // the same socket, as the proxy sees it
    std::string folder;    // of the registration
    bool fail = false;     // --runtime-hooks-failure-policy=Fail
    std::string runtime = "containerd";
    /// How often it is looked whether the registration is still there, and tried again what failed.
    nanoseconds again = std::chrono::seconds(10);
  };
  /// All outlive it.
  struct Parts {
    rpc::Engine& engine;
    Clock& clock;
    Logger log;
    metrics::Registry& metrics;
    Desk& desk;
    /// Writes what no proxy can set, of a pod that is about to run; empty: the reconciler does, later.
    std::function<void(const std::vector<LaterValue>&)> write = {};
  };
  HookServer(Parts parts, Options options);
  /// stop() has completed, or run() was never begun.
  ~HookServer();
  HookServer(const HookServer&) = delete;
  HookServer& operator=(const HookServer&) = delete;

  /// Listens, then registers, and keeps both until it is cancelled; what fails is said and tried again.
  Task<Result<>> run();
  /// An orderly end. With Ignore the registration goes, so that no proxy asks in vain; with Fail it stays:
  /// containers are not made while nobody says on which CPUs.
  Task<> stop();
  /// Why it does not serve; empty: it does.
  const std::string& fault() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::koordlet
