// The node agent on hardware that test machines lack: what counters of caches and of CPUs cost a tick on fake
// roots, with software events of a real cgroup in place of cycles and instructions, and what a look at
// accelerators and network cards does.
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "collectors.hpp"
#include "collectors/gpu/attribution.hpp"
#include "framework/devices/rdma_cards.hpp"
#include "framework/devices/xpu_files.hpp"
#include "framework/sampler/sampler.hpp"
#include "koord/async/system_clock.hpp"
#include "koord/base/file.hpp"
#include "koord/base/manual_clock.hpp"
#include "koord/host/nvml.hpp"
#include "koord/host/perf.hpp"
#include "koordlet_bench.hpp"
#include "support/pci_tree.hpp"

namespace koord::koordlet::bench {

namespace {

using std::chrono::seconds;

constexpr int kCaches = 4, kCards = 8, kFunctions = 16, kProcesses = 32, kLooks = 50;
constexpr int kWarm = 200, kTicks = 300;

/// Each group is the same real one: what it costs to open, read and close two events a CPU is the kernel's,
/// whoever's they are.
class StandIn final : public host::PerfEvents {
 public:
  StandIn(std::unique_ptr<host::PerfEvents> events, std::string folder)
      : events_(std::move(events)), folder_(std::move(folder)) {}
  ~StandIn() override { rmdir(folder_.c_str()); }
  Result<std::unique_ptr<host::PerfCounter>> count(const std::string&, std::span<const int> cpus) override {
    return events_->count(folder_, cpus);
  }

 private:
  std::unique_ptr<host::PerfEvents> events_;
  std::string folder_;
};

/// Null: this machine, or this user, has no such events.
std::unique_ptr<host::PerfEvents> software_events() {
  for (const char* hierarchy : {"/sys/fs/cgroup/perf_event", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"}) {
    const std::string folder = fmt::format("{}/koord-bench-{}", hierarchy, getpid());
    if (!std::filesystem::exists(fmt::format("{}/cgroup.procs", hierarchy)) ||
        mkdir(folder.c_str(), 0755) != 0)
      continue;
    auto events = host::PerfEvents::open(host::kTaskClockAndSwitches);
    if (events) return std::make_unique<StandIn>(std::move(*events), folder);
    rmdir(folder.c_str());
  }
  return nullptr;
}

double resident_mib() {
  const auto statm = read_file("/proc/self/statm");
  if (!statm) return 0;
  return static_cast<double>(std::atol(statm->substr(statm->find(' ')).c_str()) * sysconf(_SC_PAGESIZE)) /
         (1 << 20);
}

void write_resctrl(testing::Tree& tree) {
  const std::string top = "sys/fs/resctrl/";
  std::string l3 = "L3:", mb = "MB:";
  for (int cache = 0; cache < kCaches; ++cache) {
    l3 += fmt::format("{}{}=7fff", cache > 0 ? ";" : "", cache);
    mb += fmt::format("{}{}=100", cache > 0 ? ";" : "", cache);
  }
  for (const auto& [name, value] :
       {std::pair("L3/cbm_mask", "7fff"),
        {"L3/min_cbm_bits", "1"},
        {"L3/num_closids", "16"},
        {"MB/min_bandwidth", "10"},
        {"MB/bandwidth_gran", "10"},
        {"MB/num_closids", "8"},
        {"L3_MON/mon_features", "llc_occupancy\nmbm_total_bytes\nmbm_local_bytes"}})
    tree.write(fmt::format("{}info/{}", top, name), fmt::format("{}\n", value));
  for (const char* group : {"", "LSR/", "LS/", "BE/"}) {
    tree.write(fmt::format("{}{}schemata", top, group), fmt::format("    {}\n    {}\n", l3, mb));
    for (int cache = 0; cache < kCaches; ++cache)
      for (const char* counter : {"llc_occupancy", "mbm_total_bytes", "mbm_local_bytes"})
        tree.write(fmt::format("{}{}mon_data/mon_L3_{:02}/{}", top, group, cache, counter), "1048576\n");
  }
}

struct Cost {
  double mean_us = 0, most_us = 0, mib = 0;
};

/// Of a sampler with these gates, on `pods` pods of two containers.
Cost cost(const host::Root& root, const std::shared_ptr<const Inventory>& now, const SamplerConfig& config) {
  ManualClock clock;
  CapturedLog log;
  metrics::Registry registry;
  SeriesStore series{{}};
  const host::CgroupFs fs = *host::CgroupFs::open(root, host::CgroupVersion::v1);
  KernelCounters counters;
  if (config.is_on && config.is_on("CPICollector")) {
    counters.cpi = software_events();
    if (counters.cpi == nullptr) fmt::print("(no software events here: CPI is not counted)\n");
  }
  Sampler sampler(config, collector_table(), fs, root, series, registry, Logger(log, clock),
                  std::move(counters));
  Cost seen;
  for (int tick = -kWarm; tick < kTicks; ++tick) {
    clock.advance(seconds(1));
    const double began = cpu_us();
    sampler.tick(now, clock.mono(), clock.now());
    const double took = cpu_us() - began;
    if (tick < 0) continue;
    seen.mean_us += took / kTicks;
    seen.most_us = std::max(seen.most_us, took);
  }
  (void)registry.exposition().size();
  seen.mib = resident_mib();
  return seen;
}

std::shared_ptr<const Inventory> pods(testing::Tree& tree, int count) {
  auto out = std::make_shared<Inventory>();
  out->generation = 1;
  out->pods_known = true;
  out->be_roots = {"kubepods"};
  write_group(tree, "kubepods", 1);
  for (int i = 0; i < count; ++i) {
    out->pods.push_back(
        pod(fmt::format("0f{:04}", i), fmt::format("kubepods/pod{:04}", i), kContainersOfPod));
    write_group(tree, out->pods.back()->group, 1000);
    for (const auto& container : out->pods.back()->containers) write_group(tree, container.group, 1000);
  }
  return out;
}

void look_at_devices() {
  testing::Tree tree;
  const host::Root root = host::Root::below(tree.path());
  int bus = 0;
  for (int card = 0; card < kCards; ++card) {
    const auto name = [&bus] {
      return fmt::format("0000:{:02x}:{:02x}.{}", 16 + bus / 64, bus / 8 % 8, bus % 8);
    };
    const std::string own = name();
    const std::string place = pci_card(tree, own, "15b3", "101b", card / 4, "pci0000:3a", "0x020000");
    tree.write(fmt::format("{}/infiniband/mlx5_{}/", place, card), "");
    tree.write(fmt::format("sys/class/infiniband/mlx5_{}/ports/1/state", card), "4: ACTIVE\n");
    tree.write(fmt::format("sys/bus/pci/devices/{}/sriov_numvfs", own), fmt::format("{}\n", kFunctions));
    for (int function = 0; function < kFunctions; ++function) {
      ++bus;
      const std::string virtual_one =
          pci_card(tree, name(), "15b3", "101c", card / 4, "pci0000:3a", "0x020000");
      std::filesystem::create_symlink(fmt::format("../{}", name()),
                                      fmt::format("{}/virtfn{}", tree / place, function));
      std::filesystem::create_symlink(fmt::format("../{}", own), tree / (virtual_one + "/physfn"));
    }
    ++bus;
  }
  std::string list;
  for (int gpu = 0; gpu < kCards; ++gpu)
    list += fmt::format(
        R"({}{{"vendor":"huawei","model":"Ascend-910","uuid":"u{}","minor":"{}","resources":{{"huawei.com/npu-core":"100"}},)"
        R"("topology":{{"p2pLinks":[],"socketID":"0","nodeID":"0","pcieID":"pci0000:3a","busID":"0000:{:02x}:00.0"}},)"
        R"("status":{{"healthy":true}}}})",
        gpu > 0 ? "," : "", gpu, gpu, gpu + 1);
  tree.write("xpus/huawei", fmt::format("[{}]", list));
  std::size_t cards = 0, accelerators = 0;
  double began = cpu_us();
  for (int look = 0; look < kLooks; ++look) cards = read_rdma_cards(root).devices.size();
  const double rdma = (cpu_us() - began) / kLooks;
  XpuFiles files(tree / "xpus", MonoTime());
  began = cpu_us();
  for (int look = 0; look < kLooks; ++look) accelerators = files.read(MonoTime(seconds(look))).devices.size();
  const double xpu = (cpu_us() - began) / kLooks;
  fmt::print(
      "\n| a look at | us CPU |\n|---|---|\n| {} RDMA cards with {} virtual functions each, sysfs | {:.0f} "
      "|\n"
      "| {} accelerators of a file | {:.0f} |\n",
      cards, kFunctions, rdma, accelerators, xpu);
}

/// What the collector of GPUs does each time: asks the driver by its helper, here the tests' driver, and
/// finds out whose each process is.
void look_at_gpus(const Inventory& now) {
  namespace fs = std::filesystem;
  const fs::path driver = fs::read_symlink("/proc/self/exe").parent_path() / "../unit/host/fake_nvml.so";
  testing::Tree tree;
  std::error_code lacks;
  if (!fs::copy_file(driver, tree / "nvml.so", lacks)) {
    fmt::print("(no driver of the tests here: GPUs are not looked at)\n");
    return;
  }
  std::string says;
  for (int card = 0; card < kCards; ++card)
    says +=
        fmt::format("{} GPU-{} 0000:{:02x}:00.0 85899345920 0 NVIDIA A100-SXM4-80GB\n", card, card, card + 1);
  for (int process = 0; process < kCards * kProcesses; ++process)
    says += fmt::format("process {} {} 3 1073741824 0\n", process % kCards, 100 + process);
  tree.write("nvml.so.say", says);
  boost::asio::io_context loop;
  SystemClock clock(loop.get_executor());
  host::NvmlProcess helper(clock, {.root = {}, .limit = seconds(30), .library = tree / "nvml.so"});
  const auto cgroups = [&now](pid_t pid) {
    const auto& pod = *now.pods[static_cast<std::size_t>(pid) % now.pods.size()];
    return fmt::format("0::/{}\n", pod.containers[0].group);
  };
  std::size_t users = 0;
  std::uint64_t helper_us = 0;
  double own_us = 0;
  for (int look = -1; look < kLooks; ++look) {  // the first one starts the helper
    const double began = cpu_us();
    const auto answer = helper.ask();
    if (!answer) {
      fmt::print("(GPUs are not looked at: {})\n", answer.error().message());
      return;
    }
    users = attribute(*answer, now, cgroups).containers.size();
    if (look >= 0) own_us += (cpu_us() - began) / kLooks;
    helper_us = look < 0 ? answer->cpu_us : helper_us;
    if (look == kLooks - 1) helper_us = (answer->cpu_us - helper_us) / kLooks;
  }
  fmt::print(
      "| {} GPUs with {} processes of {} containers, by the tests' driver | {:.0f} |\n"
      "| the same, in the driver's helper | {} |\n",
      kCards, kCards * kProcesses, users, own_us, helper_us);
}

}  // namespace

void with_hardware(int count) {
  testing::Tree tree;
  write_machine(tree);
  write_resctrl(tree);
  const auto now = pods(tree, count);
  const host::Root root = host::Root::below(tree.path());
  fmt::print(
      "Hardware counters, fake root, {} pods, {} containers, {} last-level caches; cycles are software "
      "events "
      "of a real cgroup:\n\n| on | us CPU a tick | the longest tick | us a container-sample | RSS MiB "
      "|\n|---|---|---|---|---|\n",
      count, count * kContainersOfPod, kCaches);
  std::fflush(stdout);
  const auto row = [&](const char* name, bool resctrl, bool cpi, bool psi) {
    const pid_t child = fork();
    if (child != 0) {
      int status = 0;
      if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        fmt::print("| {} | failed |\n", name);
      return;
    }
    const Cost seen = cost(root, now,
                           {.is_on =
                                [=](std::string_view gate) {
                                  return (gate == "ResctrlCollector" && resctrl) ||
                                         (gate == "CPICollector" && cpi) || (gate == "PSICollector" && psi);
                                },
                            .resctrl = resctrl});
    fmt::print("| {} | {:.0f} | {:.0f} | {:.1f} | {:.1f} |\n", name, seen.mean_us, seen.most_us,
               seen.mean_us / (count * kContainersOfPod), seen.mib);
    std::fflush(stdout);
    _exit(0);
  };
  row("nothing of it", false, false, false);
  row("resctrl", true, false, false);
  row("PSI", false, false, true);
  row("CPI", false, true, false);
  row("all", true, true, true);
  look_at_devices();
  look_at_gpus(*now);
}

}  // namespace koord::koordlet::bench
