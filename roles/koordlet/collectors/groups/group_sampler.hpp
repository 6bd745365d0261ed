// GroupSampler: what one cgroup uses: CPU, memory, throttling, as pods, containers and host applications are
// measured every tick.
#pragma once

#include <optional>
#include <string_view>

#include "framework/sampler/collector.hpp"
#include "framework/sampler/rate.hpp"
#include "koord/host/cgroup_stats.hpp"

namespace koord::koordlet {

/// The series of a kind of entity.
struct GroupMetrics {
  Metric cpu, memory, memory_with_page_cache;
  std::optional<Metric> throttled;
};
inline constexpr GroupMetrics kPodMetrics = {Metric::pod_cpu, Metric::pod_memory,
                                             Metric::pod_memory_with_page_cache, Metric::pod_throttled};
inline constexpr GroupMetrics kContainerMetrics = {Metric::container_cpu, Metric::container_memory,
                                                   Metric::container_memory_with_page_cache,
                                                   Metric::container_throttled};
inline constexpr GroupMetrics kHostApplicationMetrics = {
    Metric::host_application_cpu, Metric::host_application_memory,
    Metric::host_application_memory_with_page_cache, std::nullopt};

/// A cgroup's descriptors, counters and series. Owned by whoever samples it; close it before it goes.
struct GroupState {
  Fd cpu_usage, cpu_stat, memory_stat;
  Rate used, periods, throttled_periods;
  SeriesId cpu_series, memory_series, page_cache_series, throttled_series;

  bool readable = true;  // false: its path leaves the hierarchy, or has none

  Usage now;
  /// Whether the last tick found the cgroup, and both values of it.
  bool present = false, complete = false;
  /// The last good values: what a garbled file does not take away at once.
  double last_cpu = kUnknown, last_memory = kUnknown;
  MonoTime last_cpu_at, last_memory_at;
};

class GroupSampler {
 public:
  explicit GroupSampler(const CollectorContext& context);

  void open(GroupState& state, const GroupMetrics& metrics, std::string_view entity);
  void sample(GroupState& state, std::string_view group, MonoTime at);
  /// The cgroup of the entity is another one now.
  void moved(GroupState& state);
  void close(GroupState& state);

 private:
  static void forget(GroupState& state);
  void sample_cpu(GroupState& state, std::string_view group, MonoTime at);
  void sample_throttling(GroupState& state, const host::CpuStat& stat, MonoTime at);
  void sample_memory(GroupState& state, std::string_view group);

  const CollectorContext& context_;
  host::CgroupVersion version_;
  SeriesStore& series_;
};

}  // namespace koord::koordlet
