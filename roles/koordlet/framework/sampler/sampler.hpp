// Sampler: once a tick it has the collectors of the table read what the node and what is on it use, and shows
// it as a TickView.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "framework/sampler/collector.hpp"
#include "framework/series/series.hpp"
#include "framework/tick/tick_view.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"
#include "koord/host/cgroup_fs.hpp"
#include "koord/host/page.hpp"
#include "koord/host/root.hpp"

namespace koord::koordlet {

struct SamplerConfig {
  nanoseconds interval = std::chrono::seconds(1);             // --collect-res-used-interval
  nanoseconds system_outdated = std::chrono::seconds(10);     // --collect-sys-metric-outdated-interval
  nanoseconds node_info_interval = std::chrono::seconds(60);  // --collect-node-cpu-info-interval
  nanoseconds psi_interval = std::chrono::seconds(10);        // --psi-collector-interval
  nanoseconds cold_page_interval = std::chrono::seconds(5);   // --coldpage-collector-interval
  nanoseconds cpi_interval = std::chrono::seconds(60);        // --cpi-collector-interval
  nanoseconds cpi_window = std::chrono::seconds(10);          // --collect-cpi-timewindow
  nanoseconds numa_interval = std::chrono::seconds(10);       // of each pod's memory.numa_stat
  /// Whether a feature gate is on; null: none is.
  std::function<bool(std::string_view gate)> is_on = nullptr;
  nanoseconds resctrl_interval = std::chrono::seconds(10);  // --resctrl-collector-interval
  bool resctrl = false;                                     // --enable-resctrl-collector
  bool idle_pages = false;                                  // --enable-idle-page-tracking
  bool page_cache = false;                                  // --enable-pagecache-collector
  std::string hami_library = {};                            // --hami-core-library-directory-path
  double tracer_limit = 0.01;  // --run-queue-latency-limit: of the machine; 0: none
  std::uint64_t page_size = static_cast<std::uint64_t>(host::page_size());  // of the kernel, in bytes
  /// Descriptors that may be held; 0: what the process may open, raised at the start, less some for others.
  std::size_t max_descriptors = 0;

  /// Of the counter that a rate starts from: the original's.
  nanoseconds max_age() const { return 20 * interval; }
};

struct SamplerStats {
  std::uint64_t ticks = 0;
  std::uint64_t reads = 0, opens = 0;  // system calls; each open is closed some time
  std::uint64_t faults = 0;            // reads that failed or could not be understood
  std::size_t groups = 0;              // pods, containers and host applications
  std::size_t descriptors = 0;         // held now
};

/// On one thread. Holds no timer: its owner calls tick() every interval.
class Sampler {
 public:
  static const metrics::Table kMetrics;
  /// All outlive it; logs and counts what it cannot read and never fails. Of `series` it opens and closes
  /// what belongs to the inventory.
  Sampler(SamplerConfig config, CollectorTable collectors, const host::CgroupFs& cgroups,
          const host::Root& root, SeriesStore& series, metrics::Registry& registry, Logger log,
          KernelCounters counters = {}, CollectorLoop loop = {});
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  /// Reads everything now. `at` is the clock's time of this call, not the time for which it was planned:
  /// rates are counted by it. A call less than half of the interval after the last one, which came late then,
  /// reads nothing anew, but follows the inventory: in so short a time the kernel's clock ticks are few. The
  /// view is valid until the next call. Allocates only when the inventory, the machine or a fault is new.
  const TickView& tick(const std::shared_ptr<const Inventory>& inventory, MonoTime at, WallTime wall);

  /// What the last call of tick() gave; before the first one there is no inventory in it.
  const TickView& view() const;
  /// Of what not every kernel allows, and of who answers later, whether it is measured; what nobody asked for
  /// is not among it.
  std::span<const Availability> availability() const;
  SamplerStats stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::koordlet
