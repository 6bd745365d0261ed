// PodResources: the kubelet's PodResourcesLister at a socket of koord's, with the devices that the scheduler
// gave out.
#pragma once

#include <memory>
#include <string>

#include "framework/model/inventory.hpp"
#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"
#include "koord/rpc/engine.hpp"

namespace koord::koordlet {

/// On the event loop's thread.
class PodResources {
 public:
  static const metrics::Table kMetrics;
  struct Options {
    std::string socket;                            // where it listens
    std::string kubelet;                           // the kubelet's own
    nanoseconds again = std::chrono::seconds(10);  // between two tries to listen
  };
  /// All outlive it.
  struct Parts {
    rpc::Engine& engine;
    Clock& clock;
    Logger log;
    metrics::Registry& metrics;
    const InventoryHub& hub;
  };
  PodResources(Parts parts, Options options);
  /// stop() has completed, or run() was never begun.
  ~PodResources();
  PodResources(const PodResources&) = delete;
  PodResources& operator=(const PodResources&) = delete;

  /// Serves List and Get, and passes all else on as it is, until it is cancelled.
  Task<Result<>> run();
  Task<> stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::koordlet
