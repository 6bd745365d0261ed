// DeviceShare's say about a pod, for the scheduler's oracle.
#pragma once

#include "support/reference/devices/machine.hpp"
#include "support/reference/state.hpp"

namespace koord::reference {

class Devices {
 public:
  Devices(const Cluster& cluster, const Config& config, const api::Pod& pod)
      : cluster_(cluster), args_(config.devices), asks_(config, pod) {}

  const std::string& rejected() const { return asks_.rejected; }
  Filtered filter(const api::Node& node) const;
  RawScores scores(const Feasible& nodes) const;
  static void normalize(std::vector<std::int64_t>& scores);
  /// What it is given on a node that takes it.
  DeviceGift gift(const api::Node& node) const;

 private:
  const Cluster& cluster_;
  const DeviceArgs& args_;
  DeviceRequest asks_;
};

}  // namespace koord::reference
