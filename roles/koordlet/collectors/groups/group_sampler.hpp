// GroupSampler: what one cgroup uses: CPU, memory, throttling, as pods, containers and host applications are
// measured every tick.
#pragma once

#include <optional>
#include <string_view>

#include "framework/sampler/collector.hpp"
#include "framework/sampler/rate.hpp"
#include "framework/sampler/write_watch.hpp"
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
  Fd cpu_usage, cpu_stat, memory;  // memory: of whichever file GroupSampler reads
  Rate used, periods, throttled_periods;
  SeriesId cpu_series, memory_series, page_cache_series, throttled_series;

  /// v1: what is known of its quota. Without one cpu.stat stays as it is, and is not read.
  enum class Quota : std::uint8_t { unwatched, unknown, none, some };
  Quota quota = Quota::unwatched;
  int quota_watch = WriteWatch::kNone;
  host::CpuStat counts;  // of the last good cpu.stat

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

  /// Once in each tick, before the first group.
  void start_tick();
  void open(GroupState& state, const GroupMetrics& metrics, std::string_view entity);
  void sample(GroupState& state, std::string_view group, MonoTime at);
  /// The cgroup of the entity is another one now.
  void moved(GroupState& state);
  void close(GroupState& state);
  /// A pod's memory.numa_stat, valid until the next read; false: see CollectorContext::read().
  bool read_numa(GroupState& state, std::string_view group, std::string_view& text) const;

 private:
  static void forget(GroupState& state);
  /// Whether a group's lists of pages are read from memory.numa_stat: they are there, and of few nodes.
  bool has_short_lists() const;
  void unwatch(GroupState& state);
  bool has_quota(GroupState& state, std::string_view group);
  std::optional<host::CpuStat> read_cpu_stat(GroupState& state, std::string_view group);
  void sample_cpu(GroupState& state, std::string_view group, MonoTime at);
  void sample_throttling(GroupState& state, const host::CpuStat& stat, MonoTime at);
  void sample_memory(GroupState& state, std::string_view group);

  const CollectorContext& context_;
  host::CgroupVersion version_;
  SeriesStore& series_;
  bool short_lists_;
  WriteWatch quotas_;
};

}  // namespace koord::koordlet
