// What tracing waits for a CPU may cost: when it samples, when it pauses, when it is whole again, and what
// others are told meanwhile.
#include <catch2/catch.hpp>

#include "collectors/tracer/pacing.hpp"
#include "framework/tick/run_queue_waits.hpp"
#include "rigs/fake_run_queue.hpp"
#include "rigs/sampler_rig.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::FakeNode;
using testing::inventory;
using tracer::Pacing;
using Tracing = host::RunQueueLatency::Tracing;

/// A machine on which an event costs 300 ns, 100 while it samples, with so many events a second.
class World {
 public:
  explicit World(double limit = 0.01, int cpus = 2) : pacing(limit), cpus_(cpus) {}

  void run(std::uint64_t events, nanoseconds time) {
    for (const MonoTime end = at + time; at < end;) {
      at += seconds(1);
      const Tracing before = pacing.wanted();
      if (before != Tracing::paused) {
        spent.events += events;
        spent.timed += events / 61;
        spent.timed_ns += events / 61 * (before == Tracing::full ? 300 : 100);
      }
      pacing.step(at, unreadable ? std::nullopt : std::optional(spent), cpus_);
      changes += pacing.wanted() != before;
    }
  }

  Pacing pacing;
  host::RunQueueLatency::Spent spent;
  MonoTime at{minutes(1)};
  int changes = 0;
  bool unreadable = false;

 private:
  int cpus_;
};

TEST_CASE("Tracing samples beyond its limit, pauses beyond it still, and comes back") {
  struct Phase {
    std::uint64_t events;
    seconds time;
    Tracing expected;
  };
  // On 2 CPUs 1% is 66,667 events in full, 200,000 of a sample; half of it in full is 33,333.
  const Phase phases[] = {
      {50'000, minutes(10), Tracing::full},
      {100'000, seconds(2), Tracing::full},  // a burst
      {50'000, seconds(60), Tracing::full},
      {100'000, seconds(3), Tracing::sampled},
      {100'000, minutes(10), Tracing::sampled},
      {40'000, minutes(10), Tracing::sampled},  // below the limit, but too near
      {20'000, seconds(9), Tracing::sampled},
      {40'000, seconds(5), Tracing::sampled},
      {20'000, seconds(11), Tracing::paused},  // for a moment
      {20'000, seconds(1), Tracing::full},
      {20'000, seconds(60), Tracing::full},
      {300'000, seconds(3), Tracing::sampled},
      {300'000, seconds(3), Tracing::paused},
      {300'000, seconds(29), Tracing::paused},
      {300'000, seconds(1), Tracing::sampled},
      {300'000, seconds(4), Tracing::paused},
      {0, seconds(59), Tracing::paused},  // twice as long
      {0, seconds(1), Tracing::sampled},
      {0, seconds(14), Tracing::full},
  };
  World world;
  for (const Phase& phase : phases) {
    CAPTURE(&phase - phases);
    world.run(phase.events, phase.time);
    REQUIRE(world.pacing.wanted() == phase.expected);
  }
}

TEST_CASE("What tracing costs is told as a part of the machine, by what was timed") {
  World world;
  world.run(50'000, seconds(10));
  CHECK(world.pacing.cost() == Approx(50'000 * 300e-9 / 2).epsilon(0.01));
  world.run(100'000, seconds(10));
  CHECK(world.pacing.wanted() == Tracing::sampled);
  CHECK(world.pacing.cost() == Approx(100'000 * 100e-9 / 2).epsilon(0.01));
  world.run(1'000'000, seconds(4));
  CHECK(world.pacing.wanted() == Tracing::paused);
  CHECK(world.pacing.cost() == 0);

  World large(0.01, 128);
  large.run(4'000'000, minutes(1));
  CHECK(large.pacing.wanted() == Tracing::full);
  CHECK(large.pacing.cost() == Approx(4e6 * 300e-9 / 128).epsilon(0.01));
}

TEST_CASE("A load that comes and goes does not make tracing flap, a load that stays makes pauses longer") {
  World gusts;
  for (int i = 0; i < 200; ++i) {
    gusts.run(100'000, seconds(8));
    gusts.run(1'000, seconds(8));
  }
  CHECK(gusts.changes == 1);

  World flood;
  flood.run(2'000'000, minutes(24 * 60));
  // Sampled for some seconds, then a pause of half an hour.
  CHECK(flood.changes < 2 * (24 * 60 / 32 + 8));
  flood.run(0, minutes(33));
  CHECK(flood.pacing.wanted() == Tracing::full);
  // The next pause is a long one, too, until it has been full for half an hour.
  flood.run(2'000'000, seconds(7));
  REQUIRE(flood.pacing.wanted() == Tracing::paused);
  CHECK(flood.pacing.paused_until() - flood.at >= minutes(31));
  flood.run(0, minutes(66));
  flood.run(2'000'000, seconds(7));
  REQUIRE(flood.pacing.wanted() == Tracing::paused);
  CHECK(flood.pacing.paused_until() - flood.at <= tracer::kFirstPause);
}

TEST_CASE("Without a limit, or a figure, tracing stays as it is") {
  World unlimited(0);
  unlimited.run(10'000'000, minutes(1));
  CHECK(unlimited.pacing.wanted() == Tracing::full);
  CHECK(unlimited.pacing.cost() > 1);
  World blind;
  blind.unreadable = true;
  blind.run(10'000'000, minutes(1));
  CHECK(blind.pacing.wanted() == Tracing::full);
  blind.unreadable = false;
  blind.run(10'000'000, seconds(1));  // how long that took is not known
  CHECK(blind.pacing.wanted() == Tracing::full);
}

struct Bench {
  Bench() : node(CgroupVersion::v1) {
    KernelCounters all;
    auto made = std::make_unique<testing::FakeRunQueue>();
    counters = made.get();
    all.run_queue = std::move(made);
    rig.emplace(node, SamplerConfig{}, std::move(all));
  }
  const TickView& run(std::uint64_t events, int ticks) {
    for (int i = 0; i < ticks; ++i) {
      if (counters->tracing != Tracing::paused) {
        counters->cost.events += events;
        counters->cost.timed += events / 61;
        counters->cost.timed_ns += events / 61 * 300;
      }
      rig->clock.advance(seconds(1));
      rig->sampler.tick(now, rig->clock.mono(), rig->clock.now());
    }
    return rig->sampler.view();
  }
  bool is(const char* state) {
    return testing::metric_of(rig->registry,
                              fmt::format("koordlet_run_queue_tracer_state{{state=\"{}\"}}", state)) == 1;
  }

  FakeNode node;
  testing::FakeRunQueue* counters = nullptr;
  std::optional<testing::SamplerRig> rig;
  std::shared_ptr<Inventory> now = inventory({});
};

TEST_CASE("The kernel is told how much to trace, and everybody else how much is traced") {
  Bench bench;
  CHECK(bench.run(1'000, 10).find<RunQueueWaits>() != nullptr);
  CHECK(bench.is("full"));
  CHECK(testing::metric_of(bench.rig->registry, "koordlet_run_queue_tracer_cost_ratio") ==
        Approx(1'000 * 300e-9 / 4).epsilon(0.5));
  CHECK(bench.rig->log.count(LogLevel::info) == 0);

  CHECK(*bench.run(2'000'000, 3).find<Tracing>() == Tracing::sampled);
  CHECK(bench.counters->tracing == Tracing::sampled);
  CHECK(bench.is("sampled"));
  CHECK_FALSE(bench.is("full"));
  CHECK(bench.rig->log.count(LogLevel::info) == 1);

  CHECK(*bench.run(2'000'000, 10).find<Tracing>() == Tracing::paused);
  CHECK(bench.counters->tracing == Tracing::paused);
  CHECK(bench.is("paused"));
  CHECK(bench.rig->sampler.view().find<RunQueueWaits>() == nullptr);  // not that nobody waits
  CHECK(bench.rig->log.count(LogLevel::info) == 2);

  CHECK(*bench.run(0, 60).find<Tracing>() == Tracing::full);
  CHECK(bench.counters->tracing == Tracing::full);
  CHECK(bench.run(0, 6).find<RunQueueWaits>() != nullptr);
  CHECK(bench.rig->log.count(LogLevel::info) == 4);
}

TEST_CASE("Programs that cannot be attached again are tried again") {
  Bench bench;
  bench.run(2'000'000, 12);
  REQUIRE(bench.counters->tracing == Tracing::paused);
  bench.counters->refused = true;
  CHECK(*bench.run(0, 60).find<Tracing>() == Tracing::paused);
  CHECK(bench.rig->log.count(LogLevel::warn) == 1);
  CHECK(bench.is("paused"));
  bench.counters->refused = false;
  CHECK(*bench.run(0, 120).find<Tracing>() == Tracing::full);
}

}  // namespace
}  // namespace koord::koordlet
