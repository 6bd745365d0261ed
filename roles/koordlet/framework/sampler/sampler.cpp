// One tick: follow the inventory, read, sum up, show.
#include "framework/sampler/sampler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "framework/sampler/best_effort_sampler.hpp"
#include "framework/sampler/node_sampler.hpp"
#include "framework/sampler/roster.hpp"
#include "koord/host/cgroup_stats.hpp"

namespace koord::koordlet {

namespace {

constexpr std::size_t kWantedDescriptors = 65'536;
constexpr std::size_t kOtherDescriptors = 512;  // sockets, watches and files of the rest of the agent
constexpr std::size_t kFilesOfGroup = 3;
constexpr int kMaxAgeTicks = 20;  // of the counter that a rate starts from: the original's
constexpr double kPage = 4096;
/// A restored series whose entity has not come back so long after the pods are known is of one that has gone.
constexpr nanoseconds kClaimTime = std::chrono::minutes(1);
/// While a CPU comes or goes its files do not all agree.
constexpr nanoseconds kFactsRetry = std::chrono::seconds(5);

std::size_t descriptor_budget(const SamplerConfig& config) {
  if (config.max_descriptors > 0) return config.max_descriptors;
  const std::size_t limit = raise_descriptor_limit(kWantedDescriptors);
  return limit > 2 * kOtherDescriptors ? limit - kOtherDescriptors : limit / 2;
}

constexpr metrics::Metric kUsedCpu{
    .name = "koordlet_node_used_cpu_cores", .type = metrics::Type::gauge, .help = "CPUs that the node uses"};
constexpr metrics::Metric kUsedMemory{.name = "koordlet_node_used_memory_bytes",
                                      .type = metrics::Type::gauge,
                                      .help = "Memory that the node uses, without reclaimable page cache"};
constexpr metrics::Metric kCpuInfo{.name = "koordlet_collect_node_cpu_info_status",
                                   .help = "Readings of what the node's CPUs are",
                                   .labels = {"status"}};
constexpr metrics::Metric kNumaInfo{.name = "koordlet_collect_node_numa_info_status",
                                    .help = "Readings of what the node's NUMA nodes are",
                                    .labels = {"status"}};

struct FactsCounters {
  metrics::Counter succeeded, failed;
};

FactsCounters facts_counters(metrics::Registry& registry, const metrics::Metric& row) {
  const auto family = registry.counters(row);
  return {family.with({"succeeded"}), family.with({"failed"})};
}

}  // namespace

std::uint32_t ticks_of(nanoseconds period, nanoseconds interval) {
  return static_cast<std::uint32_t>(std::max<std::int64_t>(period / interval, 1));
}

const metrics::Table Sampler::kMetrics = {&kUsedCpu, &kUsedMemory, &kCpuInfo, &kNumaInfo};

class Sampler::Impl {
 public:
  Impl(SamplerConfig config, CollectorTable collectors, const host::CgroupFs& cgroups, const host::Root& root,
       SeriesStore& series, metrics::Registry& registry, Logger log)
      : config_(config),
        root_(root),
        version_(cgroups.version()),
        series_(series),
        log_(log),
        faults_(registry, log),
        max_descriptors_(descriptor_budget(config)),
        reader_(cgroups, max_descriptors_),
        groups_({.max_age = kMaxAgeTicks * config.interval, .page_cache = config.page_cache}, version_,
                reader_, series, faults_),
        node_({.max_age = kMaxAgeTicks * config.interval, .page_cache = config.page_cache}, root, reader_,
              series, faults_),
        best_effort_({.max_age = kMaxAgeTicks * config.interval}, version_, reader_, series, faults_),
        roster_(cgroups, groups_, registry, faults_),
        cpu_gauge_(registry.gauge(kUsedCpu)),
        memory_gauge_(registry.gauge(kUsedMemory)),
        facts_counters_{facts_counters(registry, kCpuInfo), facts_counters(registry, kNumaInfo)},
        cpu_online_path_(fmt::format("{}devices/system/cpu/online", root.sys)),
        node_online_path_(fmt::format("{}devices/system/node/online", root.sys)),
        numa_every_(ticks_of(config.numa_interval, config.interval)) {
    const CollectorContext context{config_, cgroups, root_, reader_, series_, registry, faults_};
    for (const CollectorEntry* row : collectors)
      if (row->wanted(config_)) collectors_.push_back(row->make(context));
    const auto open = [&](Metric metric) {
      const auto id = series_.open(metric, "");
      return id ? *id : SeriesId{};
    };
    system_cpu_ = open(Metric::system_cpu);
    system_memory_ = open(Metric::system_memory);
  }

  const TickView& tick(const std::shared_ptr<const Inventory>& inventory, MonoTime at, WallTime wall) {
    faults_.at(at);
    const bool followed = inventory != view_.inventory;
    if (followed) follow(inventory);
    const bool too_soon = ticks_ > 0 && at >= view_.at && at - view_.at < config_.interval / 2;
    if (!too_soon)
      sample(at, wall);
    else if (followed)
      complete_ = false;  // who came has not been read
    show();
    return view_;
  }

  SamplerStats stats() const {
    return {.ticks = ticks_,
            .reads = reader_.stats().reads,
            .opens = reader_.stats().opens,
            .faults = faults_.total(),
            .groups = roster_.groups(),
            .descriptors = reader_.held()};
  }

 private:
  void follow(const std::shared_ptr<const Inventory>& inventory) {
    view_.inventory = inventory;
    roster_.follow(*inventory);
    best_effort_.follow(*inventory);
    for (const auto& collector : collectors_) collector->follow(*inventory);
    const std::size_t wanted = roster_.groups() * kFilesOfGroup;
    if (wanted > max_descriptors_ && !told_descriptors_) {
      log_.warn("not all files can be held open; the rest is opened for each read, which costs more",
                kv("wanted", wanted), kv("allowed", max_descriptors_));
      told_descriptors_ = true;
    }
  }

  void sample(MonoTime at, WallTime wall) {
    if (ticks_ == 0 || at >= facts_due_) read_facts(at);
    node_.sample(at);
    if (node_.cpus_changed()) {
      read_facts(at);
      facts_due_ = std::min(facts_due_, at + kFactsRetry);
    }
    complete_ = view_.inventory->pods_known;
    for (std::size_t i = 0; i < roster_.pods.size(); ++i) {
      SampledPod& pod = *roster_.pods[i];
      groups_.sample(pod.state, pod.info->group, at);
      complete_ = complete_ && pod.state.complete;
      for (SampledContainer& container : pod.containers) groups_.sample(container.state, container.group, at);
      if (pod.numa_pages.empty() || (ticks_ + i) % numa_every_ == 0) read_numa(pod);
    }
    for (SampledApplication& application : roster_.applications) {
      groups_.sample(application.state, application.info.group, at);
      complete_ = complete_ && application.state.complete;
      const Usage& now = application.state.now;
      if (known(now.cpu)) application.cpu.set(now.cpu);
      if (known(now.memory)) application.memory.set(now.memory);
    }
    view_.best_effort = {};
    if (view_.inventory->pods_known) view_.best_effort = best_effort_.sample(node_.online_cpus(), ticks_, at);
    for (const auto& collector : collectors_) collector->sample(ticks_, at);
    if (known(node_.usage().cpu)) cpu_gauge_.set(node_.usage().cpu);
    if (known(node_.usage().memory)) memory_gauge_.set(node_.usage().memory);
    derive_system(at);
    close_unclaimed(at);
    ++ticks_;
    view_.tick = ticks_;
    view_.at = at;
    view_.wall = wall;
  }

  /// Restored series of what went while the agent was away. All that is there has been read several times by
  /// then, NUMA nodes, too, which are opened by the first reading that succeeds.
  void close_unclaimed(MonoTime at) {
    if (claimed_ || !view_.inventory->pods_known) return;
    if (!pods_known_at_) pods_known_at_ = at;
    if (at - *pods_known_at_ < kClaimTime) return;
    series_.close_unclaimed();
    claimed_ = true;
  }

  /// The machine's facts are read whole only if other CPUs or NUMA nodes are online than before.
  void read_facts(MonoTime at) {
    facts_due_ = at + config_.node_info_interval;
    std::string_view text;
    online_now_.clear();
    Fd once;
    for (const std::string* path : {&cpu_online_path_, &node_online_path_}) {
      if (reader_.read(once, *path, text) == Outcome::good) online_now_ += text;
      reader_.released(once);
      once.reset();
    }
    bool good = true;
    if (!view_.facts || online_now_ != online_) {
      auto facts = read_node_facts(root_);
      good = facts.has_value();
      if (facts) {
        online_ = online_now_;
        view_.facts = std::make_shared<const NodeFacts>(std::move(*facts));
        node_.set_facts(*view_.facts);
        open_system_numa();
      } else {
        faults_.garbled("topology", "", facts.error());
        facts_due_ = at + std::min(config_.node_info_interval, kFactsRetry);
      }
    }
    for (const FactsCounters& counters : facts_counters_) (good ? counters.succeeded : counters.failed).inc();
  }

  void open_system_numa() {
    system_numa_.clear();
    for (const NumaUsage& numa : node_.numa()) {
      const std::string id = std::to_string(numa.id);
      const auto cpu = series_.open(Metric::system_numa_cpu, id);
      const auto memory = series_.open(Metric::system_numa_memory, id);
      system_numa_.push_back({cpu ? *cpu : SeriesId{}, memory ? *memory : SeriesId{}});
    }
  }

  void read_numa(SampledPod& pod) {
    if (!pod.state.present) {
      pod.numa_pages.clear();
      return;
    }
    std::string_view text;
    const Outcome outcome = reader_.read_once(host::Knob::memory_numa_stat, pod.info->group, text);
    const std::string_view file = host::row(host::Knob::memory_numa_stat).name;
    if (outcome == Outcome::failed) faults_.failed(file, pod.info->group, reader_.last_errno());
    if (outcome != Outcome::good) return;
    if (const auto parsed = host::parse_numa_stat(text, version_, pages_); parsed)
      pod.numa_pages.assign(pages_.begin(), pages_.end());
    else
      faults_.garbled(file, pod.info->group, parsed.error());
  }

  /// Adds an entity's last good values; false if one is too old.
  bool add(const GroupState& state, MonoTime at, double& cpu, double& memory) const {
    if (known(state.last_cpu)) {
      if (at - state.last_cpu_at > config_.system_outdated) return false;
      cpu += state.last_cpu;
    }
    if (known(state.last_memory)) {
      if (at - state.last_memory_at > config_.system_outdated) return false;
      memory += state.last_memory;
    }
    return true;
  }

  void derive_system(MonoTime at) {
    view_.system = Usage{};
    if (!view_.inventory->pods_known) return;
    double cpu = 0;
    double best_effort = 0;
    double memory = 0;
    for (const auto& pod : roster_.pods)
      if (!add(pod->state, at, pod->in_best_effort ? best_effort : cpu, memory)) return;
    for (const SampledApplication& application : roster_.applications)
      if (!add(application.state, at, application.in_best_effort ? best_effort : cpu, memory)) return;
    // The roots have those too whom nobody has named yet: what they use is not the system's.
    if (known(view_.best_effort.usage_milli))
      best_effort = std::max(best_effort, view_.best_effort.usage_milli / 1000);
    cpu += best_effort;
    const Usage& node = node_.usage();
    // What is unknown of the node stays unknown.
    if (known(node.cpu)) view_.system.cpu = std::max(0.0, node.cpu - cpu);
    if (known(node.memory)) view_.system.memory = std::max(0.0, node.memory - memory);
    series_.append(system_cpu_, at, view_.system.cpu);
    series_.append(system_memory_, at, view_.system.memory);

    for (std::size_t i = 0; i < system_numa_.size(); ++i) {
      const NumaUsage& numa = node_.numa()[i];
      if (node.cpu > 0) series_.append(system_numa_[i].cpu, at, view_.system.cpu * numa.cpu / node.cpu);
      // Host applications are not taken off: as in the original.
      double pages = 0;
      const auto id = static_cast<std::size_t>(numa.id);
      for (const auto& pod : roster_.pods)
        if (id < pod->numa_pages.size()) pages += static_cast<double>(pod->numa_pages[id]);
      if (known(numa.memory))
        series_.append(system_numa_[i].memory, at, std::max(0.0, numa.memory - pages * kPage));
    }
  }

  void show() {
    pods_.clear();
    containers_.clear();
    applications_.clear();
    for (const auto& pod : roster_.pods) {
      pods_.push_back(pod->state.now);
      for (const SampledContainer& container : pod->containers) containers_.push_back(container.state.now);
    }
    for (const SampledApplication& application : roster_.applications)
      applications_.push_back(application.state.now);
    view_.interval = config_.interval;
    view_.node = node_.usage();
    view_.pods = pods_;
    view_.containers = containers_;
    view_.host_applications = applications_;
    view_.complete = complete_;
    unmeasured_.resize(std::max(pods_.size(), containers_.size()));
    view_.pod_pressure = std::span(unmeasured_).first(pods_.size());
    view_.container_pressure = std::span(unmeasured_).first(containers_.size());
    for (const auto& collector : collectors_) collector->show(view_);
  }

  struct SystemNuma {
    SeriesId cpu, memory;
  };

  SamplerConfig config_;
  host::Root root_;
  host::CgroupVersion version_;
  SeriesStore& series_;
  Logger log_;
  ReadFaults faults_;
  std::size_t max_descriptors_;
  KernelReader reader_;
  GroupSampler groups_;
  NodeSampler node_;
  BestEffortSampler best_effort_;
  std::vector<std::unique_ptr<Collector>> collectors_;
  Roster roster_;
  metrics::Gauge cpu_gauge_, memory_gauge_;
  std::array<FactsCounters, 2> facts_counters_;
  SeriesId system_cpu_, system_memory_;
  std::vector<SystemNuma> system_numa_;

  std::string cpu_online_path_, node_online_path_;
  std::string online_, online_now_;  // what was online when the facts were read
  std::optional<MonoTime> pods_known_at_;
  MonoTime facts_due_;
  std::uint32_t numa_every_;
  std::uint64_t ticks_ = 0;
  bool claimed_ = false, told_descriptors_ = false, complete_ = false;

  TickView view_;
  std::vector<Usage> pods_, containers_, applications_;
  std::vector<Pressure> unmeasured_;  // for all that is not
  std::vector<std::uint64_t> pages_;
};

Sampler::Sampler(SamplerConfig config, CollectorTable collectors, const host::CgroupFs& cgroups,
                 const host::Root& root, SeriesStore& series, metrics::Registry& registry, Logger log)
    : impl_(std::make_unique<Impl>(config, collectors, cgroups, root, series, registry, std::move(log))) {}
Sampler::~Sampler() = default;

const TickView& Sampler::tick(const std::shared_ptr<const Inventory>& inventory, MonoTime at, WallTime wall) {
  return impl_->tick(inventory, at, wall);
}

SamplerStats Sampler::stats() const { return impl_->stats(); }

}  // namespace koord::koordlet
