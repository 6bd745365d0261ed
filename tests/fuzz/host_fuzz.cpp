// The parsers of /proc, /sys and cgroup text: the first byte chooses one, the rest is the file; of a
// topology, "path<line feed>" and its text up to a zero byte, file after file.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "koord/host/cgroup_paths.hpp"
#include "koord/host/cgroup_stats.hpp"
#include "koord/host/cpuset.hpp"
#include "koord/host/pressure.hpp"
#include "koord/host/procfs.hpp"
#include "koord/host/root.hpp"
#include "koord/host/text.hpp"
#include "koord/host/topology.hpp"
#include "scratch_folder.hpp"

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
    std::vector<std::uint64_t> nodes;
    (void)parse_numa_stat(text, version, 65'536, nodes).has_value();
  }
  if (const auto use = parse_numa_use(text, 65'536)) check(use->used <= use->used_with_page_cache);
  if (const auto max = parse_cpu_max(text)) check(max->period_us > 0 && max->quota_us >= kUnlimited);
  if (const auto limit = parse_memory_limit(text)) check(*limit >= kUnlimited);
  (void)parse_counter(text).has_value();
}

// What may be written is what may be read back.
void check_knobs(std::string_view text) {
  std::int64_t value = 0;
  if (!to_number(text, value)) return;
  for (const KnobRow& row : knob_table())
    for (const CgroupVersion version : {CgroupVersion::v1, CgroupVersion::v2}) {
      const auto written = knob_text(row.knob, version, value);
      if (!written) continue;
      check(!written->empty() && (!row.minimum || value >= *row.minimum) &&
            (!row.maximum || value <= *row.maximum));
      if (row.knob == Knob::cpu_quota && version == CgroupVersion::v2) {
        const auto back = parse_cpu_max(*written);
        check(back.has_value() && (back->quota_us == value || value < 0));
      }
    }
  const std::int64_t shares = milli_cpu_to_shares(value);
  check(shares >= 2 && milli_cpu_to_quota(value) >= kUnlimited);
}

// A container's folder is found again by its name, and nothing else is taken for one.
void check_folder(std::string_view text) {
  for (const CgroupDriver driver : {CgroupDriver::systemd, CgroupDriver::cgroupfs}) {
    const std::string_view id = container_id_of_folder(driver, text);
    check(id.empty() || text.find(id) != std::string_view::npos);
  }
  (void)qos_of_path(text);
}

void check_topology(std::string_view text) {
  static const koord::fuzz::ScratchFolder kFolder;
  constexpr int kMaxFiles = 64;
  int files = 0;
  while (!text.empty() && files < kMaxFiles) {
    const auto end = text.find('\0');
    const std::string_view file = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    const auto name_end = file.find('\n');
    const std::string_view name = file.substr(0, name_end);
    const bool plain = !name.empty() && name.size() < 100 && name.find("..") == std::string_view::npos &&
                       name.front() != '/';
    if (!plain || name_end == std::string_view::npos) continue;
    kFolder.write("devices/system/" + std::string(name), file.substr(name_end + 1));
    ++files;
  }
  Root root;
  root.sys = kFolder.path() + "/";
  const auto topology = read_topology(root);
  kFolder.clear();
  if (!topology) return;
  check(!topology->cpus.empty() && !topology->nodes.empty());
  check(static_cast<int>(topology->cpus.size()) == topology->online.size());
  for (const CpuPlace& place : topology->cpus) {
    check(topology->find(place.cpu) == &place && topology->siblings(place.cpu).contains(place.cpu));
    check(place.core >= 0 && place.socket >= 0 && place.node >= 0);
  }
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
    case 'w': check_knobs(text); break;
    case 'f': check_folder(text); break;
    case 'y': check_topology(text); break;
    case 't': (void)parse_task_schedstat(text).has_value(); break;
    case 'v': (void)parse_vmstat(text).has_value(); break;
    default: (void)parse_cpuinfo(text).has_value(); break;
  }
  return 0;
}
