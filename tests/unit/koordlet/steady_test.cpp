// The steady state takes nothing from the heap: neither the sampler nor what comes behind the plans.
#include <fmt/format.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>

#include "framework/qos/manager.hpp"
#include "gates.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "sampler_rig.hpp"

namespace {
std::atomic<std::size_t> allocations{0};
}

// Every way to the heap that C++ has ends in one of these: a sanitizer's own would not fit our delete.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size);
}
void* operator new(std::size_t size) {
  if (void* const memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using std::chrono::seconds;
using testing::FakeNode;

class NobodyGoes final : public ActionRunner {
 public:
  void run(const Action&, Done) override {}
};

/// Two values for each pod and container, from the inventory alone.
class Standing final : public Strategy {
 public:
  explicit Standing(const PluginContext&) {}
  void plan(const TickView& view, Plan& plan) override {
    const auto all = [&plan](std::string_view group) {
      plan.want(host::Knob::cpu_shares, group, std::int64_t{512}, "a test that counts allocations");
      plan.want(host::Knob::cpu_burst, group, std::int64_t{1000}, "a test that counts allocations");
    };
    for (const auto& pod : view.inventory->pods) {
      all(pod->group);
      for (const ContainerInfo& container : pod->containers) all(container.group);
    }
  }
  void release(const Inventory&, Plan&) override {}
};
/// The same, asked in each tick.
constexpr StrategyEntry kAsked{.name = "Asked", .make = &make<Standing>};
constexpr StrategyEntry kStands{.name = "Stands", .replan = Replan::on_change, .make = &make<Standing>};

TEST_CASE("Between two looks at all files a tick allocates nothing") {
  const bool stands = GENERATE(false, true);
  FakeNode fake(CgroupVersion::v1);
  auto now = testing::inventory({testing::pod("a", Qos::ls, 2), testing::pod("b", Qos::ls, 2)});
  now->generation = 1;
  now->slo_known = true;
  now->slo = std::make_shared<const api::NodeSloSpec>();
  const std::string pressure = "some avg10=1.50 avg60=2.00 avg300=3.00 total=1\n";
  const auto group = [&](const std::string& name) {
    fake.cpu(name, 1'000'000'000);
    fake.group_memory(name, 1 << 20, 1 << 20);
    fake.tree().write(fake.path("cpu", name, "cpu.shares"), "1024\n");
    fake.tree().write(fake.path("cpu", name, "cpu.cfs_burst_us"), "0\n");
    for (const char* file : {"cpu.pressure", "memory.pressure", "io.pressure"})
      fake.tree().write(fake.path("cpuacct", name, file), pressure);
  };
  for (const auto& pod : now->pods) {
    group(pod->group);
    for (const ContainerInfo& container : pod->containers) group(container.group);
  }
  testing::SamplerRig rig(fake, {.psi = true, .page_cache = true});
  const Logger logger(rig.log, rig.clock);
  FeatureGates gates{koordlet::gates()};
  KernelFiles files;
  Executor executor(rig.fs, files, rig.clock, logger, rig.registry, {}, nullptr);
  NobodyGoes runner;
  Actions actions({}, runner, rig.clock, logger, rig.registry);
  const StrategyEntry* const table[] = {stands ? &kStands : &kAsked};
  auto manager = QosManager::make(table,
                                  {.executor = executor,
                                   .clock = rig.clock,
                                   .log = logger,
                                   .metrics = rig.registry,
                                   .gates = gates,
                                   .topology = [] { return std::shared_ptr<const host::Topology>(); },
                                   .actions = actions,
                                   .series = rig.series},
                                  {.journal_path = fake.tree() / "journal", .boot_id = "boot"});
  REQUIRE(manager.has_value());
  std::size_t sampled = 0, planned = 0;
  // All files are read again after a minute.
  for (int tick = 0; tick < 55; ++tick) {
    if (tick == 12) sampled = planned = 0;
    rig.clock.advance(seconds(1));
    const std::size_t before = allocations.load();
    const TickView& view = rig.sampler.tick(now, rig.clock.mono(), rig.clock.now());
    const std::size_t between = allocations.load();
    (*manager)->tick(view);
    planned += allocations.load() - between;
    sampled += between - before;
  }
  CHECK((*manager)->limits().size() == 12);
  for (const auto& limit : (*manager)->limits()) CHECK(limit.in_force);
  CHECK(sampled == 0);
  CHECK(planned == 0);
}

}  // namespace
}  // namespace koord::koordlet
