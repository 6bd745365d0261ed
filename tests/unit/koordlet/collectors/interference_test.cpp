// Interference: what a pod loses to others, as one number and its parts, on the fake clock.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <memory>
#include <string>

#include "collectors/interference/formula.hpp"
#include "framework/tick/interference.hpp"
#include "rigs/fake_run_queue.hpp"
#include "rigs/sampler_rig.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using interference::LostTime;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::FakeNode;
using testing::inventory;
using testing::pod;

/// `count` periods of five ticks: so much CPU used and waited for a second.
void live(LostTime& lost, int count, double used, double waited) {
  for (int i = 0; i < count; ++i) {
    for (int second = 0; second < 5; ++second) lost.tick({.used = used}, seconds(1));
    lost.waited(waited * 5, true);
  }
}

TEST_CASE("Waits for a CPU are a share of the time in which tasks could run", "[koordlet][interference]") {
  LostTime lost;
  CHECK_FALSE(known(lost.parts().all()));
  live(lost, 1, 0.9, 0.1);
  CHECK(lost.parts().run_queue == Approx(0.1));
  CHECK(lost.parts().all() == Approx(0.1));
  CHECK_FALSE(known(lost.parts().memory));
  live(lost, 60, 0.5, 1.5);
  CHECK(lost.parts().run_queue == Approx(0.75).margin(0.01));
  // It fades with the neighbour: an eighth after a minute and a half.
  live(lost, 18, 0.9, 0);
  CHECK(lost.parts().run_queue < 0.75 / 4);
  live(lost, 60, 0.9, 0);
  CHECK(lost.parts().run_queue < 0.001);
}

TEST_CASE("Who idles loses nothing, whatever its few wake-ups wait", "[koordlet][interference]") {
  LostTime lost;
  for (int i = 0; i < 720; ++i) {  // an hour
    live(lost, 1, 0.0005, i % 7 == 0 ? 0.002 : 0.0005);
    CHECK(lost.parts().all() < 0.05);
  }
}

TEST_CASE("A period that is missing counts neither way", "[koordlet][interference]") {
  LostTime lost;
  live(lost, 10, 1, 0.25);
  const double before = lost.parts().run_queue;
  for (int i = 0; i < 20; ++i) lost.tick({.used = 1}, seconds(1));
  lost.waited(1000, false);
  CHECK(lost.parts().run_queue == Approx(before));
  // So long without any that nothing is known.
  for (int i = 0; i < 300; ++i) lost.tick({.used = 1}, seconds(1));
  CHECK_FALSE(known(lost.parts().run_queue));
}

TEST_CASE("Pressure is the share of time in which some task stood still", "[koordlet][interference]") {
  LostTime lost;
  for (int i = 0; i <= 300; ++i)
    lost.tick({.used = 1, .cpu_us = i * 5e5, .memory_us = i * 1e5, .io_us = 7e6 + i * 2e5}, seconds(1));
  const InterferenceParts parts = lost.parts();
  CHECK(parts.run_queue == Approx(0.5));  // nobody counts waits
  CHECK(parts.memory == Approx(0.1));
  CHECK(parts.io == Approx(0.2));
  CHECK(parts.all() == Approx(1 - 0.5 * 0.9 * 0.8));
  // A total that went back is another group's; one that is not known adds nothing.
  lost.tick({.memory_us = 5}, seconds(1));
  CHECK(lost.parts().memory == Approx(0.1).margin(0.01));
  // Counted waits go before pressure.
  live(lost, 10, 1, 0);
  CHECK(lost.parts().run_queue == 0);
}

TEST_CASE("Cycles beyond those of the median of half an hour are lost", "[koordlet][interference]") {
  LostTime lost;
  MonoTime at{minutes(1)};
  const auto window = [&](double cpi) { lost.window(cpi * 1e9, 1e9, at += minutes(1)); };
  for (const double cpi : {1.0, 1.1, 0.9, 1.0, 1.0}) {
    window(cpi);
    CHECK_FALSE(known(lost.parts().cpi));  // too few to say what is usual
  }
  window(1.0);
  CHECK(lost.parts().cpi == 0);
  window(2.0);
  CHECK(lost.parts().cpi == Approx(0.5));
  window(0.5);
  CHECK(lost.parts().cpi == 0);
  lost.window(0, 0, at);  // says nothing
  CHECK(lost.parts().cpi == 0);
  // What lasts becomes usual.
  for (int i = 0; i < 31; ++i) window(2.0);
  CHECK(lost.parts().cpi == 0);
  // After half an hour without any nobody knows.
  at += minutes(31);
  window(5.0);
  CHECK_FALSE(known(lost.parts().cpi));
}

TEST_CASE("A pod without a fresh window has lost no cycles that anybody knows of",
          "[koordlet][interference]") {
  const int apart = GENERATE(60, 200);
  CAPTURE(apart);
  LostTime lost;
  MonoTime at{minutes(1)};
  const auto pass = [&](int count) {
    for (int i = 0; i < count; ++i)
      lost.tick({.used = 1, .cpu_us = (at += seconds(1)).time_since_epoch().count() / 4e3}, seconds(1));
  };
  for (int i = 0; i < 6; ++i) {
    lost.window(1e9, 1e9, at);
    pass(apart);
  }
  lost.window(2e9, 1e9, at);
  CHECK(lost.parts().cpi == Approx(0.5));
  pass(apart * 2);  // one is late
  CHECK(lost.parts().cpi == Approx(0.5));
  pass(apart);
  CHECK_FALSE(known(lost.parts().cpi));
  CHECK(lost.parts().all() == Approx(0.25));
  lost.window(2e9, 1e9, at);
  CHECK(lost.parts().cpi == Approx(0.5));
}

TEST_CASE("Shares stay shares, whatever is measured", "[koordlet][interference]") {
  for (const double odd : {0.0, -1.0, 1e300, kUnknown, 1e-300}) {
    LostTime lost;
    for (int i = 0; i < 20; ++i) {
      lost.tick({.used = odd, .cpu_us = odd * i, .memory_us = odd * i, .io_us = 1e18 * i}, seconds(1));
      if (known(odd)) lost.waited(odd, true);
      lost.window(odd, 1, MonoTime(minutes(i)));
    }
    const double all = lost.parts().all();
    CHECK((!known(all) || (all >= 0 && all <= 1)));
  }
}

bool only_interference(std::string_view gate) { return gate == "PodInterference"; }

struct Machine {
  Machine() : web(pod("web", Qos::ls, 1)), batch(pod("batch", Qos::be, 1)), now(inventory({batch, web})) {
    KernelCounters all;
    auto made = std::make_unique<testing::FakeRunQueue>();
    counters = made.get();
    all.run_queue = std::move(made);
    rig.emplace(node, SamplerConfig{.is_on = &only_interference}, std::move(all));
    for (const auto& one : {web, batch}) id[one->uid] = testing::make_group(node, rig->fs, one->group);
  }
  /// A second in which `web` uses and waits so much; best-effort work runs and waits for it now and then.
  void second(double used, double waited) {
    used_ns += static_cast<std::uint64_t>(used * 1e9);
    node.cpu(web->group, used_ns);
    be_ns += 500'000'000;
    node.cpu(batch->group, be_ns);
    counters->groups[id["web"]].add(static_cast<std::uint64_t>(waited * 1e9));
    counters->groups[id["batch"]].add(500'000'000);
    rig->clock.advance(seconds(1));
    rig->sampler.tick(now, rig->clock.mono(), rig->clock.now());
  }
  const Interference* seen() const { return rig->sampler.view().find<Interference>(); }
  double of(const std::string& uid) const {
    const auto found = seen()->pods.find(uid);
    return found != seen()->pods.end() ? found->second.all() : kUnknown;
  }
  bool shows(const std::string& text) const {
    return rig->registry.exposition().find(text) != std::string::npos;
  }

  FakeNode node{CgroupVersion::v2};
  std::shared_ptr<PodInfo> web, batch;
  std::shared_ptr<Inventory> now;
  testing::FakeRunQueue* counters = nullptr;
  std::optional<testing::SamplerRig> rig;
  std::map<std::string, host::RunQueueLatency::GroupId> id;
  std::uint64_t used_ns = 0, be_ns = 0;
};

TEST_CASE("A noisy neighbour raises it fivefold, an hour alone never", "[koordlet][interference]") {
  Machine machine;
  for (int i = 0; i < 120; ++i) machine.second(0.4, 0.004);
  const double before = machine.of("web");
  CHECK(before == Approx(0.01).margin(0.002));
  for (int i = 0; i < 60; ++i) machine.second(0.3, 0.3);
  CHECK(machine.of("web") > 5 * before);
  CHECK(machine.of("batch") == Approx(0.5).margin(0.01));
  CHECK(machine.seen()->tiers.size() == 2);
  CHECK(machine.seen()->tiers[0].qos == Qos::ls);
  CHECK(machine.shows(
      "koordlet_pod_interference{pod_uid=\"web\",pod_name=\"name-of-web\",pod_namespace=\"default\","
      "qos=\"LS\"} 0."));
  CHECK(machine.shows("qos=\"LS\",part=\"run_queue\"} 0."));
  CHECK(machine.shows("koordlet_tier_interference{qos=\"BE\"} 0."));
  CHECK(machine.shows("koordlet_tier_interference_part{qos=\"BE\",part=\"run_queue\"} 0."));
  CHECK_FALSE(machine.shows("part=\"memory\""));
  for (int i = 0; i < 3600; ++i) {
    machine.second(0.4, i % 11 == 0 ? 0.008 : 0.004);
    if (i > 300 && machine.of("web") > 2 * before) FAIL("after " << i << " s alone: " << machine.of("web"));
  }
  machine.now = inventory({machine.batch});
  machine.second(0, 0);
  CHECK_FALSE(machine.shows("pod_uid=\"web\""));
  CHECK_FALSE(machine.shows("koordlet_tier_interference{qos=\"LS\"}"));
  CHECK(machine.seen()->pods.size() == 1);
}

TEST_CASE("Where nothing is measured there is a reason, without the gate there is nothing",
          "[koordlet][interference]") {
  FakeNode node(CgroupVersion::v2);
  testing::SamplerRig unable(node, {.is_on = &only_interference});
  CHECK(unable.tick(inventory({pod("a", Qos::ls, 1)}), seconds(0)).find<Interference>() == nullptr);
  CHECK(unable.registry.exposition().find("koordlet_collector_available{collector=\"pod_interference\"} 0") !=
        std::string::npos);
  CHECK(unable.log.contains("neither waits for a CPU"));
  testing::SamplerRig off(node, {});
  CHECK(off.tick(inventory({pod("a", Qos::ls, 1)}), seconds(0)).find<Interference>() == nullptr);
}

}  // namespace
}  // namespace koord::koordlet
