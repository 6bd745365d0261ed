// The parsers of /proc and cgroup text: the first byte chooses one, the rest is the file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "koord/host/cgroup_paths.hpp"
#include "koord/host/cgroup_stats.hpp"
#include "koord/host/cpuset.hpp"
#include "koord/host/pressure.hpp"
#include "koord/host/procfs.hpp"

using namespace koord::host;

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

// A set that was read prints to a list that reads to the same set.
void check_cpuset(std::string_view text) {
  const auto set = CpuSet::parse(text);
  if (!set) return;
  const auto again = CpuSet::parse(set->to_string());
  const auto count = count_cpus(set->to_string());
  check(count.has_value() && *count == set->size());
  check(again.has_value() && *again == *set && again->size() == set->size());
}

void check_container_id(std::string_view text) {
  const auto id = parse_container_id(text);
  if (!id) return;
  check(id->id.find('/') == std::string_view::npos && !id->id.empty());
  const std::string folder = container_folder(CgroupDriver::systemd, *id);
  check(container_id_of_folder(CgroupDriver::systemd, folder) == id->id);
}

void check_v1_and_v2(std::string_view text) {
  for (const CgroupVersion version : {CgroupVersion::v1, CgroupVersion::v2}) {
    (void)parse_cpu_stat(text, version).has_value();
    (void)parse_memory_stat(text, version).has_value();
    (void)parse_numa_stat(text, version).has_value();
  }
  if (const auto max = parse_cpu_max(text)) check(max->period_us > 0 && max->quota_us >= kUnlimited);
  if (const auto limit = parse_memory_limit(text)) check(*limit >= kUnlimited);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  ProcStat stat;
  switch (data[0]) {
    case 'c': check_cpuset(text); break;
    case 'i': check_container_id(text); break;
    case 'g': check_v1_and_v2(text); break;
    case 'p':
      if (const auto pressure = parse_pressure(text))
        check(!pressure->has_full || pressure->full.avg10 == pressure->full.avg10);
      break;
    case 's': (void)parse_proc_stat(text, stat).has_value(); break;
    case 'm':
      if (const auto info = parse_meminfo(text)) check(info->used() <= info->total);
      break;
    case 'd':
      (void)parse_diskstats(text, [](const DiskStat& disk) {
        check(disk.name.find(' ') == std::string_view::npos);
      }).has_value();
      break;
    case 'k': (void)parse_schedstat(text).has_value(); break;
    case 't': (void)parse_task_schedstat(text).has_value(); break;
    case 'v': (void)parse_vmstat(text).has_value(); break;
    default: (void)parse_cpuinfo(text).has_value(); break;
  }
  return 0;
}
