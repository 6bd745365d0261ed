// The arbiter: which of several requests counts, and what the group above leaves of it.
#include "framework/qos/arbiter.hpp"

#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "rigs/qos_rig.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using host::CpuSet;
using host::Knob;
using testing::QosRig;

CpuSet cpus(std::string_view text) { return *CpuSet::parse(text); }

Intent intent(Knob knob, std::string group, KnobValue value, LevelRange reach = {}) {
  Intent made;
  made.knob = knob;
  made.group = std::move(group);
  made.value = std::move(value);
  made.reach = std::move(reach);
  return made;
}

std::vector<Arbiter::Decision> decide(Arbiter& arbiter, const std::vector<std::span<const Intent>>& plans,
                                      const std::vector<PlanDelta>& deltas = {}) {
  std::vector<Arbiter::Decision> all;
  for (const Arbiter::Ruling& ruling : arbiter.decide(plans, deltas))
    all.insert(all.end(), ruling.decisions.begin(), ruling.decisions.end());
  return all;
}

TEST_CASE("The arbiter's order", "[koordlet][arbiter]") {
  struct Row {
    const char* name;
    CgroupVersion version;
    std::vector<Intent> first, second;
    std::string parent, child;  // what is decided; empty: nothing
    std::size_t conflicts;
  };
  const auto set = [](std::string group, std::string_view text, LevelRange reach = {}) {
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
    const auto decisions = decide(arbiter, plans);
    std::map<std::string, std::string> decided;
    for (const auto& decision : decisions) decided[std::string(decision.group)] = to_string(*decision.value);
    CHECK(decided["p"] == row.parent);
    CHECK(decided["p/c"] == row.child);
    CHECK(arbiter.conflicts() == row.conflicts);
  }
}

TEST_CASE("Of some knobs the smaller or the larger value counts, whose ever it is", "[koordlet][arbiter]") {
  struct Row {
    const char* name;
    Knob knob;
    std::int64_t first, second;
    std::string_view decided;
    bool frees = false;  // the second strategy's value only sets free
  };
  const std::vector<Row> rows{
      {"the stronger strategy's is smaller", Knob::memory_limit, 100, 200, "100"},
      {"the weaker one's is", Knob::memory_limit, 200, 100, "100"},
      {"no limit is larger than all", Knob::memory_limit, -1, 100, "100"},
      {"the stronger one's, where there is one", Knob::memory_limit, 100, -1, "100"},
      {"what sets free counts least", Knob::memory_limit, 200, 100, "200", true},
      {"of protection the larger one's", Knob::memory_low, 100, 200, "200"},
      {"all of it", Knob::memory_low, 100, -1, "-1"},
      {"a knob with an order", Knob::cpu_shares, 200, 100, "200"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    QosRig rig(CgroupVersion::v1);
    rig.kernel.group("p");
    GroupTree tree(*rig.executor, rig.clock, std::chrono::seconds(10));
    Arbiter arbiter(*rig.executor, tree);
    const std::vector<Intent> first{intent(row.knob, "p", row.first)};
    std::vector<Intent> second{intent(row.knob, "p", row.second)};
    if (row.frees) second[0].undo = row.second;
    for (const bool swapped : {false, true}) {
      if (swapped && host::row(row.knob).merge == host::KnobMerge::order) continue;
      std::vector<std::span<const Intent>> plans{first, second};
      if (swapped) std::swap(plans[0], plans[1]);
      tree.start_tick(1);
      const auto decisions = decide(arbiter, plans);
      REQUIRE(decisions.size() == 1);
      CHECK(to_string(*decisions[0].value) == row.decided);
      CHECK(arbiter.conflicts() == 1);
    }
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
  std::vector<WriteRequest> requests;
  for (const auto& decision : decide(arbiter, plans)) {
    if (decision.group == "p/c") CHECK(*decision.value == KnobValue(row.decided));
    requests.push_back({decision.target, decision.value, "a test"});
  }
  CHECK(rig.executor->apply(requests).failed == 0);
  CHECK(rig.kernel.refused.empty());
}

TEST_CASE("Deciding what has changed gives what deciding everything gives", "[koordlet][arbiter]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  QosRig rig(version);
  const std::vector<std::string> groups{"p", "p/a", "p/b", "p/a/x"};
  for (const std::string& group : groups) rig.kernel.group(group);
  GroupTree tree(*rig.executor, rig.clock, std::chrono::seconds(10));
  Arbiter arbiter(*rig.executor, tree);
  std::mt19937 random(7);
  const auto below = [&](std::size_t limit) { return random() % limit; };
  const auto some_intent = [&] {
    const Knob knob = std::array{Knob::cpuset_cpus, Knob::cpu_quota, Knob::memory_limit}[below(3)];
    KnobValue value = std::int64_t{1000} * static_cast<std::int64_t>(1 + below(4));
    if (knob == Knob::cpuset_cpus) value = host::CpuSet::range(0, static_cast<int>(below(4)));
    const LevelRange reach = below(3) == 0 ? LevelRange{0, LevelRange::kAll, {}} : LevelRange{};
    return intent(knob, groups[below(groups.size())], std::move(value), reach);
  };
  const auto told = [](const std::vector<Arbiter::Decision>& decisions) {
    std::set<std::string> lines;
    for (const auto& one : decisions)
      lines.insert(fmt::format("{} {} {} of {}, {} below", host::row(one.intent->knob).name, one.group,
                               to_string(*one.value), one.plan, one.level));
    return lines;
  };
  std::vector<std::vector<Intent>> plans(3);
  std::uint64_t generation = 1;
  for (int round = 0; round < 400; ++round) {
    CAPTURE(round);
    rig.clock.advance(std::chrono::seconds(1));
    std::vector<PlanDelta> deltas(plans.size(), PlanDelta::none);
    for (std::size_t i = 0; i < plans.size(); ++i) {
      deltas[i] = static_cast<PlanDelta>(below(3));
      if (deltas[i] == PlanDelta::none) continue;
      std::vector<Intent> next = plans[i];  // elsewhere in memory
      if (deltas[i] == PlanDelta::changed) {
        next.clear();
        for (std::size_t count = below(5); count > 0; --count) next.push_back(some_intent());
      }
      plans[i] = std::move(next);
    }
    // Groups come and go; a list is looked at again when it is ten seconds old, or the inventory is new.
    if (below(10) == 0) rig.kernel.group(fmt::format("p/b/{}", below(2)));
    if (below(10) == 0) rig.kernel.remove(fmt::format("p/b/{}", below(2)));
    if (below(4) == 0) ++generation;
    tree.start_tick(generation);
    const std::vector<std::span<const Intent>> spans(plans.begin(), plans.end());
    const auto kept = told(decide(arbiter, spans, deltas));
    Arbiter another(*rig.executor, tree);
    CHECK(kept == told(decide(another, spans)));
    CHECK(arbiter.conflicts() == another.conflicts());
    CHECK(arbiter.shape() == another.shape());
  }
}

}  // namespace
}  // namespace koord::koordlet
