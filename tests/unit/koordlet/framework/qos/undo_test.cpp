// Whatever knob a strategy changes: an agent that is killed between any two writes leaves what the next one,
// or --cleanup, puts back byte for byte. Each row of the table of knobs that can be undone is tried.
#include <catch2/catch.hpp>

#include <algorithm>
#include <iterator>

#include "koord/host/file.hpp"
#include "rigs/kill_between_writes.hpp"
#include "rigs/qos_rig.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using host::CpuSet;
using host::Knob;
using testing::QosRig;
using testing::SimKernel;

constexpr std::string_view kAbove = "tier", kBelow = "tier/job";
constexpr std::string_view kSetting = "vm/min_free_kbytes";

struct Case {
  Knob knob{};
  std::string file;                     // of a group, or of the machine
  std::string had;                      // what it holds before
  std::vector<KnobValue> above, below;  // what is wanted, one after the other
  std::string group = {}, key = {};     // what is set of the machine, and of a file with many settings
};

/// What a strategy wants now: an index into a case's values, or nothing.
class Wanting final : public Strategy {
 public:
  explicit Wanting(const PluginContext&) {}
  void plan(const TickView&, Plan& plan) override {
    if (!step) return;
    const bool of_group = host::row(one->knob).domain == host::KnobDomain::cgroup;
    if (!of_group) {
      plan.want(one->knob, one->group, one->above[*step], "a test").key = one->key;
      return;
    }
    plan.want(one->knob, kAbove, one->above[*step], "a test").key = one->key;
    plan.want(one->knob, kBelow, one->below[*step], "a test").key = one->key;
  }
  void release(const Inventory&, Plan&) override {}
  static inline const Case* one = nullptr;
  static inline std::optional<std::size_t> step;
};
constexpr StrategyEntry kWanting{.name = "Wanting", .make = &make<Wanting>};
constexpr const StrategyEntry* kOnly[] = {&kWanting};

/// Nothing for what no strategy may want: v2's period, which is no file of its own, and v2's memory nodes.
std::optional<Case> case_of(const host::KnobRow& row, CgroupVersion version) {
  const bool v2 = version == CgroupVersion::v2;
  Case one{.knob = row.knob,
           .file = std::string(v2 ? row.v2_file : row.v1_file),
           .had = {},
           .above = {},
           .below = {}};
  const auto texts = [](std::initializer_list<std::string> all) {
    return std::vector<KnobValue>(all.begin(), all.end());
  };
  switch (row.knob) {
    case Knob::proc_sys:
    case Knob::sys:
      one.group = kSetting;
      one.above = {std::int64_t{90000}, std::int64_t{1}, std::int64_t{80000}};
      return one;
    case Knob::sched_feature:
      one.key = "HRTICK";
      one.above = {std::int64_t{1}, std::int64_t{0}, std::int64_t{1}};
      return one;
    case Knob::sys_text:
      one.group = "kernel/mm/transparent_hugepage/enabled";
      one.above = texts({"always", "never", "always"});
      return one;
    case Knob::schemata:
      one.group = "be";
      one.key = "L3/1";
      one.above = texts({"ff", "0f", "f0"});
      return one;
    case Knob::link:
      one.group = "eth0/qdisc";
      one.above = texts({"prio", "fq", "htb"});
      return one;
    case Knob::io_max: one.key = "8:0/rbps"; break;
    case Knob::io_latency: one.key = "8:0/target"; break;
    case Knob::io_weight:
    case Knob::io_read_bps:
    case Knob::io_write_bps:
    case Knob::io_read_iops:
    case Knob::io_write_iops: one.key = "8:0"; break;
    case Knob::io_cost_qos:
      one.key = "8:0";
      one.had = "8:0 enable=0 ctrl=user rpct=10.50 rlat=9 wpct=20.00 wlat=9 min=50.00 max=150.00\n";
      one.above = one.below =
          texts({"enable=1 ctrl=user rpct=95 rlat=1", "enable=1 ctrl=auto", "enable=1 ctrl=user rlat=2"});
      return one;
    case Knob::io_cost_model:
      one.key = "8:0";
      one.had = "8:0 ctrl=user model=linear rbps=1 rseqiops=1 rrandiops=1 wbps=1 wseqiops=1 wrandiops=1\n";
      one.above = one.below = texts({"ctrl=auto", "ctrl=user rbps=5", "ctrl=auto"});
      return one;
    default: break;
  }
  if (one.file.empty() || (v2 && (row.knob == Knob::cpu_period || row.knob == Knob::cpuset_mems)))
    return std::nullopt;
  if (row.knob == Knob::cpuset_cpus || row.knob == Knob::cpuset_mems) {
    const auto set = [](const char* text) { return KnobValue(*CpuSet::parse(text)); };
    one.had = "0-15";
    one.above = {set("0-7"), set("4-11"), set("0-3")};
    one.below = {set("0-3"), set("4-7"), set("0-3")};
    return one;
  }
  // A third, all and two thirds of what may be written, on whole pages.
  const std::int64_t least = row.minimum.value_or(0), base = std::max<std::int64_t>(least, 0);
  const std::int64_t page = row.maximum ? 1 : 4096;
  const std::int64_t most = row.maximum.value_or(std::int64_t{3} << 30);
  for (const std::int64_t third : {1, 3, 2}) {
    const std::int64_t value = (base + (most - base) * third / 3) / page * page;
    one.above.emplace_back(std::max(value, least));
    one.below.emplace_back(std::max(value, least));
  }
  one.had = row.knob == Knob::io_max       ? "8:16 rbps=max wbps=4096 riops=max wiops=max\n"
            : row.knob == Knob::io_latency ? "8:16 target=9\n"
            : !one.key.empty()             ? "8:16 300\n"
            : row.maximum                  ? std::to_string(least)
            : row.merge == host::KnobMerge::greatest || row.kind == host::KnobKind::setting ? "0"
            : v2                                                                            ? "max"
                 : "9223372036854771712";
  return one;
}

std::string state_of(const SimKernel& kernel) {
  std::string text;
  for (const auto& [name, group] : kernel.groups()) {
    text += fmt::format("{} {} {} {} {} {} {} {}", name, group.cpus.to_string(), group.quota, group.period,
                        group.shares, group.burst, group.memory, group.idle);
    for (const auto& [file, value] : group.files) text += fmt::format(" {}={}", file, value);
    text += '\n';
  }
  for (const auto& [file, value] : kernel.settings) {
    const bool ends = value.ends_with('\n');
    text += fmt::format("{} {}\n", file, ends ? value.substr(0, value.size() - 1) : value);
  }
  return text;
}

void set_up(QosRig& rig, const Case& one) {
  rig.slo(true, "cfsQuota");
  rig.strategies = kOnly;
  for (const std::string_view name : {kAbove, kBelow}) {
    auto& group = rig.kernel.group(std::string(name));
    group.cpus = rig.topology->online;
    static constexpr std::string_view kOwn[] = {"cpuset.cpus",           "cpu.max",    "cpu.cfs_quota_us",
                                                "cpu.cfs_period_us",     "cpu.weight", "cpu.shares",
                                                "memory.limit_in_bytes", "memory.max", "cpu.max.burst",
                                                "cpu.cfs_burst_us",      "cpu.idle"};
    if (std::find(std::begin(kOwn), std::end(kOwn), one.file) == std::end(kOwn))
      group.files[one.file] = one.had;
    if (rig.kernel.version() == CgroupVersion::v2) {
      group.memory = "max";
      group.shares = 39;
    }
  }
  rig.kernel.settings = {{"/sim/proc/sys/vm/min_free_kbytes", "67584\n"},
                         {"/sim/sys/vm/min_free_kbytes", "67584\n"},
                         {"/sim/sys/kernel/debug/sched_features", "START_DEBIT NO_HRTICK\n"},
                         {"/sim/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"},
                         {"/sim/sys/fs/resctrl/be/schemata", "    L3:0=0fff;1=0fff\n    MB:0=100;1=100\n"},
                         {"netlink:eth0/qdisc", "fq_codel\n"}};
  rig.netlink = &rig.kernel;
  rig.start();
}

void ticks(QosRig& rig) {
  for (int i = 0; i < 4; ++i) rig.tick(1);
}

TEST_CASE("Every knob that can be undone goes back over a kill between any two writes",
          "[koordlet][manager][crash]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  const bool cleanup = GENERATE(false, true);
  std::size_t tried = 0;
  for (const host::KnobRow& row : host::knob_table()) {
    if (!host::can_be_undone(row.knob)) continue;
    const auto one = case_of(row, version);
    if (!one) continue;
    CAPTURE(std::string(row.name), one->had);
    Wanting::one = &*one;
    std::string before;
    const std::size_t writes = testing::kill_between_writes(
        [&](const std::string& journal) {
          auto rig = std::make_unique<QosRig>(version, journal);
          Wanting::step.reset();
          set_up(*rig, *one);
          before = state_of(rig->kernel);
          return rig;
        },
        [&](QosRig& rig) {
          for (std::size_t step = 0; step < one->above.size(); ++step) {
            Wanting::step = step;
            ticks(rig);
          }
          Wanting::step.reset();
          ticks(rig);
        },
        [&](QosRig& rig, const std::string& journal, std::size_t) {
          Wanting::step.reset();
          rig.start();
          if (cleanup)
            REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
          else
            ticks(rig);
          REQUIRE(state_of(rig.kernel) == before);
          REQUIRE(rig.kernel.refused.empty());
          REQUIRE_FALSE(host::exists(journal));
        });
    CHECK(writes >= 4);
    ++tried;
  }
  CHECK(tried >= 10);
}

}  // namespace
}  // namespace koord::koordlet
