// The kernel's settings that koord reads and writes: one row each, which says where it is, what it holds and
// by which rules; those of cgroups with their names in both versions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "koord/base/result.hpp"

namespace koord::host {

enum class CgroupVersion { v1, v2 };

enum class Knob : std::uint8_t {
  cpu_quota,
  cpu_period,
  cpu_shares,
  cpu_idle,
  cpu_burst,
  cpu_bvt,
  cpu_stat,
  cpu_usage,
  cpuset_cpus,
  cpuset_mems,
  tasks,
  procs,
  freeze,
  kill,
  memory_limit,
  memory_min,
  memory_low,
  memory_high,
  memory_wmark_ratio,
  memory_wmark_scale_factor,
  memory_wmark_min_adj,
  memory_priority,
  memory_use_priority_oom,
  memory_oom_group,
  page_cache_enable,
  page_cache_size,
  page_cache_sync,
  memory_usage,
  memory_stat,
  memory_numa_stat,
  memory_idle_pages,  // kernels with kidled
  perf_event,         // no file of its own: its group's folder is what perf_event_open() takes
  cpu_pressure,
  memory_pressure,
  io_pressure,
  io_max,       // v2's limits of a device: "8:0/rbps"
  io_weight,    // a device's, of io.cost: "8:0"; 0: the group's own
  io_latency,   // v2's, in microseconds: "8:0/target"
  io_cost_qos,  // the root's alone: "8:0"
  io_cost_model,
  // v1's limits of a device, each with a file: "8:0"
  io_read_bps,
  io_write_bps,
  io_read_iops,
  io_write_iops,
  schemata,  // what a group has of caches and of the memory's bandwidth: "L3/0"
  // Of the whole machine: what stands for the group is the setting's path.
  proc_sys,       // "vm/min_free_kbytes", below /proc/sys
  sys,            // "kernel/mm/pagecache_limit/enabled", below /sys
  sys_text,       // "kernel/mm/transparent_hugepage/enabled", below /sys
  sched_feature,  // a word of /sys/kernel/debug/sched_features: 1 or 0
  link,           // "eth0/qdisc": a network device's
};

/// Where a knob's file is, and what stands for its group there.
enum class KnobDomain : std::uint8_t {
  cgroup,    // a control group
  proc_sys,  // the setting's path, below /proc/sys
  sys,       // the same, below /sys
  resctrl,   // a group of /sys/fs/resctrl; empty: that of all who are in no other
  netlink,   // DEVICE/SETTING; no file: who writes it speaks with the kernel
};
/// What it is set to.
enum class KnobType : std::uint8_t { number, cpus, text };
/// How its file holds it. Where the file has many settings a key says which of them is meant: each is a
/// setting of its own, and writing it leaves the others as they are.
enum class KnobLayout : std::uint8_t {
  whole,   // nothing else is there
  choice,  // "always [madvise] never": the word in brackets; where there are none the whole
  words,   // "FIRST NO_SECOND": the key is a word, and the value 1 or 0
  lines,   // "L3:0=ff;1=f0", "8:0 rbps=1 wbps=max": the key is LINE/FIELD, or LINE for all that it says
};
struct KnobLines {
  char after_name = ' ', between = ' ';
  bool padded = false;  // zeros that lead a field mean nothing
  /// What a line says as a whole is words NAME=VALUE: a value names some of them and leaves the others.
  /// Beside "ctrl=auto" the others but "enable" are the kernel's own choice, which nobody can set.
  bool words = false;
};

/// What becomes of what is written to a knob.
enum class KnobKind : std::uint8_t {
  reading,  // nothing is written
  moving,   // a task is moved: nothing to put back
  command,  // something is done at once: nothing to put back
  setting,  // it is there until something else is written: putting back what was there before undoes it
  limit,    // the same, and a parent has to be at least as wide as its children
};

/// Which value counts where strategies want different ones for the same group.
enum class KnobMerge : std::uint8_t {
  order,     // the stronger strategy's
  least,     // the smaller one, whose ever it is; -1, which is "no limit", is larger than all
  greatest,  // the larger one
};

/// How a knob is measured by another one.
struct KnobShare {
  Knob of{};
  std::int64_t unless_known = 1;  // what that one counts as where it cannot be read
};

struct KnobRow {
  Knob knob;
  KnobKind kind;
  std::string_view name;          // what metrics, audits and errors call it: the v1 name
  std::string_view v1_subsystem;  // the hierarchy that has the file
  std::string_view v1_file;
  std::string_view v2_file;
  std::string_view v2_read_file;  // where reading differs from writing: cpuset.cpus.effective; else empty
  std::optional<std::int64_t> minimum = {}, maximum = {};  // of what may be written, in v1 units
  KnobDomain domain = KnobDomain::cgroup;
  /// The kernel may reclaim memory before the write ends: seconds, or for ever. "No limit" never reclaims.
  bool blocking = false;
  KnobMerge merge = KnobMerge::order;
  /// What sets it free, whatever was found there: where nobody else writes it, what the kernel begins with.
  /// Nothing: what an intent names, as what a pod's spec says, or else what was found.
  std::optional<std::int64_t> default_value = {};
  KnobType type = KnobType::number;
  KnobLayout layout = KnobLayout::whole;
  KnobLines lines = {};
  /// What a key has that the file does not list; nothing: then there is no such setting.
  std::optional<std::int64_t> unlisted = {};
  std::string_view unlisted_text = {};  // the same of a text
  /// While it is 1 the group has none of this other knob: the kernel refuses writes to it and keeps none.
  std::optional<Knob> suspends = {};
  std::optional<Knob> suspended_by = {};  // the same from the other side
  /// In cgroup v1 no group may have more of it, by this measure, than the nearest one above that has any.
  std::optional<KnobShare> share = {};
};

/// In the order of the enum.
std::span<const KnobRow> knob_table();
const KnobRow& row(Knob knob);
bool can_be_undone(Knob knob);
/// Knobs of which a parent has to be at least as wide as its children.
bool is_levelled(Knob knob);
/// Knobs in bytes that may say "max".
bool is_memory_bound(Knob knob);

// Conversions. v1 writes shares in [2, 262144] and quotas in microseconds with -1 for none; v2 writes weights
// in [1, 10000] and "QUOTA PERIOD" with "max" for none. The formulas of shares and weights are runc's and
// systemd's; both round down, so that a round trip may lose a little.

std::int64_t shares_to_weight(std::int64_t shares);
std::int64_t weight_to_shares(std::int64_t weight);

inline constexpr std::int64_t kDefaultPeriodUs = 100'000;
inline constexpr std::int64_t kUnlimited = -1;

/// The quota per period of 100 ms that gives so many thousandths of a CPU: at least 1000 us, which is the
/// kernel's least; none (-1) for 0 and less.
std::int64_t milli_cpu_to_quota(std::int64_t milli_cpu);
/// At least 2.
std::int64_t milli_cpu_to_shares(std::int64_t milli_cpu);

struct CpuMax {
  std::int64_t quota_us = kUnlimited;
  std::int64_t period_us = kDefaultPeriodUs;
};
/// v2's cpu.max: "max 100000", "50000 100000", "50000".
Result<CpuMax> parse_cpu_max(std::string_view text);

/// A limit in bytes as either version shows it: "max" and v1's page-rounded maximum are kUnlimited.
Result<std::int64_t> parse_memory_limit(std::string_view text);

/// The text to write for a value in v1 terms. Code::invalid if it is outside the knob's range.
Result<std::string> knob_text(Knob knob, CgroupVersion version, std::int64_t value);

}  // namespace koord::host
