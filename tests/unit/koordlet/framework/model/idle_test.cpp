// Groups that go idle, and their shares: an idle group takes none, and the kernel keeps none for it.
#include <catch2/catch.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "koord/host/file.hpp"
#include "rigs/kill_between_writes.hpp"
#include "rigs/qos_rig.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using host::Knob;
using koord::testing::Tree;
using testing::QosRig;

using Values = std::vector<std::optional<std::int64_t>>;

/// One knob of two groups, one below the other, of which the test says what is wanted.
template <Knob kKnob>
class Wanting final : public Strategy {
 public:
  explicit Wanting(const PluginContext&) {}
  void plan(const TickView&, Plan& plan) override {
    if (!value) return;
    for (const char* group : {"tier", "tier/job"}) plan.want(kKnob, group, *value, "a test");
  }
  void release(const Inventory&, Plan&) override {}
  static inline std::optional<std::int64_t> value;
};
using Shares = Wanting<Knob::cpu_shares>;
using Idle = Wanting<Knob::cpu_idle>;
constexpr StrategyEntry kShares{.name = "Shares", .make = &make<Shares>};
constexpr StrategyEntry kStandingShares{.name = "Shares", .replan = Replan::on_change, .make = &make<Shares>};
constexpr StrategyEntry kIdle{.name = "Idle", .make = &make<Idle>};

class Rig : public QosRig {
 public:
  Rig(CgroupVersion version, StrategyTable table, std::string journal = {})
      : QosRig(version, std::move(journal)) {
    Shares::value.reset();
    Idle::value.reset();
    slo(true, "cfsQuota");
    for (const char* name : {"tier", "tier/job"}) kernel.group(name).shares = v2() ? 39 : 512;
    strategies = table;
    start();
  }
  void ticks(int count = 1) {
    for (int i = 0; i < count; ++i) tick(1);
  }
  bool v2() const { return kernel.version() == CgroupVersion::v2; }
  std::int64_t of_shares(std::int64_t shares) const { return v2() ? host::shares_to_weight(shares) : shares; }
  std::string held() {
    std::string text;
    for (const auto& [name, group] : kernel.groups())
      text += fmt::format("{}: {} {}\n", name, group.shares, group.idle);
    return text;
  }
};

// Whoever's the shares are, and however often its plans are made.
constexpr const StrategyEntry* kTables[][2] = {
    {&kShares, &kIdle}, {&kIdle, &kShares}, {&kStandingShares, &kIdle}};

TEST_CASE("Shares are written before a group goes idle, rest while it is, and come back when it ceases to be",
          "[koordlet][idle]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  const StrategyTable table = kTables[GENERATE(0, 1, 2)];
  Rig rig(version, table);
  auto& job = rig.kernel.group("tier/job");
  Shares::value = 5000;
  Idle::value = 1;
  rig.ticks();
  const std::string shares = rig.v2() ? "cpu.weight " : "cpu.shares ";
  const std::string wanted = std::to_string(rig.of_shares(5000));
  CHECK(rig.kernel.written == std::vector<std::string>{"tier/" + shares + wanted, "tier/cpu.idle 1",
                                                       "tier/job/" + shares + wanted, "tier/job/cpu.idle 1"});
  CHECK(rig.kernel.refused.empty());

  // Nothing is tried, and next to nothing asked.
  rig.kernel.written.clear();
  const std::size_t calls = rig.kernel.calls();
  rig.ticks(60);
  CHECK(rig.kernel.written.empty());
  CHECK(rig.kernel.refused.empty());
  CHECK(rig.manager->failures().empty());
  CHECK_FALSE(rig.log.contains("cannot write"));
  CHECK(rig.kernel.calls() - calls < 360);

  // They may change meanwhile.
  Shares::value = 7000;
  ++rig.inventory.generation;
  rig.ticks(3);
  CHECK(rig.kernel.written.empty());
  Idle::value.reset();
  rig.ticks(1);  // the same pass
  CHECK_FALSE(job.idle);
  CHECK(job.shares == rig.of_shares(7000));
  CHECK(rig.kernel.written ==
        std::vector<std::string>{"tier/cpu.idle 0", "tier/" + shares + std::to_string(rig.of_shares(7000)),
                                 "tier/job/cpu.idle 0",
                                 "tier/job/" + shares + std::to_string(rig.of_shares(7000))});
  Shares::value.reset();
  ++rig.inventory.generation;
  rig.ticks(2);
  CHECK(job.shares == (rig.v2() ? 39 : 512));
  CHECK(rig.kernel.refused.empty());
}

TEST_CASE("A group gets the shares back that it had before it was idle, whoever wants any or none",
          "[koordlet][idle]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  const StrategyTable table = kTables[GENERATE(0, 1, 2)];
  Tree tree;
  Rig rig(version, table, tree / "journal");
  const std::string before = rig.held();
  Idle::value = 1;
  rig.ticks(2);
  rig.kernel.written.clear();
  rig.ticks(20);
  CHECK(rig.kernel.written.empty());
  SECTION("nobody wants it idle any more") { Idle::value.reset(); }
  SECTION("it shall not be idle") { Idle::value = 0; }
  SECTION("wanted while it is idle, and never written") {
    Shares::value = 5000;
    ++rig.inventory.generation;
    rig.ticks(2);
    Shares::value.reset();
    Idle::value.reset();
    ++rig.inventory.generation;
  }
  SECTION("another agent takes over") {
    rig.start();
    rig.ticks(2);
    Idle::value.reset();
  }
  SECTION("another agent, and nobody wants it any more") {
    Idle::value.reset();
    rig.start();
  }
  rig.ticks(1);
  CHECK(rig.held() == before);
  Idle::value.reset();
  rig.ticks(2);
  CHECK(rig.held() == before);
  CHECK(rig.kernel.refused.empty());
  CHECK_FALSE(host::exists(tree / "journal"));
}

TEST_CASE("Shares of a group that somebody else made idle are left alone until it is not",
          "[koordlet][idle]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  Tree tree;
  Rig rig(version, kTables[0], tree / "journal");
  auto& job = rig.kernel.group("tier/job");
  const auto by_hand = [&](bool idle) {
    REQUIRE(rig.kernel
                .write(rig.kernel.path(rig.v2() ? "tier/job/cpu.idle" : "cpu/tier/job/cpu.idle"),
                       idle ? "1" : "0")
                .has_value());
  };
  by_hand(true);
  Shares::value = 5000;
  rig.ticks(15);
  CHECK(rig.kernel.refused.empty());
  CHECK(job.idle);
  CHECK(rig.kernel.group("tier").shares == rig.of_shares(5000));
  by_hand(false);
  rig.ticks(11);
  CHECK(job.shares == rig.of_shares(5000));
  // What it has without anybody's saying so.
  Shares::value.reset();
  rig.ticks(2);
  CHECK(job.shares == rig.of_shares(1024) + (rig.v2() ? 61 : 0));
  CHECK(rig.kernel.refused.empty());
}

TEST_CASE("A kernel without cpu.idle: shares are written as ever", "[koordlet][idle]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  Rig rig(version, kTables[0]);
  rig.kernel.has_idle = false;
  Shares::value = 5000;
  Idle::value = 1;
  rig.ticks(3);
  Shares::value = 2;
  rig.ticks(1);
  CHECK(rig.kernel.group("tier/job").shares == rig.of_shares(2));
  const std::size_t calls = rig.kernel.calls();
  rig.ticks(1);
  const std::size_t once = rig.kernel.calls() - calls;
  Idle::value.reset();
  rig.ticks(1);
  CHECK(rig.kernel.calls() - calls <= 2 * once);
  CHECK(rig.kernel.refused.empty());
}

// What is wanted changes from step to step; the agent dies after each number of writes in turn.
TEST_CASE("Idle groups and their shares go back over a kill between any two writes",
          "[koordlet][idle][crash]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  const StrategyTable table = kTables[GENERATE(0, 1, 2)];
  const bool cleanup = GENERATE(false, true);
  static const Values kWantedShares = {5000, 5000, 7000, 7000, {}, 5000, {}};
  static const Values kWantedIdle = {{}, 1, 1, {}, 1, 0, 1};
  std::string before;
  const std::size_t writes = testing::kill_between_writes(
      [&](const std::string& journal) {
        auto rig = std::make_unique<Rig>(version, table, journal);
        before = rig->held();
        return rig;
      },
      [](Rig& rig) {
        for (std::size_t step = 0; step < kWantedIdle.size(); ++step) {
          Shares::value = kWantedShares[step];
          Idle::value = kWantedIdle[step];
          ++rig.inventory.generation;
          rig.ticks(2);
        }
      },
      [&](Rig& rig, const std::string& journal, std::size_t k) {
        rig.start();
        if (k % 2 == 0) rig.ticks(1);  // the next agent may go on for a while
        Shares::value.reset();
        Idle::value.reset();
        ++rig.inventory.generation;
        if (cleanup)
          REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
        else
          rig.ticks(2);
        REQUIRE(rig.held() == before);
        REQUIRE(rig.kernel.refused.empty());
        REQUIRE_FALSE(host::exists(journal));
      });
  CHECK(writes >= 12);
}

}  // namespace
}  // namespace koord::koordlet
