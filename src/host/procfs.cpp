#include "koord/host/procfs.hpp"

#include <fmt/format.h>

#include <array>

#include "koord/host/text.hpp"

namespace koord::host {

namespace {

Error malformed(std::string_view what, std::string_view line) {
  return Error(Code::parse, fmt::format("{}: cannot read \"{}\"", what, line.substr(0, 80)));
}

// The kernel appends numbers to its lines over the years: at least `required` must be there, more are
// skipped.
template <std::size_t N>
bool read_numbers(std::string_view line, const std::array<std::uint64_t*, N>& out, std::size_t required) {
  for (std::size_t i = 0; i < N; ++i) {
    const std::string_view word = next_word(line);
    if (word.empty()) return i >= required;
    if (!to_number(word, *out[i])) return false;
  }
  return true;
}

bool read_cpu_times(std::string_view line, CpuTimes& t) {
  return read_numbers<8>(line,
                         {&t.user, &t.nice, &t.system, &t.idle, &t.iowait, &t.irq, &t.softirq, &t.steal}, 4);
}

struct NamedNumber {
  std::string_view name;
  std::uint64_t* value;
};

template <std::size_t N>
std::uint64_t* find_number(const std::array<NamedNumber, N>& rows, std::string_view name) {
  for (const NamedNumber& row : rows)
    if (row.name == name) return row.value;
  return nullptr;
}

}  // namespace

Result<> parse_proc_stat(std::string_view text, ProcStat& out) {
  for (auto& cpu : out.cpus) cpu.reset();
  bool has_total = false;
  std::string_view line;
  while (next_line(text, line)) {
    if (!line.starts_with("cpu")) continue;
    std::string_view rest = line;
    std::string_view name = next_word(rest);
    name.remove_prefix(3);
    CpuTimes times;
    if (!read_cpu_times(rest, times)) return malformed("stat", line);
    if (name.empty()) {
      out.total = times;
      has_total = true;
      continue;
    }
    unsigned cpu = 0;
    if (!to_number(name, cpu) || cpu > 8191) return malformed("stat", line);
    if (out.cpus.size() <= cpu) out.cpus.resize(cpu + 1);
    out.cpus[cpu] = times;
  }
  if (!has_total) return Error(Code::parse, "stat: no line \"cpu \"");
  return {};
}

std::uint64_t MemInfo::used_of_numa_node() const {
  const std::uint64_t unused = free + active_file + inactive_file + slab_reclaimable;
  return total > unused ? total - unused : 0;
}

Result<MemInfo> parse_meminfo(std::string_view text) {
  MemInfo info;
  const std::array<NamedNumber, 14> rows = {{{"MemTotal", &info.total},
                                             {"MemFree", &info.free},
                                             {"MemAvailable", &info.available},
                                             {"Buffers", &info.buffers},
                                             {"Cached", &info.cached},
                                             {"Active(anon)", &info.active_anon},
                                             {"Inactive(anon)", &info.inactive_anon},
                                             {"Active(file)", &info.active_file},
                                             {"Inactive(file)", &info.inactive_file},
                                             {"Unevictable", &info.unevictable},
                                             {"SReclaimable", &info.slab_reclaimable},
                                             {"HugePages_Total", &info.hugepages_total},
                                             {"HugePages_Free", &info.hugepages_free},
                                             {"Hugepagesize", &info.hugepage_size}}};
  bool has_total = false;
  bool has_free = false;
  std::string_view line;
  while (next_line(text, line)) {
    std::string_view rest = line;
    std::string_view name = next_word(rest);
    if (name == "Node") {  // a NUMA node's lines begin with "Node 0 "
      next_word(rest);
      name = next_word(rest);
    }
    if (!name.ends_with(':')) continue;
    name.remove_suffix(1);
    std::uint64_t* const value = find_number(rows, name);
    if (!value) continue;
    if (!to_number(next_word(rest), *value)) return malformed("meminfo", line);
    if (trimmed(rest) == "kB") *value *= 1024;
    has_total |= value == &info.total;
    has_free |= value == &info.free;
    info.has_available |= value == &info.available;
  }
  if (!has_total || !has_free) return Error(Code::parse, "meminfo: no MemTotal or no MemFree");
  return info;
}

Result<SchedStat> parse_task_schedstat(std::string_view text) {
  SchedStat stat;
  std::string_view line;
  next_line(text, line);
  if (!read_numbers<3>(line, {&stat.run_ns, &stat.wait_ns, &stat.timeslices}, 3))
    return malformed("schedstat", line);
  return stat;
}

Result<std::vector<SchedStat>> parse_schedstat(std::string_view text) {
  std::vector<SchedStat> cpus;
  std::string_view line;
  while (next_line(text, line)) {
    if (!line.starts_with("cpu")) continue;
    std::string_view rest = line;
    std::string_view name = next_word(rest);
    unsigned cpu = 0;
    if (!to_number(name.substr(3), cpu) || cpu > 8191) return malformed("schedstat", line);
    std::uint64_t unused = 0;
    SchedStat stat;
    // Of a CPU's nine numbers the last three are running time, waiting time and timeslices.
    if (!read_numbers<9>(rest,
                         {&unused, &unused, &unused, &unused, &unused, &unused, &stat.run_ns, &stat.wait_ns,
                          &stat.timeslices},
                         9))
      return malformed("schedstat", line);
    if (cpus.size() <= cpu) cpus.resize(cpu + 1);
    cpus[cpu] = stat;
  }
  return cpus;
}

Result<> parse_diskstats(std::string_view text, const std::function<void(const DiskStat&)>& each) {
  std::string_view line;
  while (next_line(text, line)) {
    if (trimmed(line).empty()) continue;
    std::string_view rest = line;
    DiskStat disk;
    std::uint64_t merged = 0;
    if (!to_number(next_word(rest), disk.major) || !to_number(next_word(rest), disk.minor))
      return malformed("diskstats", line);
    disk.name = next_word(rest);
    if (!read_numbers<11>(
            rest,
            {&disk.reads, &merged, &disk.read_sectors, &disk.read_ms, &disk.writes, &merged,
             &disk.written_sectors, &disk.write_ms, &disk.in_flight, &disk.io_ms, &disk.weighted_io_ms},
            11))
      return malformed("diskstats", line);
    each(disk);
  }
  return {};
}

Result<VmStat> parse_vmstat(std::string_view text) {
  VmStat stat;
  const std::array<NamedNumber, 8> rows = {{{"pgscan_direct", &stat.pgscan_direct},
                                            {"pgscan_kswapd", &stat.pgscan_kswapd},
                                            {"pgsteal_direct", &stat.pgsteal_direct},
                                            {"pgsteal_kswapd", &stat.pgsteal_kswapd},
                                            {"pgmajfault", &stat.pgmajfault},
                                            {"oom_kill", &stat.oom_kill},
                                            {"pswpin", &stat.pswpin},
                                            {"pswpout", &stat.pswpout}}};
  std::string_view line;
  while (next_line(text, line)) {
    std::string_view rest = line;
    std::uint64_t* const value = find_number(rows, next_word(rest));
    if (value && !to_number(next_word(rest), *value)) return malformed("vmstat", line);
  }
  return stat;
}

Result<CpuInfo> parse_cpuinfo(std::string_view text) {
  CpuInfo info;
  std::string_view line;
  while (next_line(text, line)) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = trimmed(line.substr(0, colon));
    std::string_view value = trimmed(line.substr(colon + 1));
    if (name == "processor") ++info.processors;
    if (name == "vendor_id" && info.vendor_id.empty()) info.vendor_id = value;
    if (name == "model name" && info.model_name.empty()) info.model_name = value;
    if ((name == "flags" || name == "Features") && info.flags.empty())
      for (std::string_view flag = next_word(value); !flag.empty(); flag = next_word(value))
        info.flags.emplace_back(flag);
  }
  if (info.processors == 0) return Error(Code::parse, "cpuinfo: no line \"processor\"");
  return info;
}

}  // namespace koord::host
