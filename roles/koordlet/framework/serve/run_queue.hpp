// RunQueue: how long the tasks of each pod and container wait for a CPU, where the kernel lets us count it.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "framework/inventory.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"
#include "koord/host/cgroup_fs.hpp"
#include "koord/host/run_queue_latency.hpp"

namespace koord::koordlet {

/// The event loop's thread. Costs nothing where it is not available.
class RunQueue {
 public:
  static const metrics::Table kMetrics;
  /// How often the kernel's counters are read: what is shown is the last such period.
  static constexpr nanoseconds kPeriod = std::chrono::seconds(5);

  /// `counters` null: not available, for `reason`, which is logged once and shown.
  RunQueue(std::unique_ptr<host::RunQueueLatency> counters, std::string reason, const host::CgroupFs& cgroups,
           Logger& log, metrics::Registry& registry);

  bool available() const { return counters_ != nullptr; }
  const std::string& reason() const { return reason_; }
  /// Reads the counters when a period is over; called at every tick.
  void tick(MonoTime now, const std::shared_ptr<const Inventory>& inventory);

  /// Of the last whole period; null if nothing is known. A pod's figures include its containers'.
  const host::LatencyHistogram* container(const std::string& id) const;
  const host::LatencyHistogram* pod(const std::string& uid) const;

 private:
  struct Group {
    std::string pod_uid, container_id;
    metrics::Histogram exported;  // of containers
    host::LatencyHistogram total;
    bool counted = false;  // total is of a former reading
    std::uint64_t inventory = 0;
  };
  void map_groups(const Inventory& inventory);
  void add(const Inventory& inventory, const PodInfo& pod, const ContainerInfo* container);

  std::unique_ptr<host::RunQueueLatency> counters_;
  std::string reason_;
  const host::CgroupFs& cgroups_;
  Logger& log_;
  metrics::Family<metrics::Histogram> family_;
  metrics::Gauge available_;
  MonoTime due_{};
  bool begun_ = false, failing_ = false;
  std::uint64_t generation_ = 0;
  std::vector<host::RunQueueLatency::Group> scratch_;
  std::unordered_map<host::RunQueueLatency::GroupId, Group> groups_;
  std::unordered_map<std::string, host::LatencyHistogram> pods_, containers_;
};

}  // namespace koord::koordlet
