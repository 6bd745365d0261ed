// TrackedGroups: the groups that are sampled, in step with the inventory: who stays keeps descriptors,
// counters and series, who goes leaves them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collectors/groups/group_sampler.hpp"
#include "koord/base/metrics.hpp"

namespace koord::koordlet {

struct SampledContainer {
  std::string id, group;
  GroupState state;
};

struct SampledPod {
  std::shared_ptr<const PodInfo> info;
  GroupState state;
  bool in_best_effort = false;               // its use is part of the best-effort roots'
  std::vector<SampledContainer> containers;  // in the order of info->containers
  std::vector<std::uint64_t> numa_bytes;     // by the NUMA node's number; of the last read
};

struct SampledApplication {
  HostApplication info;
  GroupState state;
  bool in_best_effort = false;
  metrics::Gauge cpu, memory;
};

class TrackedGroups {
 public:
  static const metrics::Table kMetrics;
  /// Both outlive it.
  TrackedGroups(const CollectorContext& context, GroupSampler& sampler);
  ~TrackedGroups();

  /// A group outside of the hierarchy is never read.
  void follow(const Inventory& inventory);

  std::vector<std::unique_ptr<SampledPod>> pods;  // those of the inventory, in its order
  std::vector<SampledApplication> applications;   // the same
  std::size_t groups() const { return groups_; }

 private:
  void open(GroupState& state, const GroupMetrics& metrics, std::string_view entity, std::string_view group);
  void close(SampledPod& pod);
  void close(SampledApplication& application);  // and its gauges
  void follow_pods(const Inventory& inventory);
  void follow_containers(SampledPod& pod);
  void follow_applications(const Inventory& inventory);
  bool stays_inside(std::string_view group);

  const CollectorContext& context_;
  GroupSampler& sampler_;
  metrics::Family<metrics::Gauge> application_usage_;
  std::size_t groups_ = 0;
};

}  // namespace koord::koordlet
