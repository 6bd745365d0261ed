// DeviceReporter: keeps the node's Device on the API server true.
#pragma once

#include <memory>
#include <string>

#include "framework/devices/device_watch.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/async/task.hpp"
#include "koord/base/log.hpp"
#include "koord/kube/informer.hpp"

namespace koord::kube {
class Client;
}

namespace koord::koordlet {

/// The event loop's thread; the parts outlive it.
class DeviceReporter {
 public:
  struct Parts {
    Clock& clock;
    Logger& log;
    kube::Client& client;
    kube::InformerSet& informers;
    const DeviceWatch& watch;
  };
  /// Declares the informers of the Node and its Device. `interval`: between two comparisons.
  DeviceReporter(Parts parts, std::string node, nanoseconds interval);

  /// Until it is cancelled: writes what is not true any more; nothing before the devices and the Node are
  /// known.
  Task<Result<>> run();

 private:
  Task<Result<>> look();
  Task<Result<>> write(const NodeDevices& devices, const api::Node& node, bool exists);

  Parts parts_;
  std::string node_;
  nanoseconds interval_;
  kube::Informer<api::Node> nodes_;
  kube::Informer<api::Device> objects_;
  /// What was looked at when all was right.
  std::shared_ptr<const NodeDevices> right_;
  std::shared_ptr<const api::Device> right_object_;
  bool failing_ = false;
};

}  // namespace koord::koordlet
