#include "koord/host/cgroup_knobs.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "koord/host/text.hpp"

namespace koord::host {

namespace {

constexpr std::int64_t kMinShares = 2;
constexpr std::int64_t kMaxShares = 262'144;
constexpr std::int64_t kMinWeight = 1;
constexpr std::int64_t kMaxWeight = 10'000;
constexpr std::int64_t kGroupsWeight = 0;
// The kernel keeps 32 bits of it: 2^32 would be a limit of none.
constexpr std::int64_t kMostV1Iops = std::numeric_limits<std::uint32_t>::max();
constexpr std::int64_t kMinQuotaUs = 1'000;
constexpr std::int64_t kMostMilliCpu = std::numeric_limits<std::int64_t>::max() / kDefaultPeriodUs;
// memory.limit_in_bytes without a limit: the largest multiple of the page size in a signed 64-bit number, of
// which pages of 64 KiB make the smallest.
constexpr std::uint64_t kV1NoLimit = 0x7FFF'FFFF'FFFF'0000;

constexpr KnobRow make_row(Knob knob, KnobKind kind, std::string_view subsystem, std::string_view v1_file,
                           std::string_view v2_file, std::optional<std::int64_t> minimum = {},
                           std::optional<std::int64_t> maximum = {}) {
  return {.knob = knob,
          .kind = kind,
          .name = v1_file,
          .v1_subsystem = subsystem,
          .v1_file = v1_file,
          .v2_file = v2_file,
          .v2_read_file = {},
          .minimum = minimum,
          .maximum = maximum};
}
/// `file`: where one file has all settings of the knob.
constexpr KnobRow domain_row(Knob knob, std::string_view name, KnobDomain domain,
                             std::string_view file = {}) {
  KnobRow row = make_row(knob, KnobKind::setting, {}, file, file);
  row.name = name;
  row.domain = domain;
  return row;
}
constexpr KnobRow statistic(Knob knob, std::string_view subsystem, std::string_view v1_file,
                            std::string_view v2_file) {
  return make_row(knob, KnobKind::reading, subsystem, v1_file, v2_file);
}
constexpr KnobRow cpuset_row(Knob knob, std::string_view file, std::string_view v2_read_file) {
  KnobRow row = make_row(knob, KnobKind::limit, "cpuset", file, file);
  row.v2_read_file = v2_read_file;
  row.type = KnobType::cpus;
  return row;
}

constexpr KnobRow memory_row(Knob knob, KnobKind kind, std::string_view file,
                             std::optional<std::int64_t> minimum, std::optional<std::int64_t> maximum = {}) {
  return make_row(knob, kind, "memory", file, file, minimum, maximum);
}
constexpr KnobRow blocking(KnobRow row) {
  row.blocking = true;
  return row;
}
/// A file that only cgroup v2 has.
constexpr KnobRow v2_row(KnobRow row) {
  row.v1_subsystem = {};
  row.v1_file = {};
  return row;
}
constexpr KnobRow least(KnobRow row) {
  row.merge = KnobMerge::least;
  return row;
}
constexpr KnobRow greatest(KnobRow row) {
  row.merge = KnobMerge::greatest;
  return row;
}
constexpr KnobRow with_default(KnobRow row, std::int64_t value) {
  row.default_value = value;
  return row;
}

constexpr KnobRow text(KnobRow row, KnobLayout layout = KnobLayout::whole) {
  row.type = KnobType::text;
  row.layout = layout;
  return row;
}
constexpr KnobRow words(KnobRow row) {
  row.layout = KnobLayout::words;
  return row;
}
constexpr KnobRow in_lines(KnobRow row, KnobLines lines, std::optional<std::int64_t> unlisted = {}) {
  row.layout = KnobLayout::lines;
  row.lines = lines;
  row.unlisted = unlisted;
  return row;
}
/// A line for each device, which says several things at once.
constexpr KnobRow in_worded_lines(KnobRow row, std::string_view unlisted) {
  row = in_lines(text(row), {.words = true});
  row.unlisted_text = unlisted;
  return row;
}
/// A file that only cgroup v1 has: a number for each device, 0 for none.
constexpr KnobRow throttle(Knob knob, std::string_view v1_file, std::optional<std::int64_t> maximum = {}) {
  return in_lines(make_row(knob, KnobKind::setting, "blkio", v1_file, "", 0, maximum), {}, 0);
}
constexpr KnobRow suspending(KnobRow row, Knob other) {
  row.suspends = other;
  return row;
}
constexpr KnobRow suspended(KnobRow row, Knob by) {
  row.suspended_by = by;
  return row;
}
constexpr KnobRow shared(KnobRow row, KnobShare share) {
  row.share = share;
  return row;
}

constexpr KnobRow kKnobs[] = {
    shared(make_row(Knob::cpu_quota, KnobKind::limit, "cpu", "cpu.cfs_quota_us", "cpu.max", kUnlimited),
           {Knob::cpu_period, kDefaultPeriodUs}),
    make_row(Knob::cpu_period, KnobKind::setting, "cpu", "cpu.cfs_period_us", "cpu.max", 1'000, 1'000'000),
    suspended(make_row(Knob::cpu_shares, KnobKind::setting, "cpu", "cpu.shares", "cpu.weight", kMinShares,
                       kMaxShares),
              Knob::cpu_idle),
    suspending(make_row(Knob::cpu_idle, KnobKind::setting, "cpu", "cpu.idle", "cpu.idle", 0, 1),
               Knob::cpu_shares),
    with_default(make_row(Knob::cpu_burst, KnobKind::setting, "cpu", "cpu.cfs_burst_us", "cpu.max.burst", 0),
                 0),
    make_row(Knob::cpu_bvt, KnobKind::setting, "cpu", "cpu.bvt_warp_ns", "cpu.bvt_warp_ns", -1, 2),
    statistic(Knob::cpu_stat, "cpu", "cpu.stat", "cpu.stat"),
    statistic(Knob::cpu_usage, "cpuacct", "cpuacct.usage", "cpu.stat"),
    cpuset_row(Knob::cpuset_cpus, "cpuset.cpus", "cpuset.cpus.effective"),
    cpuset_row(Knob::cpuset_mems, "cpuset.mems", "cpuset.mems.effective"),
    make_row(Knob::tasks, KnobKind::moving, "cpu", "tasks", "cgroup.threads"),
    make_row(Knob::procs, KnobKind::moving, "cpu", "cgroup.procs", "cgroup.procs"),
    make_row(Knob::freeze, KnobKind::command, "freezer", "freezer.state", "cgroup.freeze"),
    make_row(Knob::kill, KnobKind::command, "", "", "cgroup.kill"),
    least(blocking(make_row(Knob::memory_limit, KnobKind::limit, "memory", "memory.limit_in_bytes",
                            "memory.max", kUnlimited))),
    greatest(memory_row(Knob::memory_min, KnobKind::limit, "memory.min", kUnlimited)),
    greatest(memory_row(Knob::memory_low, KnobKind::limit, "memory.low", kUnlimited)),
    least(blocking(memory_row(Knob::memory_high, KnobKind::limit, "memory.high", kUnlimited))),
    // From here on but for the groups that are killed as a whole: kernels of Anolis OS.
    memory_row(Knob::memory_wmark_ratio, KnobKind::setting, "memory.wmark_ratio", 0, 100),
    memory_row(Knob::memory_wmark_scale_factor, KnobKind::setting, "memory.wmark_scale_factor", 1, 1000),
    memory_row(Knob::memory_wmark_min_adj, KnobKind::setting, "memory.wmark_min_adj", -25, 50),
    memory_row(Knob::memory_priority, KnobKind::setting, "memory.priority", 0, 12),
    memory_row(Knob::memory_use_priority_oom, KnobKind::setting, "memory.use_priority_oom", 0, 1),
    memory_row(Knob::memory_oom_group, KnobKind::setting, "memory.oom.group", 0, 1),
    v2_row(blocking(
        memory_row(Knob::page_cache_enable, KnobKind::setting, "memory.pagecache_limit.enable", 0, 1))),
    v2_row(blocking(memory_row(Knob::page_cache_size, KnobKind::setting, "memory.pagecache_limit.size", 0))),
    v2_row(memory_row(Knob::page_cache_sync, KnobKind::setting, "memory.pagecache_limit.sync", 0, 1)),
    statistic(Knob::memory_usage, "memory", "memory.usage_in_bytes", "memory.current"),
    statistic(Knob::memory_stat, "memory", "memory.stat", "memory.stat"),
    statistic(Knob::memory_numa_stat, "memory", "memory.numa_stat", "memory.numa_stat"),
    statistic(Knob::memory_idle_pages, "memory", "memory.idle_page_stats", "memory.idle_page_stats"),
    statistic(Knob::perf_event, "perf_event", "cgroup.procs", "cgroup.procs"),
    statistic(Knob::cpu_pressure, "cpuacct", "cpu.pressure", "cpu.pressure"),
    statistic(Knob::memory_pressure, "cpuacct", "memory.pressure", "memory.pressure"),
    statistic(Knob::io_pressure, "cpuacct", "io.pressure", "io.pressure"),
    in_lines(v2_row(make_row(Knob::io_max, KnobKind::setting, "", "io.max", "io.max", kUnlimited)), {},
             kUnlimited),
    in_lines(make_row(Knob::io_weight, KnobKind::setting, "blkio", "blkio.cost.weight", "io.weight", 0,
                      kMaxWeight),
             {}, kGroupsWeight),
    in_lines(v2_row(make_row(Knob::io_latency, KnobKind::setting, "", "io.latency", "io.latency", 0)), {}, 0),
    in_worded_lines(make_row(Knob::io_cost_qos, KnobKind::setting, "blkio", "blkio.cost.qos", "io.cost.qos"),
                    "enable=0 ctrl=auto"),
    in_worded_lines(
        make_row(Knob::io_cost_model, KnobKind::setting, "blkio", "blkio.cost.model", "io.cost.model"),
        "ctrl=auto"),
    throttle(Knob::io_read_bps, "blkio.throttle.read_bps_device"),
    throttle(Knob::io_write_bps, "blkio.throttle.write_bps_device"),
    throttle(Knob::io_read_iops, "blkio.throttle.read_iops_device", kMostV1Iops),
    throttle(Knob::io_write_iops, "blkio.throttle.write_iops_device", kMostV1Iops),
    in_lines(text(domain_row(Knob::schemata, "schemata", KnobDomain::resctrl, "schemata")),
             {.after_name = ':', .between = ';', .padded = true}),
    domain_row(Knob::proc_sys, "proc_sys", KnobDomain::proc_sys),
    domain_row(Knob::sys, "sys", KnobDomain::sys),
    text(domain_row(Knob::sys_text, "sys_text", KnobDomain::sys), KnobLayout::choice),
    words(domain_row(Knob::sched_feature, "sched_feature", KnobDomain::sys, "kernel/debug/sched_features")),
    text(domain_row(Knob::link, "link", KnobDomain::netlink)),
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(kKnobs); ++i)
    if (static_cast<std::size_t>(kKnobs[i].knob) != i) return false;
  return true;
}
static_assert(in_order());

Error not_a_value(std::string_view what, std::string_view text) {
  return Error(Code::parse, std::string(what) + ": cannot read \"" + std::string(text.substr(0, 64)) + '"');
}

}  // namespace

std::span<const KnobRow> knob_table() { return kKnobs; }
const KnobRow& row(Knob knob) { return kKnobs[static_cast<std::size_t>(knob)]; }
bool can_be_undone(Knob knob) {
  return row(knob).kind == KnobKind::setting || row(knob).kind == KnobKind::limit;
}
bool is_levelled(Knob knob) { return row(knob).kind == KnobKind::limit; }
bool is_memory_bound(Knob knob) {
  return knob == Knob::memory_limit || knob == Knob::memory_min || knob == Knob::memory_low ||
         knob == Knob::memory_high;
}

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
  if (knob == Knob::io_weight && value == kGroupsWeight) return std::string("default");
  if (version == CgroupVersion::v2) {
    if (knob == Knob::io_max && value == kUnlimited) return std::string("max");
    if (knob == Knob::cpu_shares) return std::to_string(shares_to_weight(value));
    if (knob == Knob::cpu_period)
      return Error(Code::unsupported,
                   "cpu.cfs_period_us: cgroup v2 takes a period only together with a quota");
    if (value == kUnlimited && (knob == Knob::cpu_quota || is_memory_bound(knob))) return std::string("max");
  }
  // In cgroup v1 the limit alone knows -1.
  if (value == kUnlimited && is_memory_bound(knob) && knob != Knob::memory_limit)
    return std::to_string(std::numeric_limits<std::int64_t>::max());
  return std::to_string(value);
}

}  // namespace koord::host
