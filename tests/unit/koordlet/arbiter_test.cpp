// The arbiter: which of several wishes counts, and what the group above leaves of it.
#include "framework/qos/arbiter.hpp"

#include <catch2/catch.hpp>

#include "qos_rig.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using host::CpuSet;
using host::Knob;
using testing::QosRig;

CpuSet cpus(std::string_view text) { return *CpuSet::parse(text); }

Intent intent(Knob knob, std::string group, KnobValue value, Reach reach = {}) {
  Intent made;
  made.knob = knob;
  made.group = std::move(group);
  made.value = std::move(value);
  made.reach = std::move(reach);
  return made;
}

TEST_CASE("The arbiter's order", "[koordlet][arbiter]") {
  struct Row {
    const char* name;
    CgroupVersion version;
    std::vector<Intent> first, second;
    std::string parent, child;  // what is decided; empty: nothing
    std::size_t conflicts;
  };
  const auto set = [](std::string group, std::string_view text, Reach reach = {}) {
    return intent(Knob::cpuset_cpus, std::move(group), cpus(text), std::move(reach));
  };
  const auto quota = [](std::string group, std::int64_t value) {
    return intent(Knob::cpu_quota, std::move(group), value);
  };
  const std::vector<Row> rows{
      {"the earlier strategy", CgroupVersion::v1, {set("p", "0-3")}, {set("p", "4-7")}, "0-3", "", 1},
      {"the same twice is no conflict",
       CgroupVersion::v1,
       {set("p", "0-3")},
       {set("p", "0-3")},
       "0-3",
       "",
       0},
      {"the closer intent",
       CgroupVersion::v1,
       {set("p", "0-3", {0, 1, {}}), set("p/c", "1")},
       {},
       "0-3",
       "1",
       0},
      {"the closer intent, told first",
       CgroupVersion::v1,
       {set("p/c", "1"), set("p", "0-3", {0, 1, {}})},
       {},
       "0-3",
       "1",
       0},
      {"the earlier strategy, though further away",
       CgroupVersion::v1,
       {set("p", "0-3", {0, 1, {}})},
       {set("p/c", "1")},
       "0-3",
       "0-3",
       1},
      {"levels", CgroupVersion::v1, {set("p", "0-3", {1, 1, {}})}, {}, "", "0-3", 0},
      {"exceptions", CgroupVersion::v1, {set("p", "0-3", {0, 1, {"p/c"}})}, {}, "0-3", "", 0},
      {"a child is cut to its parent",
       CgroupVersion::v1,
       {set("p", "0-3"), set("p/c", "2-5")},
       {},
       "0-3",
       "2-3",
       1},
      {"a child that shares nothing gets what the parent has",
       CgroupVersion::v2,
       {set("p", "0-3"), set("p/c", "4-5")},
       {},
       "0-3",
       "0-3",
       1},
      {"a quota is cut in v1",
       CgroupVersion::v1,
       {quota("p", 5000), quota("p/c", 7000)},
       {},
       "5000",
       "5000",
       1},
      {"and not in v2, which takes it",
       CgroupVersion::v2,
       {quota("p", 5000), quota("p/c", 7000)},
       {},
       "5000",
       "7000",
       0},
      {"none below a quota inherits",
       CgroupVersion::v1,
       {quota("p", 5000), quota("p/c", -1)},
       {},
       "5000",
       "-1",
       0},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    QosRig rig(row.version);
    rig.kernel.group("p");
    rig.kernel.group("p/c");
    GroupTree tree(*rig.executor, rig.clock, std::chrono::seconds(10));
    Arbiter arbiter(*rig.executor, tree);
    const std::vector<std::span<const Intent>> plans{row.first, row.second};
    tree.start_tick(1);
    const auto decisions = arbiter.decide(plans);
    std::map<std::string, std::string> decided;
    for (const auto& decision : decisions) decided[std::string(decision.group)] = to_string(*decision.value);
    CHECK(decided["p"] == row.parent);
    CHECK(decided["p/c"] == row.child);
    CHECK(arbiter.conflicts() == row.conflicts);
  }
}

TEST_CASE("Quotas are compared as shares of their period", "[koordlet][arbiter]") {
  struct Row {
    std::int64_t period, wanted, decided;
  };
  const Row row = GENERATE(values<Row>({{200'000, 70'000, 70'000},    // 0.35 CPUs below half a one
                                        {200'000, 120'000, 100'000},  // 0.6
                                        {50'000, 40'000, 25'000},     // 0.8, though the number is smaller
                                        {100'000, 50'000, 50'000}}));
  QosRig rig(CgroupVersion::v1);
  rig.kernel.group("p");
  rig.kernel.group("p/c").period = row.period;
  GroupTree tree(*rig.executor, rig.clock, std::chrono::seconds(10));
  Arbiter arbiter(*rig.executor, tree);
  const std::vector<Intent> plan{intent(Knob::cpu_quota, "p", std::int64_t{50'000}),
                                 intent(Knob::cpu_quota, "p/c", row.wanted)};
  const std::vector<std::span<const Intent>> plans{plan};
  tree.start_tick(1);
  std::vector<Wish> wishes;
  for (const auto& decision : arbiter.decide(plans)) {
    if (decision.group == "p/c") CHECK(*decision.value == KnobValue(row.decided));
    wishes.push_back({decision.target, decision.value, "a test"});
  }
  CHECK(rig.executor->apply(wishes).failed == 0);
  CHECK(rig.kernel.refused.empty());
}

}  // namespace
}  // namespace koord::koordlet
