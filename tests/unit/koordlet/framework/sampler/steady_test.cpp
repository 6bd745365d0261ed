// The steady state takes nothing from the heap: neither the sampler, nor any strategy, nor what comes behind
// the plans.
#include <fmt/format.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "framework/qos/manager.hpp"
#include "framework/tick/blamed_waits.hpp"
#include "plugins.hpp"
#include "rigs/sampler_rig.hpp"
#include "setup/gates.hpp"
#include "support/whole_slo.hpp"

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

/// A fake machine, what is on it, and what measures and manages it.
struct Steady {
  explicit Steady(FakeNode& fake, std::shared_ptr<const Inventory> what)
      : node(fake),
        inventory(std::move(what)),
        rig(fake, {.is_on = &testing::every_gate, .page_cache = true}) {
    if (!gates.set("AllAlpha=true,AllBeta=true")) throw std::runtime_error("no such gates");
  }

  Result<std::unique_ptr<QosManager>> make(StrategyTable table) {
    return QosManager::make(table,
                            {.executor = executor,
                             .clock = rig.clock,
                             .log = logger,
                             .metrics = rig.registry,
                             .gates = gates,
                             .topology = [this]() -> std::shared_ptr<const host::Topology> {
                               if (!seen.facts) return nullptr;
                               return {seen.facts, &seen.facts->topology};
                             },
                             .actions = actions,
                             .series = rig.series},
                            {.journal = {.path = node.tree() / "journal", .boot_id = "boot"},
                             .relist = std::chrono::hours(1),
                             .seconds = [](std::string_view) { return seconds(1); },
                             .is_set = [](std::string_view) { return false; }});
  }

  void tick(QosManager& manager) {
    rig.clock.advance(seconds(1));
    const std::size_t before = allocations.load();
    seen = rig.sampler.tick(inventory, rig.clock.mono(), rig.clock.now());
    const std::size_t between = allocations.load();
    seen.pods_listed = rig.clock.mono();
    seen.slots.show(&blamed, seen.at);
    manager.tick(seen);
    planned += allocations.load() - between;
    sampled += between - before;
  }

  FakeNode& node;
  std::shared_ptr<const Inventory> inventory;
  testing::SamplerRig rig;
  Logger logger{rig.log, rig.clock};
  FeatureGates gates{koordlet::gates()};
  KernelFiles files;
  // All files are read again after that.
  Executor executor{rig.fs, files, rig.clock, logger, rig.registry, {.force_refresh = std::chrono::hours(1)},
                    nullptr};
  NobodyGoes runner;
  Actions actions{{}, runner, rig.clock, logger, rig.registry};
  TickView seen;
  BlamedWaits blamed;
  std::size_t sampled = 0, planned = 0;  // allocations
};

/// The files of a group, as a kernel with everything has them.
void write_group(FakeNode& fake, const std::string& name) {
  const auto write = [&](const char* subsystem, const char* file, const char* text) {
    fake.tree().write(fake.path(subsystem, name, file), text);
  };
  fake.cpu(name, 1'000'000'000);
  fake.group_memory(name, 1 << 20, 1 << 20);
  fake.quota(name, -1);
  write("cpuset", "cpuset.cpus", "0-15\n");
  if (!fake.v1())  // what is in force is what was set
    std::filesystem::create_symlink("cpuset.cpus",
                                    fake.tree() / fake.path("", name, "cpuset.cpus.effective"));
  for (const char* file : {"cpu.pressure", "memory.pressure", "io.pressure"})
    write("cpuacct", file,
          "some avg10=1.50 avg60=2.00 avg300=3.00 total=1\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n");
  write("cpu", fake.v1() ? "cpu.shares" : "cpu.weight", fake.v1() ? "1024\n" : "39\n");
  write("cpu", fake.v1() ? "cpu.cfs_burst_us" : "cpu.max.burst", "0\n");
  write("cpu", "cpu.idle", "0\n");
  write("memory", fake.v1() ? "memory.limit_in_bytes" : "memory.max", "268435456\n");
  if (fake.v1()) {
    write("cpu", "cpu.bvt_warp_ns", "0\n");
    return;
  }
  write("", "memory.current", "1048576\n");
  write("", "memory.min", "0\n");
  write("", "memory.low", "0\n");
  write("", "memory.high", "max\n");
}

void write_groups(FakeNode& fake, const Inventory& inventory) {
  for (const char* name : {"kubepods", "kubepods/burstable", "kubepods/besteffort"}) write_group(fake, name);
  for (const auto& pod : inventory.pods) {
    write_group(fake, pod->group);
    for (const ContainerInfo& container : pod->containers) write_group(fake, container.group);
  }
}

std::shared_ptr<Inventory> standing_inventory() {
  auto now = testing::inventory({testing::pod("a", Qos::ls, 2), testing::pod("b", Qos::ls, 2)});
  now->slo_known = true;
  now->slo = std::make_shared<const api::NodeSloSpec>();
  return now;
}

TEST_CASE("Between two looks at all files a tick allocates nothing") {
  const bool stands = GENERATE(false, true);
  FakeNode fake(CgroupVersion::v1, 16);
  Steady steady(fake, standing_inventory());
  write_groups(fake, *steady.inventory);
  const StrategyEntry* const table[] = {stands ? &kStands : &kAsked};
  auto manager = steady.make(table);
  REQUIRE(manager.has_value());
  for (int tick = 0; tick < 100; ++tick) {
    if (tick == 12) steady.sampled = steady.planned = 0;
    steady.tick(**manager);
  }
  CHECK((*manager)->limits().size() == 12);
  for (const auto& limit : (*manager)->limits()) CHECK(limit.in_force);
  CHECK(steady.sampled == 0);
  CHECK(steady.planned == 0);
}

std::shared_ptr<Inventory> busy_inventory(bool by_quota) {
  std::vector<std::shared_ptr<const PodInfo>> pods;
  for (const auto& [uid, qos] : {std::pair("a", Qos::ls), {"b", Qos::lsr}, {"c", Qos::be}, {"d", Qos::be}}) {
    auto pod = testing::pod(uid, qos, 2);
    pod->phase = PodPhase::running;
    if (qos == Qos::be)
      pod->requests = {.batch_cpu = 500, .batch_memory = std::int64_t{256} << 20};
    else
      pod->requests = {.cpu = 500, .memory = std::int64_t{256} << 20};
    if (qos == Qos::lsr) pod->cpus = host::CpuSet{14, 15};
    for (ContainerInfo& container : pod->containers) {
      container.cpu_limit_milli = 1000;
      container.memory_limit = std::int64_t{256} << 20;
    }
    pods.push_back(std::move(pod));
  }
  auto now = testing::inventory(std::move(pods));
  now->all_pods = now->pods;
  now->own_cpus.lsr = {14, 15};
  now->slo_known = true;
  auto slo = koord::testing::whole_slo(by_quota ? "cfsQuota" : "cpuset");
  slo->extensions.text = R"({"cpuBlame":{"enable":true,"quota":true}})";
  now->slo = std::move(slo);
  now->node.capacity_milli_cpu = now->node.allocatable_milli_cpu = 16'000;
  now->node.capacity_memory = now->node.allocatable_memory = std::int64_t{16} << 30;
  now->node.extended = {{std::string(api::kBatchCpu), 8000}, {std::string(api::kBatchMemory), 8LL << 30}};
  now->host_applications = {{.name = "app", .qos = Qos::ls, .group = "app"}};
  return now;
}

/// Other loads with every tick, which change what strategies say but not what they want.
void use(FakeNode& fake, const Inventory& inventory, int tick) {
  const auto t = static_cast<std::uint64_t>(tick);
  std::vector<std::uint64_t> ticks(16, t * 21);  // 3.36 CPUs
  ticks[0] += t % 3;
  fake.cpu_ticks(ticks);
  const auto group = [&](const std::string& name, std::uint64_t milli) {
    fake.cpu(name, t * milli * 1'000'000 + t % 5 * 1'000'000, t * 10);
  };
  group("app", 100);
  group("kubepods/besteffort", 800);
  for (const auto& pod : inventory.pods) {
    group(pod->group, 400);
    for (const ContainerInfo& container : pod->containers) group(container.group, 200);
  }
}

/// Little is waited for best-effort work.
BlamedWaits blamed(int tick) {
  BlamedWaits waits;
  waits.reading = static_cast<std::uint64_t>(tick) + 1;
  waits.period = seconds(1);
  waits.waits = 1000;
  waits.seconds.fill(0.01);
  waits.best_effort_p99_us = 100 + tick % 7;
  waits.fit = true;
  return waits;
}

constexpr int kTicks = 48, kWarm = 36;

TEST_CASE("No strategy allocates anything while what it wants stays the same") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  const bool by_quota = GENERATE(false, true);
  const auto table = strategy_table();
  // All of them, and each by itself, so that one that allocates is named; that once is enough.
  const bool one_by_one = version == CgroupVersion::v1 && by_quota;
  for (std::size_t i = one_by_one ? 0 : table.size(); i <= table.size(); ++i) {
    const StrategyTable some = i < table.size() ? table.subspan(i, 1) : table;
    CAPTURE(version == CgroupVersion::v1, by_quota, i < table.size() ? table[i]->name : "all");
    FakeNode fake(version, 16);
    Steady steady(fake, busy_inventory(by_quota));
    write_groups(fake, *steady.inventory);
    write_group(fake, "app");
    for (const char* file : {"min_free_kbytes", "watermark_scale_factor"})
      fake.tree().write(fmt::format("proc/sys/vm/{}", file), "150\n");
    auto manager = steady.make(some);
    REQUIRE(manager.has_value());
    std::set<std::string> said;
    for (int tick = 0; tick < kTicks; ++tick) {
      if (tick == kWarm) steady.sampled = steady.planned = 0;
      use(fake, *steady.inventory, tick);
      steady.blamed = blamed(tick);
      steady.tick(**manager);
      if (tick >= kWarm)
        for (const auto& report : (*manager)->strategies()) said.insert(report.status.summary);
    }
    CHECK(steady.sampled == 0);
    CHECK(steady.planned == 0);
    // Their reasons change.
    if (some.front()->name == "CPUSuppress" || some.front()->name == "CPUBlame") CHECK(said.size() > 2);
    for (const auto& limit : (*manager)->limits())
      if (some.size() == 1) {
        CAPTURE(host::row(limit.knob).name, limit.group);
        CHECK(limit.in_force);
      }
  }
}

}  // namespace
}  // namespace koord::koordlet
