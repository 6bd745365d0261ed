// RunQueue: how long the tasks of each pod and container wait for a CPU, where the kernel lets us count it.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "framework/inventory.hpp"
#include "framework/serve/run_queue_waits.hpp"
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

  /// Of the last whole period, with all cgroups below: a pod's figures include its containers', a slice's
  /// those of its services. Null if nobody waited. What waited in a cgroup that was removed within a period
  /// is lost.
  const host::LatencyHistogram* container(const std::string& id) const;
  const host::LatencyHistogram* pod(const std::string& uid) const;
  /// The uid of the pod that a cgroup belongs to; null: nobody's.
  const std::string* pod_of(host::RunQueueLatency::GroupId id) const;
  /// The same, all of it; null where it is not available.
  const RunQueueWaits* waits() const { return counters_ ? &waits_ : nullptr; }

 private:
  /// A pod or container that tasks wait in.
  struct Owner {
    std::string pod_uid, container_id;  // no container: the pod itself
    std::vector<std::string> labels;    // of a container's series
    metrics::Histogram exported;
    bool known = false;  // to the present inventory
  };
  /// A cgroup that the kernel counts. The kernel counts each alone; whose it is its folder's place says.
  struct Group {
    std::shared_ptr<Owner> owner;  // the closest; null: nobody's
    host::LatencyHistogram total;
    std::uint64_t reading = 0;  // the last one that had it
  };

  void follow(const Inventory& inventory);
  void add_owner(const PodInfo& pod, const ContainerInfo* container);
  void find_groups();
  void walk(std::string& group, std::shared_ptr<Owner> owner, int level);
  void read();
  void add(const host::RunQueueLatency::Group& one);
  void read_losses();

  std::unique_ptr<host::RunQueueLatency> counters_;
  std::string reason_;
  const host::CgroupFs& cgroups_;
  Logger& log_;
  metrics::Family<metrics::Histogram> family_;
  metrics::Gauge available_;
  metrics::Counter lost_groups_, lost_tasks_;
  host::RunQueueLatency::Losses lost_;
  MonoTime due_{};
  bool failing_ = false;
  std::uint64_t generation_ = 0, reading_ = 0;
  RunQueueWaits waits_;
  std::vector<host::RunQueueLatency::Group> scratch_;
  std::unordered_map<std::string, std::shared_ptr<Owner>> owners_;  // by group
  std::unordered_map<host::RunQueueLatency::GroupId, std::shared_ptr<Owner>> owned_;
  std::unordered_map<host::RunQueueLatency::GroupId, Group> groups_;
};

}  // namespace koord::koordlet
