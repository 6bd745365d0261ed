#include "koord/host/cgroup_knobs.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "koord/host/text.hpp"

namespace koord::host {

namespace {

constexpr std::int64_t kMinShares = 2;
constexpr std::int64_t kMaxShares = 262'144;
constexpr std::int64_t kMinWeight = 1;
constexpr std::int64_t kMaxWeight = 10'000;
constexpr std::int64_t kMinQuotaUs = 1'000;
constexpr std::int64_t kMostMilliCpu = std::numeric_limits<std::int64_t>::max() / kDefaultPeriodUs;
// memory.limit_in_bytes without a limit: the largest multiple of the page size in a signed 64-bit number.
constexpr std::uint64_t kV1NoLimit = 0x7FFF'FFFF'FFFF'F000;

// In the order of the enum.
constexpr std::array<KnobRow, 16> kKnobs = {{
    {Knob::cpu_quota, "cpu.cfs_quota_us", "cpu", "cpu.cfs_quota_us", "cpu.max", "", kUnlimited, {}},
    {Knob::cpu_period, "cpu.cfs_period_us", "cpu", "cpu.cfs_period_us", "cpu.max", "", 1'000, 1'000'000},
    {Knob::cpu_shares, "cpu.shares", "cpu", "cpu.shares", "cpu.weight", "", kMinShares, kMaxShares},
    {Knob::cpu_stat, "cpu.stat", "cpu", "cpu.stat", "cpu.stat", "", {}, {}},
    {Knob::cpu_usage, "cpuacct.usage", "cpuacct", "cpuacct.usage", "cpu.stat", "", {}, {}},
    {Knob::cpuset_cpus,
     "cpuset.cpus",
     "cpuset",
     "cpuset.cpus",
     "cpuset.cpus",
     "cpuset.cpus.effective",
     {},
     {}},
    {Knob::cpuset_mems,
     "cpuset.mems",
     "cpuset",
     "cpuset.mems",
     "cpuset.mems",
     "cpuset.mems.effective",
     {},
     {}},
    {Knob::tasks, "tasks", "cpu", "tasks", "cgroup.threads", "", {}, {}},
    {Knob::procs, "cgroup.procs", "cpu", "cgroup.procs", "cgroup.procs", "", {}, {}},
    {Knob::memory_limit,
     "memory.limit_in_bytes",
     "memory",
     "memory.limit_in_bytes",
     "memory.max",
     "",
     kUnlimited,
     {}},
    {Knob::memory_usage,
     "memory.usage_in_bytes",
     "memory",
     "memory.usage_in_bytes",
     "memory.current",
     "",
     {},
     {}},
    {Knob::memory_stat, "memory.stat", "memory", "memory.stat", "memory.stat", "", {}, {}},
    {Knob::memory_numa_stat,
     "memory.numa_stat",
     "memory",
     "memory.numa_stat",
     "memory.numa_stat",
     "",
     {},
     {}},
    {Knob::cpu_pressure, "cpu.pressure", "cpuacct", "cpu.pressure", "cpu.pressure", "", {}, {}},
    {Knob::memory_pressure, "memory.pressure", "cpuacct", "memory.pressure", "memory.pressure", "", {}, {}},
    {Knob::io_pressure, "io.pressure", "cpuacct", "io.pressure", "io.pressure", "", {}, {}},
}};

Error not_a_value(std::string_view what, std::string_view text) {
  return Error(Code::parse, std::string(what) + ": cannot read \"" + std::string(text.substr(0, 64)) + '"');
}

}  // namespace

std::span<const KnobRow> knob_table() { return kKnobs; }
const KnobRow& row(Knob knob) { return kKnobs[static_cast<std::size_t>(knob)]; }

std::int64_t shares_to_weight(std::int64_t shares) {
  const std::int64_t s = std::clamp(shares, kMinShares, kMaxShares);
  return 1 + ((s - kMinShares) * (kMaxWeight - kMinWeight)) / (kMaxShares - kMinShares);
}

std::int64_t weight_to_shares(std::int64_t weight) {
  const std::int64_t w = std::clamp(weight, kMinWeight, kMaxWeight);
  return kMinShares + ((w - kMinWeight) * (kMaxShares - kMinShares)) / (kMaxWeight - kMinWeight);
}

std::int64_t milli_cpu_to_quota(std::int64_t milli_cpu) {
  if (milli_cpu <= 0) return kUnlimited;
  return std::max(std::min(milli_cpu, kMostMilliCpu) * kDefaultPeriodUs / 1000, kMinQuotaUs);
}

std::int64_t milli_cpu_to_shares(std::int64_t milli_cpu) {
  if (milli_cpu <= 0) return kMinShares;
  return std::max(kMinShares, std::min(milli_cpu, kMostMilliCpu) * 1024 / 1000);
}

Result<CpuMax> parse_cpu_max(std::string_view text) {
  std::string_view rest = trimmed(text);
  const std::string_view quota = next_word(rest);
  const std::string_view period = next_word(rest);
  CpuMax max;
  if (quota != "max" && (!to_number(quota, max.quota_us) || max.quota_us < 0))
    return not_a_value("cpu.max", text);
  if (!period.empty() && (!to_number(period, max.period_us) || max.period_us <= 0))
    return not_a_value("cpu.max", text);
  if (!next_word(rest).empty()) return not_a_value("cpu.max", text);
  return max;
}

Result<std::int64_t> parse_memory_limit(std::string_view text) {
  const std::string_view word = trimmed(text);
  if (word == "max" || word == "-1") return kUnlimited;
  std::uint64_t bytes = 0;
  if (!to_number(word, bytes)) return not_a_value("memory limit", text);
  return bytes >= kV1NoLimit ? kUnlimited : static_cast<std::int64_t>(bytes);
}

Result<std::string> knob_text(Knob knob, CgroupVersion version, std::int64_t value) {
  const KnobRow& r = row(knob);
  if ((r.minimum && value < *r.minimum) || (r.maximum && value > *r.maximum)) {
    std::string range = "expected at least " + std::to_string(r.minimum.value_or(0));
    if (r.maximum) range += " and at most " + std::to_string(*r.maximum);
    return Error(Code::invalid,
                 std::string(r.name) + ": " + std::to_string(value) + " is out of range, " + range);
  }
  if (version == CgroupVersion::v2) {
    if (knob == Knob::cpu_shares) return std::to_string(shares_to_weight(value));
    if (knob == Knob::cpu_period)
      return Error(Code::unsupported,
                   "cpu.cfs_period_us: cgroup v2 takes a period only together with a quota");
    if (value == kUnlimited && (knob == Knob::cpu_quota || knob == Knob::memory_limit))
      return std::string("max");
  }
  return std::to_string(value);
}

}  // namespace koord::host
