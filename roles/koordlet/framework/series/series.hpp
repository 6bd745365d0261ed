// Series: what was measured in the last half hour, in rings of fixed size; aggregates over windows of it. It
// takes the place of the original's time series database.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"

namespace koord::koordlet {

/// What is measured. An entity is "" for the node, a pod's uid, a container's id, a host application's name
/// or a NUMA node's number.
enum class Metric : std::uint8_t {
  node_cpu,     // CPUs
  node_memory,  // bytes
  node_memory_with_page_cache,
  node_numa_cpu,
  node_numa_memory,
  system_cpu,
  system_memory,
  system_numa_cpu,
  system_numa_memory,
  pod_cpu,
  pod_memory,
  pod_memory_with_page_cache,
  pod_throttled,  // ratio of periods
  container_cpu,
  container_memory,
  container_memory_with_page_cache,
  container_throttled,
  host_application_cpu,
  host_application_memory,
  host_application_memory_with_page_cache,
  be_cpu_usage,  // thousandths of a CPU, as are the two below
  be_cpu_request,
  be_cpu_real_limit,
  // Memory with page cache, less what has been idle for long (gate ColdPageCollector).
  node_memory_with_hot_pages,
  pod_memory_with_hot_pages,
  host_application_memory_with_hot_pages,
  // Of GPUs, by gpu_entity(): percent of their cores, and bytes.
  node_gpu_core,
  node_gpu_memory,
  pod_gpu_core,
  pod_gpu_memory,
};
inline constexpr std::size_t kMetrics = static_cast<std::size_t>(Metric::pod_gpu_memory) + 1;
/// Of the node's use of a GPU (by its UUID), or a pod's.
std::string gpu_entity(std::string_view uuid, std::string_view pod_uid = {});
std::string_view name(Metric metric);
/// Of the whole node, of one of its NUMA nodes, or of the best-effort tier: few, and kept longer.
bool is_node_level(Metric metric);

/// Over the samples of a window. Percentiles as the original takes them: the ascending values' index
/// floor(n * p) - 1, at least 0.
struct Aggregate {
  double avg = 0, p50 = 0, p90 = 0, p95 = 0, p99 = 0, last = 0;
  std::uint64_t count = 0;
  nanoseconds span{};  // from the first sample to the last
};

struct SeriesId {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;  // 0: no series
  explicit operator bool() const { return generation != 0; }
};

/// The moment at which a checkpoint is written or read. `boot_id` is /proc/sys/kernel/random/boot_id: while
/// it is the same the monotonic clock tells how long the agent was away, afterwards only the wall clock can.
struct CheckpointStamp {
  MonoTime mono;
  WallTime wall;
  std::string_view boot_id;
};

/// Used on the event loop's thread. A sample is a 4-byte float (24 bits: 4 KiB of 64 GiB). The times of ticks
/// are kept once for all series.
class SeriesStore {
 public:
  struct Limits {
    nanoseconds period = std::chrono::seconds(1);   // of the ticks
    nanoseconds window = std::chrono::minutes(30);  // the longest that may be asked for
    /// For node-level series, beyond `window`: digests of one minute, whose percentiles are off by 3.6% of
    /// the value at most. 0: none are kept.
    nanoseconds digest_window = std::chrono::hours(12);
    std::size_t max_series = 20'000;
  };
  explicit SeriesStore(Limits limits);
  ~SeriesStore();
  SeriesStore(const SeriesStore&) = delete;
  SeriesStore& operator=(const SeriesStore&) = delete;

  /// The series of an entity, made if it is new. Code::too_large beyond max_series.
  Result<SeriesId> open(Metric metric, std::string_view entity);
  SeriesId find(Metric metric, std::string_view entity) const;
  /// Its memory is used again; the id is dead.
  void close(SeriesId id);
  /// One sample at a tick's time; values of a series ascend in time. A dead id and a NaN are ignored. Never
  /// allocates. Times that are closer than half a period are one tick, whose later value counts.
  void append(SeriesId id, MonoTime at, double value);

  /// Over (now - window, now]. Code::not_found: no such series or no sample in it; Code::invalid: a window
  /// that is not kept. `now` is the tick's time, so that all queries of a report agree.
  Result<Aggregate> aggregate(Metric metric, std::string_view entity, MonoTime now, nanoseconds window) const;
  Result<Aggregate> aggregate(SeriesId id, MonoTime now, nanoseconds window) const;

  std::size_t size() const;
  std::size_t bytes() const;  // what the rings and digests take

  /// Appends a checkpoint to `out`: node-level series whole, of the others the last `entity_window`.
  void save(const CheckpointStamp& stamp, nanoseconds entity_window, std::string& out) const;
  /// Into a store that has never been used. Samples are as old as they truly are, those that are older than
  /// the window are left out. Code::parse: truncated, garbled or of another version; Code::invalid: written
  /// in the future. The store is empty then. Gives the number of series.
  Result<std::size_t> restore(std::string_view checkpoint, const CheckpointStamp& stamp);
  /// Closes what restore() brought and nobody has opened since: entities that went while the agent was away.
  void close_unclaimed();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::koordlet
