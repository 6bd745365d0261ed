// DeviceWatch: looks at all sources of the node's devices, and keeps what they said last.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "framework/devices/device_reading.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"

namespace koord::koordlet {

/// What all sources say now, together.
struct NodeDevices {
  std::vector<api::DeviceInfo> devices;  // as the sources name them: no id and no minor of a type twice
  GpuDescription gpus;
  /// Of devices of such a type one that is missing may be there all the same.
  bool gpus_complete = true, rdma_complete = true;
  friend bool operator==(const NodeDevices&, const NodeDevices&) = default;
};

class DeviceWatch {
 public:
  static const metrics::Table kMetrics;

  /// A source that is not asked for is left out (an empty function). They are read on any thread, one look at
  /// a time.
  struct Sources {
    std::function<DeviceReading()> files;  // of accelerators
    std::function<DeviceReading()> gpus;   // of the driver: where no file names an accelerator
    std::function<DeviceReading()> rdma;
  };
  DeviceWatch(Sources sources, Logger& log, metrics::Registry& metrics);

  /// What it reads: blocks. On a worker.
  struct Look {
    NodeDevices devices;
    std::vector<std::string> problems;
  };
  Look look() const;
  /// Keeps it, says what is new of it. On the event loop's thread, as is current().
  void take(Look look);
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
