// Settings that are no number of a cgroup: texts, lines by key, many keys of one file, other domains. A
// strategy as somebody might write one wants them end to end: arbiter, journal, executor, and back.
#include <catch2/catch.hpp>

#include "framework/executor/knob_layouts.hpp"
#include "framework/executor/knob_values.hpp"
#include "framework/qos/journal.hpp"
#include "koord/base/file.hpp"
#include "rigs/kill_between_writes.hpp"
#include "rigs/qos_rig.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using host::Knob;
using testing::QosRig;

constexpr std::string_view kJob = "kubepods/besteffort/podx";
constexpr const char* kRoot = "/sim/sys/fs/resctrl/schemata";
constexpr const char* kBe = "/sim/sys/fs/resctrl/be/schemata";
constexpr const char* kFeatures = "/sim/sys/kernel/debug/sched_features";
constexpr const char* kPages = "/sim/sys/kernel/mm/transparent_hugepage/enabled";
constexpr const char* kDevice = "netlink:eth0/qdisc";

struct Line {
  Knob knob{};
  std::string group, key;
  KnobValue value;
};

/// Wants what the test says.
template <int kPlace>
class Lines final : public Strategy {
 public:
  explicit Lines(const PluginContext&) {}
  void plan(const TickView&, Plan& plan) override {
    for (const Line& line : all) plan.want(line.knob, line.group, line.value, "a test").key = line.key;
  }
  void release(const Inventory&, Plan&) override {}
  static inline std::vector<Line> all;
};
using Stronger = Lines<0>;
using Weaker = Lines<1>;
constexpr StrategyEntry kStronger{.name = "Stronger", .make = &make<Stronger>};
constexpr StrategyEntry kWeaker{.name = "Weaker", .make = &make<Weaker>};
constexpr const StrategyEntry* kBoth[] = {&kStronger, &kWeaker};

std::vector<Line> everything() {
  return {{Knob::schemata, "be", "L3/0", "ff"},
          {Knob::schemata, "be", "L3/1", "f"},
          {Knob::schemata, "be", "MB/1", "50"},
          {Knob::schemata, "", "MB/0", "90"},
          {Knob::io_max, std::string(kJob), "8:0/rbps", std::int64_t{1048576}},
          {Knob::io_max, std::string(kJob), "8:0/wiops", std::int64_t{100}},
          {Knob::io_max, std::string(kJob), "8:16/wbps", std::int64_t{2048}},
          {Knob::sched_feature, "", "HRTICK", std::int64_t{1}},
          {Knob::sched_feature, "", "START_DEBIT", std::int64_t{0}},
          {Knob::sys_text, "kernel/mm/transparent_hugepage/enabled", "", "never"},
          {Knob::link, "eth0/qdisc", "", "htb"}};
}

class Rig : public QosRig {
 public:
  explicit Rig(std::string journal = {}) : QosRig(CgroupVersion::v2, std::move(journal)) {
    Stronger::all.clear();
    Weaker::all.clear();
    slo(true, "cfsQuota");
    strategies = kBoth;
    netlink = &kernel;
    kernel.group(std::string(kJob)).files["io.max"] = "8:16 rbps=max wbps=4096 riops=max wiops=max\n";
    kernel.settings = {{kRoot, "    MB:0=100;1=100\n    L3:0=fffff;1=fffff\n"},
                       {kBe, "    MB:0=100;1=100\n    L3:0=fffff;1=fffff\n"},
                       {kFeatures, "START_DEBIT NO_HRTICK GENTLE\n"},
                       {kPages, "always [madvise] never\n"},
                       {kDevice, "fq_codel\n"}};
    start();
  }
  std::string now(const char* file) { return kernel.settings.find(file)->second; }
  std::string io() { return kernel.group(std::string(kJob)).files["io.max"]; }
  std::string all() { return now(kRoot) + now(kBe) + now(kFeatures) + now(kPages) + now(kDevice) + io(); }
};

TEST_CASE("A strategy sets lines by key, many keys of one file, texts, and a device's setting",
          "[koordlet][knobs]") {
  Rig rig;
  const std::string before = rig.all();
  Stronger::all = everything();
  rig.tick(1);
  CHECK(rig.now(kBe) == "    MB:0=100;1= 50\n    L3:0=000ff;1=0000f\n");
  CHECK(rig.now(kRoot) == "    MB:0= 90;1=100\n    L3:0=fffff;1=fffff\n");
  CHECK(rig.io() ==
        "8:0 rbps=1048576 wbps=max riops=max wiops=100\n8:16 rbps=max wbps=2048 riops=max wiops=max\n");
  CHECK(rig.now(kFeatures) == "NO_START_DEBIT HRTICK GENTLE\n");
  CHECK(rig.now(kPages) == "always madvise [never]\n");
  CHECK(rig.now(kDevice) == "htb");
  // What is as it should be is left alone, whatever the kernel made of the text.
  const auto written = rig.kernel.written.size();
  CHECK(written == everything().size());
  for (int i = 0; i < 100; ++i) rig.tick(1);
  CHECK(rig.kernel.written.size() == written);
  for (const auto& limit : rig.manager->limits()) CHECK(limit.in_force);
  CHECK(rig.manager->limits()[4].group == fmt::format("{} 8:0/rbps", kJob));
  CHECK(rig.manager->limits()[7].group == "HRTICK");  // as the group was called before there were keys
  // One key less: it alone goes back.
  Stronger::all.erase(Stronger::all.begin());
  rig.tick(1);
  CHECK(rig.now(kBe) == "    MB:0=100;1= 50\n    L3:0=fffff;1=0000f\n");
  Stronger::all.clear();
  rig.tick(1);
  rig.kernel.settings[kDevice] += '\n';
  CHECK(rig.all() == before);
}

TEST_CASE("An agent that dies between any two writes leaves what the next one puts back",
          "[koordlet][knobs]") {
  const bool cleanup = GENERATE(false, true);
  std::string before;
  const auto held = [](Rig& rig) {
    std::string text = rig.all();
    std::erase(text, '\n');
    return text;
  };
  const std::size_t writes = testing::kill_between_writes(
      [&](const std::string& journal) {
        auto rig = std::make_unique<Rig>(journal);
        before = held(*rig);
        return rig;
      },
      [&](Rig& rig) {
        Stronger::all = everything();
        rig.tick(1);
        std::get<std::string>(Stronger::all.front().value) = "3";
        rig.tick(1);
      },
      [&](Rig& rig, const std::string& journal, std::size_t) {
        Stronger::all.clear();
        rig.start();
        if (cleanup)
          REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
        else
          rig.tick(1);
        REQUIRE(held(rig) == before);
        REQUIRE_FALSE(host::exists(journal));
      });
  CHECK(writes == everything().size() + 1);
}

TEST_CASE("Two strategies share a file; of one key the stronger one's value counts", "[koordlet][knobs]") {
  Rig rig;
  Stronger::all = {{Knob::schemata, "be", "L3/0", "f"}};
  Weaker::all = {{Knob::schemata, "be", "L3/0", "ff"}, {Knob::schemata, "be", "MB/0", "20"}};
  rig.tick(1);
  CHECK(rig.now(kBe) == "    MB:0= 20;1=100\n    L3:0=0000f;1=fffff\n");
  Stronger::all.clear();
  rig.tick(1);
  CHECK(rig.now(kBe) == "    MB:0= 20;1=100\n    L3:0=000ff;1=fffff\n");
}

TEST_CASE("A key that the kernel does not have, or refuses, is no other key's fault", "[koordlet][knobs]") {
  Rig rig;
  Stronger::all = {{Knob::schemata, "be", "L2/0", "f"},
                   {Knob::schemata, "be", "L3/0", "0"},
                   {Knob::schemata, "be", "L3/1", "f"},
                   {Knob::schemata, "gone", "L3/0", "f"}};
  rig.kernel.fault = [](std::string_view, std::string_view text) { return text == "L3:0=0\n" ? EINVAL : 0; };
  rig.tick(1);
  CHECK(rig.now(kBe) == "    MB:0=100;1=100\n    L3:0=fffff;1=0000f\n");
  const auto failures = rig.manager->failures();
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].group == "be L3/0");
}

TEST_CASE("Where nobody speaks netlink its knobs are wanted in vain, and nothing else is",
          "[koordlet][knobs]") {
  Rig rig;
  rig.netlink = nullptr;
  rig.start();
  Stronger::all = everything();
  rig.tick(1);
  CHECK(rig.now(kDevice) == "fq_codel\n");
  CHECK(rig.now(kPages) == "always madvise [never]\n");
  CHECK(rig.executor->find(Knob::link, "eth0/qdisc").error().code() == Code::unsupported);
}

TEST_CASE("A dry run shows texts and keys, and writes none of them", "[koordlet][knobs]") {
  Rig rig;
  rig.dry_run = {"Stronger"};
  rig.start();
  Stronger::all = everything();
  rig.tick(1);
  CHECK(rig.kernel.written.empty());
  const auto limits = rig.manager->limits();
  REQUIRE(limits.size() == everything().size());
  CHECK(limits[0].group == "be L3/0");
  CHECK(limits[0].value == "ff");
  CHECK_FALSE(limits[0].in_force);
}

TEST_CASE("What a file says of a key, and what is written for it", "[koordlet][knobs]") {
  struct Row {
    Knob knob;
    const char* text;
    const char* key;
    std::optional<KnobValue> value;  // nothing: there is none
    const char* printed;             // what is written for it; null: nothing can be
  };
  const Row rows[] = {
      {Knob::schemata, "  L3:0=0f;1=1\n  MB:0= 50\n", "L3/0", "0f", "L3:0=0f\n"},
      {Knob::schemata, "L3:0=0f;10=1\n", "L3/1", {}, nullptr},
      {Knob::schemata, "L3:0=f\n", "L3", "0=f", "L3:0=f\n"},
      {Knob::schemata, "L3CODE:0=f\nL3:0=1\n", "L3/0", "1", "L3:0=1\n"},
      {Knob::schemata, "L3:0=f", "", {}, nullptr},
      {Knob::io_max, "", "8:0/rbps", std::int64_t{-1}, "8:0 rbps=max\n"},
      {Knob::io_max, "8:0 rbps=5 wbps=max\n", "8:0/rbps", std::int64_t{5}, "8:0 rbps=5\n"},
      {Knob::io_max, "18:0 rbps=5\n8:0 wbps=max\n", "8:0/wbps", std::int64_t{-1}, "8:0 wbps=max\n"},
      {Knob::sys_text, "[always] never\n", "", "always", "always"},
      {Knob::sys_text, "powersave\n", "", "powersave", "powersave"},
      {Knob::sched_feature, "A NO_B\n", "B", std::int64_t{0}, "NO_B\n"},
      {Knob::sched_feature, "A NO_B\n", "C", {}, nullptr},
  };
  for (const Row& row : rows) {
    CAPTURE(host::row(row.knob).name, row.text, row.key);
    const auto found = parse_knob(row.knob, CgroupVersion::v2, row.text, row.key);
    CHECK(found.has_value() == row.value.has_value());
    if (!found || !row.value) continue;
    CHECK(*found == *row.value);
    CHECK(print_knob(row.knob, CgroupVersion::v2, *found, row.key).value() == row.printed);
  }
  // No text gets more than its own line, and no key another one's.
  for (const char* text : {"a\nL3:1=0", "a\tb", "\x1b[2J"})
    CHECK_FALSE(print_knob(Knob::schemata, CgroupVersion::v2, std::string(text), "L3/0").has_value());
  for (const char* key : {"", "/", "L3/", "/0", "L3/0;1", "L3:0/1", "L3/0=1", "L3/0\nMB/0", "L 3/0"})
    CHECK_FALSE(print_knob(Knob::schemata, CgroupVersion::v2, std::string("f"), key).has_value());
  CHECK_FALSE(print_knob(Knob::schemata, CgroupVersion::v2, std::int64_t{1}, "L3/0").has_value());
  CHECK(same_value(Knob::schemata, CgroupVersion::v2, std::string("00f"), std::string("f")));
  CHECK_FALSE(same_value(Knob::sys_text, CgroupVersion::v2, std::string("0f"), std::string("f")));
}

TEST_CASE("The journal of an older agent is read, and written as it was; new rows come beside",
          "[koordlet][knobs]") {
  koord::testing::Tree tree;
  const std::string old =
      "koord-journal 1 b\n"
      "sched_feature\tSystemConfig\t0\t0\t0\tHRTICK\n"
      "cpu.cfs_quota_us\tCPUSuppress\t0\t2\t-1\tkubepods/besteffort\n"
      "cpuset.cpus\tCPUSuppress\t0\t0\tnone\tkubepods/besteffort\n"
      "cpuset.cpus\tCPUSuppress\t0\t0\t0-3,8\tkubepods/besteffort/a b\n"
      "proc_sys\tSystemConfig\t0\t0\t67584\tvm/min_free_kbytes\n"
      "a.later.agents\tX\t0\t0\twhat\tever\tit is\n";
  tree.write("journal", old);
  Journal journal({.path = tree / "journal", .boot_id = "b"});
  REQUIRE(journal.load().has_value());
  REQUIRE(journal.entries().size() == 5);
  CHECK(journal.unknown_rows() == 1);
  REQUIRE(journal.find(Knob::sched_feature, "", "HRTICK") != nullptr);
  CHECK(journal.find(Knob::sched_feature, "", "HRTICK")->free == KnobValue(std::int64_t{0}));
  REQUIRE(journal.find(Knob::proc_sys, "vm/min_free_kbytes") != nullptr);
  const auto write = [&] {
    journal.note({Knob::schemata, "be", 0, 0, "0ff", "RDT", "L3/0"});
    REQUIRE(journal.save().has_value());
  };
  write();
  std::string with = old;
  with.insert(old.find("cpu.cfs"), "schemata\tRDT\t0\t0\t0ff\tL3/0\tbe\n");
  CHECK(read_file(tree / "journal").value() == with);
  journal.erase(Knob::schemata, "be", "L3/0");
  REQUIRE(journal.save().has_value());
  CHECK(read_file(tree / "journal").value() == old);
  for (const Line& line : everything())
    journal.note({line.knob, line.group, 0, 0, line.value, "X", line.key});
  REQUIRE(journal.save().has_value());
  Journal next({.path = tree / "journal", .boot_id = "b"});
  REQUIRE(next.load().has_value());
  CHECK(next.entries() == journal.entries());
  for (const char* row : {"schemata\tRDT\t0\t0\tff\tL3/0\n", "schemata\tRDT\t0\t0\tff\t\tbe\n",
                          "sched_feature\tX\t0\t0\t0\t\n", "io.max\tX\t0\t0\tmax\t8:0/rbps\tg\n"}) {
    CAPTURE(row);
    tree.write("journal", fmt::format("koord-journal 1 b\n{}", row));
    CHECK(next.load().error().code() == Code::parse);
  }
}

TEST_CASE("A strategy whose dead agent held a key holds it until it can tell", "[koordlet][knobs]") {
  koord::testing::Tree tree;
  Rig rig(tree / "journal");
  Stronger::all = everything();
  rig.tick(1);
  const std::string held = rig.all();
  rig.inventory.slo.reset();
  rig.inventory.slo_known = false;
  rig.start();
  rig.tick(1);
  CHECK(rig.all() == held);
  CHECK(rig.manager->limits().size() == everything().size());
}

}  // namespace
}  // namespace koord::koordlet
