// The node agent with everything on: what each part of a tick costs.
#include <fmt/format.h>
#include <sys/resource.h>

#include <ctime>
#include <span>
#include <vector>

#include "collectors.hpp"
#include "framework/qos/manager.hpp"
#include "framework/sampler/sampler.hpp"
#include "koord/base/file.hpp"
#include "koord/base/manual_clock.hpp"
#include "koordlet_bench.hpp"
#include "plugins.hpp"
#include "setup/gates.hpp"
#include "support/whole_slo.hpp"

namespace koord::koordlet::bench {

double cpu_us() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

long children_faults() {
  rusage children{};
  getrusage(RUSAGE_CHILDREN, &children);
  return children.ru_minflt;
}

std::shared_ptr<PodInfo> pod(const std::string& uid, const std::string& group, int containers) {
  auto info = std::make_shared<PodInfo>();
  info->uid = uid;
  info->ns = "bench";
  info->name = uid;
  info->qos = Qos::ls;
  info->kube_qos = host::KubeQos::burstable;
  info->group = group;
  for (int i = 0; i < containers; ++i)
    info->containers.push_back({.name = fmt::format("c{}", i),
                                .id = fmt::format("{:0>56}-{}", uid, i),
                                .group = fmt::format("{}/c{}", group, i),
                                .cpu_limit_milli = {},
                                .memory_limit = {}});
  return info;
}

void write_group(testing::Tree& tree, const std::string& group, std::uint64_t used_ns) {
  const auto file = [&](const char* subsystem, const char* name) {
    return fmt::format("sys/fs/cgroup/{}/{}/{}", subsystem, group, name);
  };
  std::string memory;
  for (const char* prefix : {"", "total_"})
    for (const char* name : {"cache",
                             "rss",
                             "rss_huge",
                             "shmem",
                             "mapped_file",
                             "dirty",
                             "writeback",
                             "workingset_refault_anon",
                             "workingset_refault_file",
                             "swap",
                             "swapcached",
                             "pgpgin",
                             "pgpgout",
                             "pgfault",
                             "pgmajfault",
                             "inactive_anon",
                             "active_anon",
                             "inactive_file",
                             "active_file",
                             "unevictable"})
      memory += fmt::format("{}{} {}\n", prefix, name, 104857600);
  tree.write(file("cpuacct", "cpuacct.usage"), fmt::format("{}\n", used_ns));
  tree.write(file("cpu", "cpu.stat"),
             "nr_periods 100\nnr_throttled 3\nthrottled_time 7\nnr_bursts 0\nburst_time 0\n");
  tree.write(file("cpu", "cpu.cfs_quota_us"), "-1\n");
  tree.write(file("cpu", "cpu.cfs_period_us"), "100000\n");
  tree.write(file("cpu", "cpu.cfs_burst_us"), "0\n");
  tree.write(file("cpu", "cpu.shares"), "1024\n");
  for (const char* pressure : {"cpu.pressure", "memory.pressure", "io.pressure"})
    tree.write(file("cpuacct", pressure),
               "some avg10=0.00 avg60=0.12 avg300=1.05 total=104857600\n"
               "full avg10=0.00 avg60=0.00 avg300=0.41 total=52428800\n");
  tree.write(file("cpuset", "cpuset.cpus"), "0-3\n");
  tree.write(file("memory", "memory.limit_in_bytes"), "268435456\n");
  tree.write(file("memory", "memory.stat"), memory);
  tree.write(file("memory", "memory.numa_stat"), "total=25600 N0=25600\nfile=0 N0=0\nanon=25600 N0=25600\n");
}

void write_machine(testing::Tree& tree) {
  tree.write("proc/stat",
             "cpu  1000 0 500 90000 10 0 5 0 0 0\ncpu0 500 0 250 45000 5 0 2 0 0 0\ncpu1 500 0 250 45000 5 0 "
             "3 0 0 0\nintr 1\n");
  tree.write("proc/meminfo", *read_file("/proc/meminfo"));
  tree.write("proc/cpuinfo", "processor : 0\nprocessor : 1\n");
  const std::string sys = "sys/devices/system/";
  tree.write(sys + "cpu/online", "0-1\n");
  tree.write(sys + "node/online", "0\n");
  tree.write(sys + "node/node0/cpulist", "0-1\n");
  tree.write(sys + "node/node0/meminfo", "Node 0 MemTotal: 16000000 kB\nNode 0 MemFree: 8000000 kB\n");
  for (int cpu = 0; cpu < 2; ++cpu) {
    tree.write(fmt::format("{}cpu/cpu{}/topology/core_id", sys, cpu), fmt::format("{}\n", cpu));
    tree.write(fmt::format("{}cpu/cpu{}/topology/physical_package_id", sys, cpu), "0\n");
  }
}

namespace {

constexpr int kCpus = 16;  // that the node has: the load of the fake machine is far below
constexpr int kWarm = 400, kTicks = 300;

class NobodyGoes final : public ActionRunner {
 public:
  void run(const Action&, Done) override { ++asked; }
  int asked = 0;
};

/// As a hook: three values for each pod and container, from the inventory alone.
class Standing final : public Strategy {
 public:
  explicit Standing(const PluginContext&) {}
  void plan(const TickView& view, Plan& plan) override {
    const auto all = [&plan](std::string_view group) {
      plan.want(host::Knob::cpu_shares, group, std::int64_t{512}, "a measurement");
      plan.want(host::Knob::cpu_burst, group, std::int64_t{1000}, "a measurement");
      plan.want(host::Knob::cpu_quota, group, std::int64_t{200'000}, "a measurement");
    };
    for (const auto& pod : view.inventory->pods) {
      all(pod->group);
      for (const ContainerInfo& container : pod->containers) all(container.group);
    }
  }
  void release(const Inventory&, Plan&) override {}
};
constexpr StrategyEntry kStanding{
    .name = "(one that stands)", .replan = Replan::on_change, .make = &make<Standing>};
constexpr const StrategyEntry* kStandingTable[] = {&kStanding};

/// Half of the pods are best-effort.
Inventory node() {
  Inventory out;
  out.generation = 1;
  out.pods_known = out.slo_known = true;
  out.slo = testing::whole_slo("cpuset");
  out.be_roots = {"kubepods/besteffort"};
  out.node.name = "bench";
  out.node.capacity_milli_cpu = out.node.allocatable_milli_cpu = kCpus * 1000;
  out.node.capacity_memory = out.node.allocatable_memory = std::int64_t{64} << 30;
  out.node.extended = {{std::string(api::kBatchCpu), kPods * 1000},
                       {std::string(api::kBatchMemory), std::int64_t{64} << 30}};
  for (int i = 0; i < kPods; ++i) {
    const bool best_effort = i % 2 == 1;
    const std::string uid = fmt::format("0f{:04}", i);
    auto info = pod(uid, fmt::format("kubepods/{}/pod{}", best_effort ? "besteffort" : "burstable", uid),
                    kContainersOfPod);
    info->qos = best_effort ? Qos::be : Qos::ls;
    info->kube_qos = best_effort ? host::KubeQos::besteffort : host::KubeQos::burstable;
    info->phase = PodPhase::running;
    if (best_effort) info->requests = {.batch_cpu = 500, .batch_memory = std::int64_t{256} << 20};
    if (!best_effort) {
      info->requests = {.cpu = 500, .memory = std::int64_t{256} << 20};
      info->cpu_limit_milli = 1000 * kContainersOfPod;
    }
    for (ContainerInfo& container : info->containers) {
      container.cpu_limit_milli = 1000;
      container.memory_limit = std::int64_t{256} << 20;
    }
    out.pods.push_back(std::move(info));
  }
  out.all_pods = out.pods;
  return out;
}

struct Cost {
  double sampler_us = 0, plans_us = 0;
  double sampler_allocations = 0, plans_allocations = 0;
  double scrape_us = 0;
  std::size_t scrape_bytes = 0;
  std::size_t limits = 0;  // values that are wanted
  std::size_t refused = 0;
  bool forked = false;
};

Cost measure(const host::Root& root, const std::string& journal, const Inventory& now,
             const SamplerConfig& config, StrategyTable strategies) {
  ManualClock clock;
  CapturedLog log;
  const Logger logger(log, clock);
  metrics::Registry registry;
  SeriesStore series{{}};
  const host::CgroupFs fs = *host::CgroupFs::open(root, host::CgroupVersion::v1);
  Sampler sampler(config, collector_table(), fs, root, series, registry, logger);
  KernelFiles files;
  Executor executor(fs, files, clock, logger, registry, {}, nullptr);
  NobodyGoes runner;
  Actions actions({}, runner, clock, logger, registry);
  FeatureGates gates{koordlet::gates()};
  if (!gates.set("AllAlpha=true,AllBeta=true")) std::abort();
  const TickView* view = nullptr;
  const auto topology = [&]() -> std::shared_ptr<const host::Topology> {
    if (!view || !view->facts) return nullptr;
    return {view->facts, &view->facts->topology};
  };
  auto manager = QosManager::make(strategies,
                                  {.executor = executor,
                                   .clock = clock,
                                   .log = logger,
                                   .metrics = registry,
                                   .gates = gates,
                                   .topology = topology,
                                   .actions = actions,
                                   .series = series},
                                  {.journal = {.path = journal, .boot_id = "boot"},
                                   .seconds = [](std::string_view) { return std::chrono::seconds(1); },
                                   .is_set = [](std::string_view) { return false; }});
  if (!manager) std::abort();
  const auto inventory = std::make_shared<const Inventory>(now);
  Cost cost;
  long children = 0;
  TickView seen;
  for (int tick = -kWarm; tick < kTicks; ++tick) {
    if (tick == 0) {
      cost = {};
      children = children_faults();
    }
    clock.advance(std::chrono::seconds(1));
    const double began = cpu_us();
    const std::uint64_t heap = allocations.load();
    seen = sampler.tick(inventory, clock.mono(), clock.now());
    const double sampled = cpu_us();
    const std::uint64_t heap_sampled = allocations.load();
    seen.pods_listed = clock.mono();
    view = &seen;
    (*manager)->tick(seen);
    cost.plans_us += cpu_us() - sampled;
    cost.plans_allocations += static_cast<double>(allocations.load() - heap_sampled);
    cost.sampler_us += sampled - began;
    cost.sampler_allocations += static_cast<double>(heap_sampled - heap);
  }
  for (double* sum : {&cost.sampler_us, &cost.plans_us, &cost.sampler_allocations, &cost.plans_allocations})
    *sum /= kTicks;
  cost.forked = children_faults() > children;
  cost.limits = (*manager)->limits().size();
  cost.refused = (*manager)->failures().size();
  const double scraped = cpu_us();
  cost.scrape_bytes = registry.exposition().size();
  cost.scrape_us = cpu_us() - scraped;
  if (runner.asked > 0) fmt::print("(pods were asked to go, which should not be)\n");
  return cost;
}

}  // namespace

void with_everything_on() {
  testing::Tree tree;
  write_machine(tree);
  const Inventory now = node();
  for (const char* group : {"kubepods", "kubepods/burstable", "kubepods/besteffort"})
    write_group(tree, group, 1);
  for (const auto& info : now.pods) {
    write_group(tree, info->group, 1000);
    for (const auto& container : info->containers) write_group(tree, container.group, 1000);
  }
  for (const char* resource : {"cpu", "memory", "io"})
    tree.write(fmt::format("proc/pressure/{}", resource), "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n");
  for (const char* file : {"min_free_kbytes", "watermark_scale_factor"})
    tree.write(fmt::format("proc/sys/vm/{}", file), "150\n");
  const host::Root root = host::Root::below(tree.path());
  int run = 0;
  const auto cost = [&](const SamplerConfig& config, StrategyTable strategies) {
    return measure(root, tree / fmt::format("journal-{}", run++), now, config, strategies);
  };
  const auto row = [](std::string_view name, double us, double allocated, std::string_view more) {
    fmt::print("| {} | {:.0f} | {:.2f} | {:.1f} | {} |\n", name, us, us / kContainers, allocated, more);
  };
  const SamplerConfig everything{.is_on = [](std::string_view) { return true; }, .page_cache = true};
  fmt::print(
      "\nEverything on, fake root, cgroup v1, {} pods (half of them best-effort), {} containers; of each "
      "strategy what "
      "it adds alone:\n\n| part | us CPU a tick | us a container-sample | allocations a tick | "
      "|\n|---|---|---|---|---|\n",
      kPods, kContainers);
  const Cost plain = cost({}, {});
  row("sampler", plain.sampler_us, plain.sampler_allocations, "");
  const Cost more = cost(everything, {});
  row("pressure and page cache", more.sampler_us - plain.sampler_us,
      more.sampler_allocations - plain.sampler_allocations, "");
  row("manager without strategies", more.plans_us, more.plans_allocations, "");
  for (const StrategyEntry* const& strategy : strategy_table()) {
    const Cost one = cost(everything, {&strategy, 1});
    row(strategy->name, one.plans_us - more.plans_us, one.plans_allocations - more.plans_allocations,
        fmt::format("{} values wanted{}", one.limits,
                    one.refused > 0 ? fmt::format(", {} refused", one.refused) : ""));
  }
  const Cost standing = cost(everything, kStandingTable);
  row(kStanding.name, standing.plans_us - more.plans_us, standing.plans_allocations - more.plans_allocations,
      fmt::format("{} values wanted", standing.limits));
  const Cost all = cost(everything, strategy_table());
  row("all strategies", all.plans_us, all.plans_allocations,
      fmt::format("{} values wanted{}", all.limits,
                  all.refused > 0 ? fmt::format(", {} refused", all.refused) : ""));
  row("sampler and strategies", all.sampler_us + all.plans_us,
      all.sampler_allocations + all.plans_allocations, all.forked ? "FORKED" : "no fork");
  fmt::print("| a scrape of /metrics | {:.0f} | | | {:.1f} KB |\n", all.scrape_us,
             static_cast<double>(all.scrape_bytes) / 1e3);
}

}  // namespace koord::koordlet::bench
