// The statistics files of a cgroup: text to numbers, the same numbers from both versions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"
#include "koord/host/cgroup_knobs.hpp"

namespace koord::host {

struct CpuStat {
  std::uint64_t usage_ns = 0;  // v2 only; v1 has cpuacct.usage
  std::uint64_t periods = 0;
  std::uint64_t throttled_periods = 0;
  std::uint64_t throttled_ns = 0;
};
/// v1 needs no line (a hierarchy without quotas shows fewer), v2 needs usage_usec.
Result<CpuStat> parse_cpu_stat(std::string_view text, CgroupVersion version);

/// cpuacct.usage: nanoseconds.
Result<std::uint64_t> parse_counter(std::string_view text);

struct MemoryStat {  // bytes
  std::uint64_t anon = 0, file = 0;
  std::uint64_t active_anon = 0, inactive_anon = 0, active_file = 0, inactive_file = 0, unevictable = 0;

  /// What cannot be dropped for free: anonymous and unevictable pages.
  std::uint64_t used() const { return inactive_anon + active_anon + unevictable; }
  std::uint64_t used_with_page_cache() const { return used() + active_file + inactive_file; }
};
/// v1 reads the total_* lines (the whole subtree). A missing line is Code::parse.
Result<MemoryStat> parse_memory_stat(std::string_view text, CgroupVersion version);

/// The same two sums of v1's memory.numa_stat, whose hierarchical_* lines count the same lists of pages: of a
/// kernel that knows NUMA, and with few nodes, in a third of the time (Linux 6.18). Code::parse: a line is
/// missing (kernels before 3.19 have none), or a number is none.
struct MemoryUse {  // bytes
  std::uint64_t used = 0, used_with_page_cache = 0;
};
Result<MemoryUse> parse_numa_use(std::string_view text, std::uint64_t page_size);

inline constexpr std::size_t kMaxNumaNodes = 1024;  // the most that Linux can be built for

/// memory.numa_stat: bytes by the NUMA node's number; v1's "total" line, in pages of `page_size` bytes, v2's
/// anon and file. Numbers ascend, and may have gaps: 0 for a node that is not there. Code::parse otherwise.
/// The vector is used again; after an error its content means nothing.
Result<> parse_numa_stat(std::string_view text, CgroupVersion version, std::uint64_t page_size,
                         std::vector<std::uint64_t>& nodes);

/// memory.idle_page_stats of kernels with kidled: bytes of file pages on inactive and unevictable lists that
/// nobody has touched for as many scans as the sixth bucket begins with, or more. Code::parse unless it has
/// the 31 lines that kidled writes, those rows among them.
Result<std::uint64_t> parse_cold_pages(std::string_view text);

}  // namespace koord::host
