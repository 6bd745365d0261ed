// DeviceWatch: looks at all sources of the node's devices, and keeps what they said last.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "framework/devices/node_devices.hpp"
#include "koord/async/offload.hpp"
#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"

namespace koord::koordlet {

class DeviceWatch {
 public:
  static const metrics::Table kMetrics;

  /// A source that is not asked for is left out (an empty function). They are read on any thread, one look at
  /// a time.
  struct Sources {
    std::function<DeviceReading()> files;  // of accelerators
    std::function<DeviceReading()> gpus;   // of the driver: where no file names an accelerator
    std::function<DeviceReading()> rdma;
    std::function<GpuIsolation()> isolation;
    std::function<CdiNames(std::vector<std::string>& problems)> cdi;
  };
  DeviceWatch(Sources sources, Logger& log, metrics::Registry& metrics);

  /// What it reads: blocks.
  struct Look {
    NodeDevices devices;
    std::vector<std::string> problems;
  };
  Look look() const;
  /// Keeps it, says what is new of it. On the event loop's thread, as the rest.
  void take(Look look);
  /// Until it is cancelled: a look on a worker, again after each interval.
  Task<Result<>> run(WorkerPool& workers, Clock& clock, nanoseconds interval);
  /// Null: not looked at yet.
  const std::shared_ptr<const NodeDevices>& current() const { return current_; }

 private:
  Sources sources_;
  Logger& log_;
  metrics::Family<metrics::Gauge> count_;
  std::set<std::string> told_;
  std::shared_ptr<const NodeDevices> current_;
};

}  // namespace koord::koordlet
