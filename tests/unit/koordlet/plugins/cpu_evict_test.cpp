// CPU eviction, with the original's rows: satisfaction, use, order.
#include "plugins/cpu_evict/satisfaction.hpp"
#include "rigs/evict_rig.hpp"

namespace koord::koordlet {
namespace {

using testing::enabled;
using testing::EvictRig;
using testing::Names;

TEST_CASE("What best-effort work shall ask less, by its satisfaction", "[koordlet][evict]") {
  using cpu_evict::BestEffort;
  struct Case {
    std::int64_t usage_threshold;
    BestEffort average, now;  // usage, request, limit
    std::int64_t release;
  };
  // The original's rows: lower 30, upper 40.
  const Case cases[] = {
      {90, {0, 0, 0}, {}, 0},
      {90, {20'000, 0, 0}, {}, 0},
      {90, {10'000, 0, 20'000}, {}, 0},
      {90, {19'000, 0, 20'000}, {19'000, 0, 20'000}, 0},
      {90, {19'000, 40'000, 20'000}, {19'000, 40'000, 20'000}, 0},
      {90, {9500, 50'000, 10'000}, {0, 0, 0}, 0},
      {90, {9500, 50'000, 10'000}, {5000, 50'000, 10'000}, 0},
      {90, {9500, 50'000, 10'000}, {13'000, 50'000, 14'000}, 6000},
      {90, {12'000, 50'000, 13'000}, {10'000, 50'000, 11'000}, 7000},
      {50, {9000, 0, 20'000}, {}, 0},
      {50, {6000, 50'000, 10'000}, {4000, 50'000, 10'000}, 0},
      {50, {6000, 50'000, 10'000}, {8000, 50'000, 14'000}, 6000},
      // By what is allocatable: 8 CPUs, then none, which counts as a thousandth.
      {50, {6000, 50'000, 8000}, {4000, 50'000, 8000}, 12'000},
      {50, {6000, 50'000, 1}, {4000, 50'000, 1}, 19'999},
      {50, {6000, 50'000, -1}, {4000, 50'000, -1}, 0},
  };
  for (const Case& one : cases)
    CHECK(cpu_evict::release({.lower = 30, .upper = 40, .usage_threshold = one.usage_threshold}, one.average,
                             one.now) == one.release);
  CHECK(cpu_evict::is_filled(59, 1, 60));
  CHECK(cpu_evict::is_filled(20, 1, 60));
  CHECK_FALSE(cpu_evict::is_filled(10, 1, 60));
  CHECK(cpu_evict::is_filled(0, 1, 1));
}

TEST_CASE("Best-effort pods go for want of CPU: by priority, then by how much of their request they use",
          "[koordlet][evict]") {
  EvictRig rig("BECPUEvict=true");
  auto& slo = rig.slo();
  slo.cpu_evict_be_satisfaction_lower_percent = 30;
  slo.cpu_evict_be_satisfaction_upper_percent = 40;
  slo.cpu_evict_time_window_seconds = 60;
  const PodRequests sixteen{.batch_cpu = 16'000};
  rig.pods({{"lsr", Qos::lsr, 100, 1, 8},
            {"be_1_100", Qos::be, 100, 1, 3, sixteen},
            {"be_2_100", Qos::be, 100, 1, 4, sixteen},
            {"be_3_10", Qos::be, 10, 1, 4, sixteen}});
  rig.best_effort = {
      .usage_milli = 9500, .request_milli = 50'000, .real_limit_milli = 10'000};  // 10 CPUs to free
  Names expected{"be_3_10"};
  SECTION("one is enough") {}
  SECTION("two") {
    rig.best_effort = {.usage_milli = 950, .request_milli = 50'000, .real_limit_milli = 1000};  // 19 CPUs
    expected = {"be_3_10", "be_2_100"};
  }
  SECTION("by what is allocatable") {
    slo.cpu_evict_policy = Symbol("evictByAllocatable");
    rig.best_effort.real_limit_milli = 40'000;
    rig.inventory.node.extended = {{"kubernetes.io/batch-cpu", 0}};
    expected = {"be_3_10", "be_2_100"};
  }
  SECTION("bad percentages") {
    const int which = GENERATE(0, 1, 2, 3);
    if (which == 0) slo.cpu_evict_be_satisfaction_lower_percent = 61;
    if (which == 1) slo.cpu_evict_be_satisfaction_upper_percent = 100;
    if (which == 2) slo.cpu_evict_be_satisfaction_upper_percent = 29;
    if (which == 3) slo.cpu_evict_be_satisfaction_upper_percent.reset();
    expected = {};
  }
  SECTION("a pod whose policy names other gates stays") {
    auto pod = std::make_shared<PodInfo>(*rig.inventory.pods[3]);
    pod->terms.put(std::make_shared<const EvictionTerms>(EvictionTerms{.policies = {{"CPUEvict"}}}));
    rig.inventory.pods[3] = pod;
    expected = {"be_2_100"};
  }
  // Nobody goes in the first 20 seconds.
  CHECK(rig.tick_for(19).empty());
  CHECK(rig.tick_for(2) == expected);
}

TEST_CASE("A window that is not filled to a third says nothing", "[koordlet][evict]") {
  EvictRig rig("BECPUEvict=true");
  auto& slo = rig.slo();
  slo.cpu_evict_be_satisfaction_lower_percent = 30;
  slo.cpu_evict_be_satisfaction_upper_percent = 40;
  slo.cpu_evict_time_window_seconds = 300;
  rig.pods({{"be", Qos::be, 10, 1, 4, {.batch_cpu = 16'000}}});
  rig.best_effort = {.usage_milli = 9500, .request_milli = 50'000, .real_limit_milli = 10'000};
  CHECK(rig.tick_for(99).empty());
  CHECK(rig.tick_for(1) == Names{"be"});
}

TEST_CASE("Pods go where the node uses too much CPU", "[koordlet][evict]") {
  struct Case {
    double used;
    std::optional<std::int64_t> threshold, lower;
    Names victims;
  };
  const Case cases[] = {
      {79, 80, {}, {}},
      {81, 80, {}, {"two"}},  // 3 CPUs to free
      {81, 80, 80, {}},       // not lower
      {81, 80, 79, {"two"}},  // 2 CPUs
      {85, 80, 79, {"two", "one"}},
      {81, {}, {}, {}},
      {81, -1, {}, {}},
  };
  for (const Case& one : cases) {
    EvictRig rig("CPUEvict=true");
    auto& slo = rig.slo();
    slo.cpu_evict_threshold_percent = one.threshold;
    slo.cpu_evict_lower_percent = one.lower;
    slo.evict_enabled_priority_threshold = 5999;
    rig.pods({{"one", Qos::be, 5000, 1, 2.5, {}, enabled()},
              {"two", Qos::be, 5000, 1, 4, {}, enabled()},
              {"prod", Qos::ls, 9000, 1, 50, {}, enabled()}});
    rig.node_cpu = one.used;
    CHECK(rig.tick_for(21) == one.victims);
  }
}

// The original's rows with several gates, and its pods; where the node lends nothing, there those go too that
// ask for nothing, until those that do are reached.
TEST_CASE("Gates of CPU eviction beside each other", "[koordlet][evict]") {
  EvictRig rig("CPUEvict=true,CPUAllocatableEvict=true,BECPUEvict=true");
  auto& slo = rig.slo();
  rig.node_cpu = 81;
  const PodRequests batch{.batch_cpu = 85'000}, mid{.mid_cpu = 85'000};
  EvictionTerms off;
  rig.pods({{"disabled", Qos::lsr, 1000, 1, 4, {}, off},
            {"higher", Qos::ls, 3400, 1, 3, {}, enabled(0, 1000)},
            {"120_2000", Qos::none, 120, 1, 1, {}, enabled(0, 2000)},
            {"120_3000", Qos::be, 120, 1, 5, {}, enabled(0, 3000)},
            {"120_4000", Qos::be, 120, 1, 2, {}, enabled(0, 4000)},
            {"100", Qos::be, 100, 1, 1, {}, enabled()},
            {"100_1", Qos::be, 100, 1, 2, {}, enabled()},
            {"batch", Qos::be, 5000, 1, 4, batch, enabled()},
            {"mid", Qos::ls, 7000, 1, 3, mid, enabled()}});
  Names expected;
  SECTION("by use; BECPUEvict is not configured") {
    slo.cpu_evict_threshold_percent = 78;  // 5 CPUs to free
    slo.evict_enabled_priority_threshold = 3000;
    expected = {"100_1", "100", "120_2000", "120_3000"};
  }
  SECTION("by requests; the others are not configured") {
    slo.cpu_allocatable_evict_threshold_percent = 80;
    slo.cpu_allocatable_evict_lower_percent = 70;
    slo.allocatable_evict_priority_threshold = 7999;
    SECTION("of both kinds there is enough for less") {
      rig.inventory.node.extended = {{"kubernetes.io/batch-cpu", 100'000},
                                     {"kubernetes.io/mid-cpu", 100'000}};
    }
    SECTION("the node lends nothing") {}
    expected = {"batch", "mid"};
  }
  SECTION("by both: who goes for requests frees what he uses") {
    slo.cpu_allocatable_evict_threshold_percent = 80;
    slo.cpu_allocatable_evict_lower_percent = 70;
    slo.allocatable_evict_priority_threshold = 7999;
    slo.cpu_evict_threshold_percent = 78;
    slo.evict_enabled_priority_threshold = 3000;
    expected = {"batch", "mid"};
  }
  CHECK(rig.tick_for(21) == expected);
}

}  // namespace
}  // namespace koord::koordlet
