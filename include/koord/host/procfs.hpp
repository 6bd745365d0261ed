// /proc: the text of its files to numbers. Pure functions; the caller reads the files.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"

namespace koord::host {

/// One line of /proc/stat, in clock ticks (USER_HZ, 100 a second on every Linux that koord runs on).
struct CpuTimes {
  std::uint64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;

  /// What koordlet calls used: user, nice, system, irq and softirq. Neither iowait nor steal; guest time is
  /// part of user already.
  std::uint64_t used() const { return user + nice + system + irq + softirq; }
  friend bool operator==(const CpuTimes&, const CpuTimes&) = default;
};

struct ProcStat {
  CpuTimes total;
  /// By CPU number; CPUs that are offline have no line and stay empty.
  std::vector<std::optional<CpuTimes>> cpus;
};

/// /proc/stat. `out.cpus` is reused: no allocation once it is as long as the machine has CPUs.
/// Code::parse if the "cpu " line is missing or a number is not one.
Result<> parse_proc_stat(std::string_view text, ProcStat& out);

/// /proc/meminfo or a NUMA node's meminfo, in bytes. Lines that a kernel does not have stay 0, except for
/// those that koord cannot do without: MemTotal and MemFree are required.
struct MemInfo {
  std::uint64_t total = 0, free = 0, available = 0, buffers = 0, cached = 0;
  std::uint64_t active_anon = 0, inactive_anon = 0, active_file = 0, inactive_file = 0, unevictable = 0;
  std::uint64_t slab_reclaimable = 0, hugepages_total = 0, hugepages_free = 0, hugepage_size = 0;
  bool has_available = false;

  /// Memory in use without reclaimable page cache: MemTotal - MemAvailable.
  std::uint64_t used() const { return total > available ? total - available : 0; }
  /// The same of one NUMA node, which has no MemAvailable: total - (free + file pages + reclaimable slab).
  std::uint64_t used_of_numa_node() const;
  /// Page cache included: total - free.
  std::uint64_t used_with_page_cache() const { return total > free ? total - free : 0; }
};
Result<MemInfo> parse_meminfo(std::string_view text);

/// One CPU's line of /proc/schedstat (version 15 and later) and /proc/PID/schedstat.
struct SchedStat {
  std::uint64_t run_ns = 0;   // time spent on the CPU
  std::uint64_t wait_ns = 0;  // time spent runnable, waiting
  std::uint64_t timeslices = 0;
};
Result<SchedStat> parse_task_schedstat(std::string_view text);
/// By CPU number.
Result<std::vector<SchedStat>> parse_schedstat(std::string_view text);

/// One line of /proc/diskstats. Sectors are of 512 bytes always.
struct DiskStat {
  unsigned major = 0, minor = 0;
  std::string_view name;  // into the text
  std::uint64_t reads = 0, read_sectors = 0, read_ms = 0;
  std::uint64_t writes = 0, written_sectors = 0, write_ms = 0;
  std::uint64_t in_flight = 0, io_ms = 0, weighted_io_ms = 0;
};
Result<> parse_diskstats(std::string_view text, const std::function<void(const DiskStat&)>& each);

/// The values of /proc/vmstat that node collectors read.
struct VmStat {
  std::uint64_t pgscan_direct = 0, pgscan_kswapd = 0, pgsteal_direct = 0, pgsteal_kswapd = 0;
  std::uint64_t pgmajfault = 0, oom_kill = 0, pswpin = 0, pswpout = 0;
};
Result<VmStat> parse_vmstat(std::string_view text);

struct CpuInfo {
  std::string vendor_id;  // GenuineIntel, AuthenticAMD; empty where the architecture has none
  std::string model_name;
  std::vector<std::string> flags;  // of the first CPU
  int processors = 0;
};
Result<CpuInfo> parse_cpuinfo(std::string_view text);

}  // namespace koord::host
