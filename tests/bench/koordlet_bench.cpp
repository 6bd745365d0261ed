// What the node agent costs: its sampler on a fake root, on real cgroups, and over a thousand virtual hours;
// what prediction does; each part with everything on (koordlet_strategies.cpp).
#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "collectors.hpp"
#include "framework/predict/peak_files.hpp"
#include "framework/predict/prod.hpp"
#include "framework/sampler/sampler.hpp"
#include "koord/base/manual_clock.hpp"
#include "koord/host/file.hpp"
#include "koordlet_bench.hpp"
#include "support/tree.hpp"

std::atomic<std::uint64_t> koord::koordlet::bench::allocations{0};

// Every way to the heap that C++ has ends in one of these.
void* operator new(std::size_t size) {
  koord::koordlet::bench::allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using namespace koord;
using namespace koord::koordlet;
using namespace koord::koordlet::bench;
using host::CgroupVersion;
using std::chrono::minutes;
using std::chrono::seconds;
namespace files = std::filesystem;

constexpr MonoTime kStart{std::chrono::hours(1)};

double rss_mb() {
  const auto statm = read_file("/proc/self/statm");
  if (!statm) return 0;
  const long pages = std::atol(statm->substr(statm->find(' ')).c_str());
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

std::size_t heap_bytes() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

/// `base` holds a folder for each pod and in it one for each container.
std::shared_ptr<Inventory> inventory(const std::string& base) {
  auto out = std::make_shared<Inventory>();
  out->generation = 1;
  out->pods_known = true;
  out->be_roots = {base};
  for (int i = 0; i < kPods; ++i)
    out->pods.push_back(
        pod(fmt::format("0f{:04}", i), fmt::format("{}/pod{:04}", base, i), kContainersOfPod));
  return out;
}

/// The agent's measuring half.
struct Engine {
  explicit Engine(const host::Root& root, SamplerConfig config = {})
      : fs(*host::CgroupFs::open(root, host::detect_cgroup_version(root).value())),
        sampler(config, collector_table(), fs, root, series, registry, Logger(log, clock)) {}
  const TickView& tick(const std::shared_ptr<const Inventory>& what, nanoseconds time) {
    return sampler.tick(what, kStart + time, WallTime(time));
  }
  ManualClock clock;
  CapturedLog log;
  metrics::Registry registry;
  SeriesStore series{{}};
  host::CgroupFs fs;
  Sampler sampler;
};

/// CPU of the same preads alone, in microseconds a round: what no program that reads these files goes below.
double bare_reads_us(const Engine& engine, const Inventory& now) {
  constexpr int kRounds = 100;
  std::vector<Fd> fds;
  std::vector<std::string> groups;
  for (const auto& info : now.pods) {
    groups.push_back(info->group);
    for (const auto& container : info->containers) groups.push_back(container.group);
  }
  std::vector<host::Knob> knobs = {host::Knob::cpu_stat, host::Knob::memory_stat};
  if (engine.fs.version() == CgroupVersion::v1) knobs.push_back(host::Knob::cpu_usage);
  for (const std::string& group : groups)
    for (const host::Knob knob : knobs)
      fds.emplace_back(open(engine.fs.read_path(knob, group)->c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<char> buffer(65'536);
  const double began = cpu_us();
  for (int round = 0; round < kRounds; ++round)
    for (const Fd& fd : fds)
      if (pread(fd.get(), buffer.data(), buffer.size(), 0) <= 0) std::abort();
  return (cpu_us() - began) / kRounds;
}

void steady(const char* what, Engine& engine, const std::shared_ptr<const Inventory>& now) {
  constexpr int kFirst = 1900;  // until the rings of half an hour are full
  constexpr int kTicks = 600;
  int tick = 0;
  for (; tick < kFirst; ++tick) engine.tick(now, seconds(tick));
  const SamplerStats before = engine.sampler.stats();
  const std::uint64_t heap = allocations.load();
  const long children = children_faults();
  const double began = cpu_us();
  for (int i = 0; i < kTicks; ++i, ++tick) engine.tick(now, seconds(tick));
  const double took = (cpu_us() - began) / kTicks;
  const SamplerStats after = engine.sampler.stats();
  const auto allocated = static_cast<double>(allocations.load() - heap) / kTicks;
  const auto calls =
      static_cast<double>(after.reads - before.reads + 2 * (after.opens - before.opens)) / kTicks;
  fmt::print("| {} | {:.1f} | {:.1f} | {:.2f} | {:.0f} | {} | {} | {} | {:.1f} | {:.1f} |\n", what,
             took / kContainers, bare_reads_us(engine, *now) / kContainers, took / 1e3, calls, allocated,
             children_faults() > children ? "some" : "0", after.faults,
             static_cast<double>(engine.series.bytes()) / 1e6, rss_mb());

  const MonoTime at = kStart + seconds(tick - 1);
  const double asked = cpu_us();
  int found = 0;
  for (const auto& info : now->pods)
    for (const Metric metric : {Metric::pod_cpu, Metric::pod_memory})
      found += engine.series.aggregate(metric, info->uid, at, minutes(5)).has_value() ? 1 : 0;
  for (const Metric metric :
       {Metric::node_cpu, Metric::node_memory, Metric::system_cpu, Metric::system_memory})
    for (const nanoseconds window : {minutes(5), minutes(10), minutes(30)})
      found += engine.series.aggregate(metric, "", at, window).has_value() ? 1 : 0;
  const double aggregated = cpu_us() - asked;
  std::string checkpoint;
  const double saved = cpu_us();
  engine.series.save({at, WallTime(), "boot"}, minutes(5), checkpoint);
  fmt::print("  ({} aggregates as a NodeMetric asks for: {:.1f} ms; a checkpoint: {:.1f} ms, {:.1f} MB)\n",
             found, aggregated / 1e3, (cpu_us() - saved) / 1e3, static_cast<double>(checkpoint.size()) / 1e6);
}

void on_fake_root() {
  testing::Tree tree;
  write_machine(tree);
  const auto now = inventory("kubepods");
  write_group(tree, "kubepods", 1);
  for (const auto& info : now->pods) {
    write_group(tree, info->group, 1000);
    for (const auto& container : info->containers) write_group(tree, container.group, 1000);
  }
  Engine engine(host::Root::below(tree.path()));
  steady("fake root, cgroup v1", engine, now);
}

/// An own subtree in the hierarchies of this machine; removed at the end.
class RealGroups {
 public:
  RealGroups() : base_(fmt::format("koord-bench-{}", getpid())) {
    for (const char* name : {"cpu", "cpuacct", "cpuset", "memory"})
      if (files::exists(files::path("/sys/fs/cgroup") / name / "tasks"))
        hierarchies_.push_back(files::path("/sys/fs/cgroup") / name);
    if (files::exists("/sys/fs/cgroup/cgroup.controllers")) hierarchies_.push_back("/sys/fs/cgroup");
  }
  ~RealGroups() {
    for (auto group = made_.rbegin(); group != made_.rend(); ++group) remove(*group);
  }
  const std::string& base() const { return base_; }
  bool make(const std::string& group) {
    for (const auto& hierarchy : hierarchies_)
      if (mkdir((hierarchy / group).c_str(), 0755) != 0 && errno != EEXIST) return false;
    for (const auto& hierarchy : hierarchies_)  // v1's cpusets begin empty; the runtime fills them
      for (const char* name : {"cpuset.cpus", "cpuset.mems"}) {
        const auto parent = read_file(hierarchy / name);
        if (parent && !parent->empty()) (void)host::write_file(hierarchy / group / name, *parent).has_value();
      }
    made_.push_back(group);
    return !hierarchies_.empty();
  }
  void remove(const std::string& group) {
    for (const auto& hierarchy : hierarchies_) rmdir((hierarchy / group).c_str());
  }

 private:
  std::string base_;
  std::vector<files::path> hierarchies_;
  std::vector<std::string> made_;
};

void on_real_cgroups() {
  RealGroups groups;
  const auto now = inventory(groups.base());
  bool made = groups.make(groups.base());
  for (const auto& info : now->pods) {
    made = made && groups.make(info->group);
    for (const auto& container : info->containers) made = made && groups.make(container.group);
  }
  if (!made) {
    fmt::print("| real cgroups: skipped, they cannot be made here |\n");
    return;
  }
  Engine engine(host::Root::host_mode());
  steady("real cgroups", engine, now);

  // A cgroup goes under its descriptors, and one of the same name comes.
  const auto& victim = *now->pods[7];
  for (const auto& container : victim.containers) groups.remove(container.group);
  groups.remove(victim.group);
  const bool gone = !known(engine.tick(now, seconds(10'000)).pods[7].memory);
  groups.make(victim.group);
  for (const auto& container : victim.containers) groups.make(container.group);
  engine.tick(now, seconds(10'001));
  const bool back = known(engine.tick(now, seconds(10'002)).pods[7].cpu);
  fmt::print("  (a cgroup removed under its descriptors: {}; made again: {}; faults: {})\n",
             gone ? "unknown" : "STILL KNOWN", back ? "measured" : "NOT MEASURED",
             engine.sampler.stats().faults);
}

/// Pods of one container live in 50 places; each tick of a virtual minute some make room for others.
void thousand_hours(int hours) {
  constexpr int kPlaces = 50;
  constexpr int kBornInTen = 17;  // 100,000 in 60,000 ticks
  testing::Tree tree;
  write_machine(tree);
  write_group(tree, "kubepods", 1);
  for (int place = 0; place < kPlaces; ++place) {
    write_group(tree, fmt::format("kubepods/pod{}", place), 1000);
    write_group(tree, fmt::format("kubepods/pod{}/c0", place), 1000);
  }
  Engine engine(host::Root::below(tree.path()), {.interval = minutes(1)});
  std::vector<std::shared_ptr<const PodInfo>> alive(kPlaces);
  int born = 0;
  std::size_t early_heap = 0;
  double early_rss = 0;
  std::string checkpoint;
  const double began = cpu_us();
  for (int tick = 0; tick < hours * 60; ++tick) {
    auto now = std::make_shared<Inventory>();
    now->generation = static_cast<std::uint64_t>(tick) + 1;
    now->pods_known = true;
    now->be_roots = {"kubepods"};
    const int wanted = tick == 0 ? kPlaces : (tick + 1) * kBornInTen / 10 - tick * kBornInTen / 10;
    for (int i = 0; i < wanted; ++i, ++born)
      alive[static_cast<std::size_t>(born % kPlaces)] =
          pod(fmt::format("{:08x}-{}", static_cast<unsigned>(born) * 2654435761U, born),
              fmt::format("kubepods/pod{}", born % kPlaces), 1);
    now->pods = alive;
    std::sort(now->pods.begin(), now->pods.end(),
              [](const auto& a, const auto& b) { return a->uid < b->uid; });
    const TickView& view = engine.tick(now, minutes(tick));
    if (view.pods.size() != kPlaces) std::abort();
    if (tick % 60 == 59) {
      checkpoint.clear();
      engine.series.save({view.at, view.wall, "boot"}, minutes(5), checkpoint);
      (void)engine.registry.exposition().size();
    }
    if (tick == hours * 6) {  // after a tenth everything has been seen, the digests' hours too
      early_heap = heap_bytes();
      early_rss = rss_mb();
    }
  }
  fmt::print(
      "\n| virtual hours | ticks | pods born | heap after a tenth, at the end (KB) | RSS (MB) | series, "
      "descriptors | CPU s |\n"
      "|---|---|---|---|---|---|---|\n| {} | {} | {} | {:.0f}, {:.0f} | {:.1f}, {:.1f} | {}, {} | {:.1f} |\n",
      hours, hours * 60, born, static_cast<double>(early_heap) / 1e3, static_cast<double>(heap_bytes()) / 1e3,
      early_rss, rss_mb(), engine.series.size(), engine.sampler.stats().descriptors,
      (cpu_us() - began) / 1e6);
}

/// Rounds of samples a minute apart, of windows of sixty seconds.
void prediction() {
  constexpr int kRounds = 600;
  const auto now = inventory("kubepods");
  SeriesStore series({});
  PeakModels models({});
  MonoTime at = kStart;
  const auto minute = [&] {
    for (int second = 0; second < 60; ++second) {
      at += seconds(1);
      for (std::size_t i = 0; i < now->pods.size(); ++i)
        for (const auto& [metric, unit] :
             {std::pair(Metric::pod_cpu, 0.1), std::pair(Metric::pod_memory, 1e8)})
          series.append(
              *series.open(metric, now->pods[i]->uid), at,
              unit * (1 + static_cast<double>((i * 7 + static_cast<std::size_t>(second) * 13) % 29)));
      series.append(*series.open(Metric::node_cpu, ""), at, 50);
      series.append(*series.open(Metric::node_memory, ""), at, 5e10);
    }
  };
  const auto wall = [&] { return WallTime(std::chrono::hours(470'000) + at.time_since_epoch()); };
  minute();
  const std::size_t empty = heap_bytes();
  train(models, series, *now, at, wall(), minutes(1));
  const std::size_t full = heap_bytes();
  double spent = 0;
  std::uint64_t heap = 0;
  for (int round = 0; round < kRounds; ++round) {
    minute();
    const std::uint64_t before = allocations.load();
    const double began = cpu_us();
    train(models, series, *now, at, wall(), minutes(1));
    spent += cpu_us() - began;
    heap += allocations.load() - before;
  }
  const double asked = cpu_us();
  for (int round = 0; round < kRounds; ++round) {
    ProdPredictor prod(
        [&](std::string_view uid) {
          const PeakModel* const model = models.find(uid);
          return model != nullptr ? model->peak() : std::nullopt;
        },
        {}, wall());
    for (const auto& info : now->pods) prod.add(*info);
    (void)prod.forecast(now->node);
  }
  const double forecast = (cpu_us() - asked) / kRounds;
  std::string text;
  const double saving = cpu_us();
  for (const auto& info : now->pods) write_peaks(info->uid, *models.find(info->uid), wall(), text);
  fmt::print(
      "\n| prediction: us CPU a pod-sample | a minute's round, us | allocations a round | bytes a pod | a "
      "forecast, us "
      "| a file's text, us | its bytes |\n"
      "|---|---|---|---|---|---|---|\n| {:.2f} | {:.0f} | {} | {} | {:.1f} | {:.1f} | {} |\n",
      spent / kRounds / kPods, spent / kRounds, heap / kRounds, (full - empty) / models.size(), forecast,
      (cpu_us() - saving) / kPods, text.size() / kPods);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "1000";
  if (first == "--hardware") {
    with_hardware(argc > 2 ? std::atoi(argv[2]) : 200);
    return 0;
  }
  const int hours = std::atoi(first.data());
  if (hours < 1) {
    fmt::print(stderr, "usage: koordlet_bench [VIRTUAL_HOURS]\n       koordlet_bench --hardware [PODS]\n");
    return 2;
  }
  fmt::print(
      "{} pods, {} containers, one tick a (virtual) second, rings of half an hour full.\n\n"
      "| where | us CPU a container-sample | of it the kernel's preads | ms CPU a tick | system calls a tick "
      "| allocations a "
      "tick | forks | faults | rings and digests MB | RSS MB |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n",
      kPods, kContainers);
  fmt::print("| goal | 20 | | 4 | | 0 | 0 | 0 | | 32 |\n");
  on_fake_root();
  on_real_cgroups();
  prediction();
  with_everything_on();
  thousand_hours(hours);
  return 0;
}
