// Cycles per instruction: whose are counted when, for how long, with how many descriptors, and what is shown.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "framework/tick/cpi_view.hpp"
#include "rigs/fake_perf.hpp"
#include "rigs/sampler_rig.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using std::chrono::seconds;
using testing::FakeNode;
using testing::FakePerf;
using testing::inventory;
using testing::pod;

/// Descriptors of three groups on four CPUs.
constexpr std::size_t kThree = std::size_t{3} * 4 * host::PerfEvents::kDescriptorsPerCpu;

bool only_cpi(std::string_view gate) { return gate == "CPICollector"; }

struct Machine {
  explicit Machine(SamplerConfig config = {}, int cpus = 4) : fake(CgroupVersion::v2, cpus) {
    config.is_on = &only_cpi;
    KernelCounters counters;
    counters.cpi = std::make_unique<FakePerf>(perf);
    bench = std::make_unique<testing::SamplerRig>(fake, config, std::move(counters));
  }
  void ticks(const std::shared_ptr<const Inventory>& now, int count) {
    for (int i = 0; i < count; ++i) view = &bench->tick(now, seconds(second++));
  }
  double metric(const std::string& series) {
    const std::string text = bench->registry.exposition();
    const auto at = text.find(series + "} ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + series.size() + 2));
  }
  std::size_t held() const { return bench->sampler.stats().descriptors; }

  FakeNode fake;
  std::shared_ptr<FakePerf::State> perf = std::make_shared<FakePerf::State>();
  std::unique_ptr<testing::SamplerRig> bench;
  const TickView* view = nullptr;
  int second = 0;
};

TEST_CASE("Each container is counted for ten seconds of each minute") {
  Machine machine;
  const auto now = inventory({pod("a", Qos::ls, 2)});
  machine.perf->counts = {{"a-c0", {3000, 1000, 1}}, {"a-c1", {1000, 1000, 1}}, {"cgroup", {9000, 3000, 1}}};
  machine.ticks(now, 1);
  CHECK(machine.perf->open == std::multiset<std::string>{"a-c0", "a-c1", "cgroup"});
  CHECK(machine.perf->cpus == 4);
  const std::size_t held = machine.held();
  CHECK(held >= kThree);
  machine.ticks(now, 9);
  CHECK(machine.perf->open.size() == 3);
  CHECK(machine.view->find<CpiView>()->pods.empty());
  machine.ticks(now, 1);
  CHECK(machine.perf->open.empty());
  CHECK(machine.held() <= held - kThree);
  const PodCpi& a = machine.view->find<CpiView>()->pods.at("a");
  CHECK(a.cycles == 4000);
  CHECK(a.instructions == 2000);
  CHECK(machine.metric(
            "koordlet_container_cpi{container_id=\"a-c0\",container_name=\"c0\",pod_uid=\"a\",pod_name="
            "\"name-of-a\",pod_namespace=\"default\",cpi_field=\"cycles\"") == 3000);
  CHECK(machine.metric("pod_namespace=\"default\",cpi_field=\"instructions\"") == 1000);
  CHECK(machine.metric("koordlet_node_cpi{cpi_field=\"cycles\"") == 9000);
  const auto reading = a.reading;
  machine.ticks(now, 49);
  CHECK(machine.perf->opened.size() == 3);
  machine.ticks(now, 1);
  CHECK(machine.perf->opened.size() == 6);
  machine.ticks(now, 10);
  CHECK(machine.view->find<CpiView>()->pods.at("a").reading > reading);
  machine.ticks(inventory({}), 1);
  CHECK(machine.view->find<CpiView>()->pods.empty());
  CHECK(machine.metric("cpi_field=\"instructions\"") != 1000);  // the node's alone
}

TEST_CASE("What was not really counted is not shown, and takes nothing else with it") {
  Machine machine;
  const auto now =
      inventory({pod("a", Qos::ls, 1), pod("b", Qos::ls, 1), pod("c", Qos::ls, 1), pod("d", Qos::ls, 1)});
  for (const char* one : {"a-c0", "b-c0", "c-c0", "d-c0"}) machine.perf->counts[one] = {2000, 1000, 1};
  machine.ticks(now, 11);
  CHECK(machine.view->find<CpiView>()->pods.size() == 4);
  machine.perf->counts["a-c0"].covered = 0.4;
  machine.perf->unreadable["b-c0"] = Code::io;
  machine.perf->refused["c-c0"] = Code::not_found;
  machine.ticks(now, 60);
  const auto& pods = machine.view->find<CpiView>()->pods;
  CHECK(pods.size() == 1);
  CHECK(pods.contains("d"));
  CHECK(machine.metric(
            "container_id=\"a-c0\",container_name=\"c0\",pod_uid=\"a\",pod_name=\"name-of-a\",pod_namespace="
            "\"default\",cpi_field=\"cycles\"") == -1);
  CHECK(machine.metric("koordlet_cpi_windows_lost_total{reason=\"share\"") == 1);
  CHECK(machine.metric("koordlet_cpi_windows_lost_total{reason=\"error\"") == 1);
  machine.perf->counts["a-c0"].covered = 1;
  machine.perf->unreadable.clear();
  machine.perf->refused.clear();
  machine.ticks(now, 60);
  CHECK(machine.view->find<CpiView>()->pods.size() == 4);
  // One that did nothing has no ratio.
  machine.perf->counts["a-c0"] = {0, 0, 1};
  machine.ticks(now, 60);
  CHECK_FALSE(machine.view->find<CpiView>()->pods.contains("a"));
}

TEST_CASE("Many containers take turns: neither a tick nor the process' descriptors feel their number") {
  constexpr int kPods = 60, kCpus = 128;
  std::vector<std::shared_ptr<const PodInfo>> pods;
  pods.reserve(kPods);
  for (int i = 0; i < kPods; ++i) pods.push_back(pod(fmt::format("pod-{:02}", i), Qos::ls, 2));
  const auto now = inventory(std::move(pods));
  SECTION("so many begin in a tick") {
    Machine machine({.max_descriptors = 65'536}, kCpus);
    std::size_t before = 0;
    for (int i = 0; i < 20; ++i) {
      machine.ticks(now, 1);
      CHECK((machine.perf->opened.size() - before) * kCpus * 2 <= 2048);
      before = machine.perf->opened.size();
    }
    CHECK(machine.perf->opened.size() == 2 * kPods + 1);
  }
  SECTION("so many are open") {
    Machine machine({.max_descriptors = 4096}, kCpus);
    machine.ticks(now, 120);
    CHECK(machine.perf->most * kCpus * 2 <= 3072);
    CHECK(machine.perf->most > 4);
    // Everybody's turn comes, the last in line first.
    const std::set<std::string> seen(machine.perf->opened.begin(), machine.perf->opened.end());
    CHECK(seen.size() == 2 * kPods + 1);
  }
  SECTION("who needs more than there are is told of once") {
    Machine machine({.max_descriptors = 200}, kCpus);
    machine.ticks(now, 70);
    CHECK(machine.perf->opened.empty());
    CHECK(machine.bench->log.contains("cycles per instruction need more descriptors"));
    CHECK(machine.metric("koordlet_cpi_windows_lost_total{reason=\"descriptors\"") >= kPods);
  }
}

TEST_CASE("Containers that change are counted anew, and leave nothing open") {
  Machine machine;
  const auto a = pod("a", Qos::ls, 1);
  machine.ticks(inventory({a, pod("b", Qos::ls, 1)}), 3);
  CHECK(machine.perf->open.size() == 3);
  const std::size_t held = machine.held();
  machine.ticks(inventory({pod("a", Qos::ls, 2)}), 1);
  CHECK(machine.perf->open == std::multiset<std::string>{"cgroup"});
  CHECK(machine.held() < held);
  machine.ticks(inventory({pod("a", Qos::ls, 2)}), 60);  // once its next turn comes
  CHECK(machine.perf->open.size() + machine.perf->opened.size() > 5);
  machine.bench.reset();
  CHECK(machine.perf->open.empty());
}

TEST_CASE("Without counters there is a reason, without the gate nothing") {
  FakeNode fake(CgroupVersion::v2);
  testing::SamplerRig unable(fake, {.is_on = &only_cpi}, {.no_cpi = "a virtual machine"});
  CHECK(unable.tick(inventory({pod("a", Qos::ls, 1)}), seconds(0)).find<CpiView>() == nullptr);
  CHECK(unable.log.contains("a virtual machine"));
  CHECK(unable.registry.exposition().find("koordlet_collector_available{collector=\"cpi\"} 0") !=
        std::string::npos);
  const auto perf = std::make_shared<FakePerf::State>();
  KernelCounters counters;
  counters.cpi = std::make_unique<FakePerf>(perf);
  testing::SamplerRig off(fake, {}, std::move(counters));
  off.tick(inventory({pod("a", Qos::ls, 1)}), seconds(0));
  CHECK(perf->opened.empty());
}

}  // namespace
}  // namespace koord::koordlet
