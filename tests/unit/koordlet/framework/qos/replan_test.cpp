// When strategies are asked for a plan, and for how long what they wanted last is kept.
#include <catch2/catch.hpp>

#include "rigs/qos_rig.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using host::Knob;
using testing::QosRig;

/// What the strategies below do and have done.
struct Script {
  int plans = 0, neutral = 0;
  bool tells = true, unique = false;
  std::int64_t shares = 512;
};
Script script;

class Scripted final : public Strategy {
 public:
  void plan(const TickView&, Plan& plan) override {
    ++script.plans;
    if (script.tells)
      plan.want(Knob::cpu_shares, "web", script.shares, "a test");
    else
      plan.hold();
  }
  void neutral(const TickView&, Plan&) override { ++script.neutral; }
  void release(const Inventory&, Plan&) override {}
};
Result<std::unique_ptr<Strategy>> make_scripted(const PluginContext&) {
  return std::unique_ptr<Strategy>(std::make_unique<Scripted>());
}

constexpr StrategyEntry kOnChange{
    .name = "OnChange", .replan = Replan::on_change, .hold = std::chrono::seconds(30), .make = make_scripted};

struct Bench : QosRig {
  explicit Bench(std::string_view flag = {}) : QosRig(CgroupVersion::v1) {
    script = {};
    slo(false, "cpuset");
    kernel.group("web").shares = 1024;
    row.interval = flag;
    strategies = rows;
    start();
  }
  StrategyEntry row = kOnChange;
  const StrategyEntry* rows[1] = {&row};
};

TEST_CASE("A strategy that looks at the inventory alone is asked when that changes", "[koordlet][manager]") {
  Bench rig;
  for (int i = 0; i < 10; ++i) rig.tick(1);
  CHECK(script.plans == 1);
  CHECK(rig.kernel.group("web").shares == 512);
  CHECK(rig.manager->limits().size() == 1);  // it stands
  rig.kernel.looks = rig.kernel.reads = 0;
  for (int i = 0; i < 20; ++i) rig.tick(1);
  CHECK(rig.kernel.looks <= 2);  // whether the file is the same one: every ten seconds
  CHECK(rig.kernel.reads == 0);

  script.shares = 256;
  SECTION("pods") { rig.pods({{.name = "one"}}); }
  SECTION("the NodeSLO") {
    rig.slo(true, "cpuset");
    ++rig.inventory.generation;
  }
  SECTION("the machine") {
    rig.shape = [facts = std::make_shared<const NodeFacts>()](TickView& view) { view.facts = facts; };
  }
  for (int i = 0; i < 10; ++i) rig.tick(1);
  CHECK(script.plans == 2);
  CHECK(rig.kernel.group("web").shares == 256);

  // Somebody else's value is found and put right all the same.
  rig.kernel.group("web").shares = 7;
  for (int i = 0; i < 70; ++i) rig.tick(1);
  CHECK(rig.kernel.group("web").shares == 256);
  CHECK(script.plans == 2);

  // A group that was made anew.
  rig.kernel.remove("web");
  rig.kernel.group("web").shares = 1024;
  for (int i = 0; i < 11; ++i) rig.tick(1);
  CHECK(rig.kernel.group("web").shares == 256);
  CHECK(script.plans == 2);

  // No NodeSLO any more: it is released. A new one: it is asked again.
  auto slo = std::exchange(rig.inventory.slo, nullptr);
  ++rig.inventory.generation;
  for (int i = 0; i < 3; ++i) rig.tick(1);
  CHECK(rig.kernel.group("web").shares == 1024);
  rig.inventory.slo = slo;
  ++rig.inventory.generation;
  for (int i = 0; i < 3; ++i) rig.tick(1);
  CHECK(rig.kernel.group("web").shares == 256);
  CHECK(script.plans == 3);
}

/// A limit of one group, in each tick.
class Limiting final : public Strategy {
 public:
  void plan(const TickView&, Plan& plan) override {
    plan.want(Knob::cpu_shares, "web", std::int64_t{512}, "a test").unique = script.unique;
  }
  void release(const Inventory&, Plan&) override {}
};
Result<std::unique_ptr<Strategy>> make_limiting(const PluginContext&) {
  return std::unique_ptr<Strategy>(std::make_unique<Limiting>());
}

TEST_CASE("Whether a limited group is still the same one is asked seldom where nobody can make it anew",
          "[koordlet][manager]") {
  static constexpr StrategyEntry kLimiting{.name = "Limiting", .make = make_limiting};
  Bench rig;
  const StrategyEntry* rows[] = {&kLimiting};
  rig.strategies = rows;
  script.unique = GENERATE(false, true);
  CAPTURE(script.unique);
  rig.start();
  for (int i = 0; i < 10; ++i) rig.tick(1);
  CHECK(rig.kernel.group("web").shares == 512);
  rig.kernel.looks = 0;
  for (int i = 0; i < 20; ++i) rig.tick(1);
  CHECK(rig.kernel.looks == (script.unique ? 2 : 20));
  rig.kernel.remove("web");
  rig.kernel.group("web").shares = 1024;
  for (int i = 0; i < 11; ++i) rig.tick(1);
  CHECK(rig.kernel.group("web").shares == 512);
}

TEST_CASE("Not more often than its flag says, and in the end for the last change", "[koordlet][manager]") {
  Bench rig("its-seconds");
  rig.seconds["its-seconds"] = std::chrono::seconds(5);
  rig.start();
  for (int i = 0; i < 7; ++i) {
    ++rig.inventory.generation;
    script.shares = 100 + i;
    rig.tick(1);
  }
  CHECK(script.plans == 2);
  CHECK(rig.kernel.group("web").shares == 105);
  for (int i = 0; i < 10; ++i) rig.tick(1);
  CHECK(script.plans == 3);
  CHECK(rig.kernel.group("web").shares == 106);
}

TEST_CASE("A strategy keeps what it wanted for as long as its row says", "[koordlet][manager][hold]") {
  Bench rig;
  rig.tick(1);
  script.tells = false;
  ++rig.inventory.generation;
  for (int i = 0; i < 30; ++i) rig.tick(1);
  CHECK(script.plans == 31);  // asked in each tick until it can tell
  CHECK(script.neutral == 0);
  CHECK(rig.kernel.group("web").shares == 512);
  CHECK(rig.manager->limits()[0].held);
  rig.tick(1);
  CHECK(script.neutral == 1);
  CHECK(rig.kernel.group("web").shares == 1024);
  script.tells = true;
  for (int i = 0; i < 5; ++i) rig.tick(1);
  CHECK(script.plans == 33);
  CHECK(rig.kernel.group("web").shares == 512);
}

}  // namespace
}  // namespace koord::koordlet
