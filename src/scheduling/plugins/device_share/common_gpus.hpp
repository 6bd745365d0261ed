// What DeviceShare and resource claims tell one another of a machine's GPUs, and users of what is wrong
// there.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "koord/base/metrics.hpp"
#include "koord/scheduling/plugin/complaints.hpp"
#include "scheduling/common_devices/common_devices.hpp"
#include "scheduling/plugins/device_share/devices/device_ledger.hpp"

namespace koord::scheduling::device_share {

/// By what the GPUs are known, by place.
std::vector<CommonDevices::Gpu> gpu_names(const DeviceShape& shape, const api::Device& device);

struct SharedGpus {
  Places taken = 0;
  bool unlisted = false;  // somebody has others, or nobody can tell which he has
};
SharedGpus shared_gpus(const DeviceLedger& ledger);

/// Says of a node, by its Device, what only people can put right, once, and counts it. One for all profiles.
class GpuDoubts {
 public:
  GpuDoubts(const CommonDevices& common, Complaints& complaints) : common_(common), complaints_(complaints) {}
  /// From now on.
  void measure(metrics::Registry& registry);
  /// Something has changed of the node.
  void look(const DeviceShape& shape, const api::Device& device);
  /// There is no such Device any more.
  void forget(const std::string& node);

 private:
  struct Doubt {
    CommonDevices::Gpus twice = 0;
    bool nameless = false;
    friend bool operator==(const Doubt&, const Doubt&) = default;
  };
  void count(const std::string& node, const Doubt& doubt) const;

  const CommonDevices& common_;
  Complaints& complaints_;
  std::unordered_map<std::string, Doubt> doubts_;  // by node; none of those that are in order
  metrics::Family<metrics::Gauge> twice_, nameless_;
  bool measured_ = false;
};

extern const metrics::Metric kGivenTwice, kNameless;

}  // namespace koord::scheduling::device_share
