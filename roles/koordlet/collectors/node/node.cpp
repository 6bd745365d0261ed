// The collector of the node: what it and each of its NUMA nodes use (/proc/stat, /proc/meminfo, the NUMA
// nodes' meminfo), and what it is made of, which is read whole when other CPUs or NUMA nodes are online.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "framework/sampler/collector.hpp"
#include "framework/sampler/rate.hpp"
#include "framework/sampler/sampler.hpp"
#include "koord/host/procfs.hpp"

namespace koord::koordlet {

namespace {

constexpr double kTicksPerSecond = 100;  // USER_HZ, which is 100 on every Linux that koord runs on
/// While a CPU comes or goes its files do not all agree.
constexpr nanoseconds kFactsRetry = std::chrono::seconds(5);

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
constexpr metrics::Table kShown = {&kUsedCpu, &kUsedMemory, &kCpuInfo, &kNumaInfo};

double seconds(nanoseconds time) { return std::chrono::duration<double>(time).count(); }

/// Whether the same CPUs are online; how long the vectors are says nothing.
bool same_cpus(const host::ProcStat& a, const host::ProcStat& b) {
  for (std::size_t i = 0; i < std::max(a.cpus.size(), b.cpus.size()); ++i)
    if ((i < a.cpus.size() && a.cpus[i]) != (i < b.cpus.size() && b.cpus[i])) return false;
  return true;
}

struct FactsCounters {
  FactsCounters(metrics::Registry& registry, const metrics::Metric& row)
      : succeeded(registry.counters(row).with({"succeeded"})),
        failed(registry.counters(row).with({"failed"})) {}
  metrics::Counter succeeded, failed;
};

class NodeCollector final : public Collector {
 public:
  explicit NodeCollector(const CollectorContext& context);
  ~NodeCollector() override;

  void sample(const TickView& view) override;
  void show(TickView& view) const override;

 private:
  struct NumaFile {
    std::string path;
    Fd fd;
    SeriesId cpu, memory;
  };
  /// The machine's facts are read whole only if other CPUs or NUMA nodes are online than before.
  void read_facts(MonoTime at);
  void add_to_online(const std::string& path);
  void set_facts(const NodeFacts& facts);
  void sample_cpu(MonoTime at);
  void sample_memory(MonoTime at);
  void sample_numa_cpu(MonoTime at);
  void sample_numa_memory(std::size_t i, MonoTime at);
  bool read(Fd& fd, const std::string& path, std::string_view file, std::string_view& text);
  void forget_numa();

  const CollectorContext& context_;
  metrics::Gauge cpu_gauge_, memory_gauge_;
  std::array<FactsCounters, 2> facts_counters_;
  std::string stat_path_, meminfo_path_, cpu_online_path_, node_online_path_;

  std::shared_ptr<const NodeFacts> facts_;
  bool huge_pages_;                           // they are asked for
  std::vector<std::string> huge_page_files_;  // how many there are, once it is known of which nodes
  std::string online_, online_now_;  // what was online, and how many huge pages, when the facts were read
  MonoTime facts_due_;

  Fd stat_fd_, meminfo_fd_;
  Rate used_;
  host::ProcStat stat_, last_stat_;
  MonoTime last_stat_at_;
  bool has_last_stat_ = false;
  Usage usage_;
  bool unsettled_ = false;  // the machine has changed: it is read once more
  int online_cpus_ = 0;
  bool cpus_changed_ = false;  // since the sample before
  SeriesId cpu_series_, memory_series_, page_cache_series_;

  std::vector<int> place_of_cpu_;  // index into numa_, -1: on none
  std::vector<NumaUsage> numa_;
  std::vector<NumaFile> numa_files_;
};

NodeCollector::NodeCollector(const CollectorContext& context)
    : context_(context),
      cpu_gauge_(context.metrics.gauge(kUsedCpu)),
      memory_gauge_(context.metrics.gauge(kUsedMemory)),
      facts_counters_{FactsCounters(context.metrics, kCpuInfo), FactsCounters(context.metrics, kNumaInfo)},
      stat_path_(fmt::format("{}stat", context.root.proc)),
      meminfo_path_(fmt::format("{}meminfo", context.root.proc)),
      cpu_online_path_(fmt::format("{}devices/system/cpu/online", context.root.sys)),
      node_online_path_(fmt::format("{}devices/system/node/online", context.root.sys)),
      huge_pages_(context.config.is_on && context.config.is_on("HugePageReport")),
      cpu_series_(context.open(Metric::node_cpu, "")),
      memory_series_(context.open(Metric::node_memory, "")) {
  if (context.config.page_cache) page_cache_series_ = context.open(Metric::node_memory_with_page_cache, "");
}

NodeCollector::~NodeCollector() {
  forget_numa();
  context_.reader.released(stat_fd_);
  context_.reader.released(meminfo_fd_);
}

void NodeCollector::sample(const TickView& view) {
  if (view.tick == 0 || view.at >= facts_due_) read_facts(view.at);
  usage_ = Usage{};
  cpus_changed_ = false;
  for (NumaUsage& numa : numa_) numa = NumaUsage{.id = numa.id};
  sample_cpu(view.at);
  sample_memory(view.at);
  for (std::size_t i = 0; i < numa_.size(); ++i) sample_numa_memory(i, view.at);
  if (known(usage_.cpu)) cpu_gauge_.set(usage_.cpu);
  if (known(usage_.memory)) memory_gauge_.set(usage_.memory);
  if (!cpus_changed_) return;
  read_facts(view.at);
  facts_due_ = std::min(facts_due_, view.at + kFactsRetry);
}

void NodeCollector::show(TickView& view) const {
  view.node = usage_;
  view.numa = numa_;
  view.online_cpus = online_cpus_;
  view.facts = facts_;
}

void NodeCollector::read_facts(MonoTime at) {
  facts_due_ = at + context_.config.node_info_interval;
  online_now_.clear();
  for (const std::string* path : {&cpu_online_path_, &node_online_path_}) add_to_online(*path);
  for (const std::string& path : huge_page_files_) add_to_online(path);
  bool good = true;
  if (!facts_ || online_now_ != online_ || unsettled_) {
    const bool first = facts_ == nullptr, changed = online_now_ != online_;
    auto facts = read_node_facts(context_.root, huge_pages_);
    good = facts.has_value();
    if (facts) {
      facts_ = std::make_shared<const NodeFacts>(std::move(*facts));
      set_facts(*facts_);
      if (first)
        for (const std::string& path : huge_page_files_) add_to_online(path);
      online_ = online_now_;
      // The kernel writes one file after another: what was read in between stays no longer than that.
      unsettled_ = !first && changed;
      if (unsettled_) facts_due_ = at + std::min(context_.config.node_info_interval, kFactsRetry);
    } else {
      context_.faults.garbled("topology", "", facts.error());
      facts_due_ = at + std::min(context_.config.node_info_interval, kFactsRetry);
    }
  }
  for (const FactsCounters& counters : facts_counters_) (good ? counters.succeeded : counters.failed).inc();
}

void NodeCollector::add_to_online(const std::string& path) {
  std::string_view text;
  Fd once;
  if (context_.reader.read(once, path, text) == Outcome::good) online_now_ += text;
  context_.reader.released(once);
}

void NodeCollector::forget_numa() {
  for (const NumaFile& file : numa_files_) context_.reader.released(file.fd);
  numa_files_.clear();
  numa_.clear();
}

/// The NUMA nodes and which CPU is on which.
void NodeCollector::set_facts(const NodeFacts& facts) {
  const bool same = std::equal(numa_.begin(), numa_.end(), facts.numa_memory.begin(), facts.numa_memory.end(),
                               [](const NumaUsage& a, const NumaMemory& b) { return a.id == b.id; });
  if (!same) {
    for (const NumaFile& gone : numa_files_)
      for (const SeriesId id : {gone.cpu, gone.memory}) context_.series.close(id);
    forget_numa();
    for (const NumaMemory& node : facts.numa_memory) {
      const std::string id = std::to_string(node.id);
      numa_.push_back({.id = node.id});
      numa_files_.push_back(
          {.path = fmt::format("{}devices/system/node/node{}/meminfo", context_.root.sys, id),
           .fd = {},
           .cpu = context_.open(Metric::node_numa_cpu, id),
           .memory = context_.open(Metric::node_numa_memory, id)});
    }
  }
  if (huge_pages_) huge_page_files_ = huge_page_files(context_.root, facts.numa_memory);
  place_of_cpu_.clear();
  for (const host::CpuPlace& cpu : facts.topology.cpus) {
    const auto it =
        std::find_if(numa_.begin(), numa_.end(), [&](const NumaUsage& numa) { return numa.id == cpu.node; });
    if (it == numa_.end()) continue;
    const auto number = static_cast<std::size_t>(cpu.cpu);
    if (place_of_cpu_.size() <= number) place_of_cpu_.resize(number + 1, -1);
    place_of_cpu_[number] = static_cast<int>(it - numa_.begin());
  }
}

bool NodeCollector::read(Fd& fd, const std::string& path, std::string_view file, std::string_view& text) {
  const Outcome outcome = context_.reader.read(fd, path, text);
  if (outcome == Outcome::good) return true;
  context_.faults.failed(file, "", context_.reader.last_errno());  // the machine always has these files
  return false;
}

void NodeCollector::sample_cpu(MonoTime at) {
  std::string_view text;
  if (!read(stat_fd_, stat_path_, "stat", text)) return;
  if (const auto parsed = host::parse_proc_stat(text, stat_); !parsed) {
    context_.faults.garbled("stat", "", parsed.error());
    return;
  }
  online_cpus_ = static_cast<int>(
      std::count_if(stat_.cpus.begin(), stat_.cpus.end(), [](const auto& cpu) { return cpu.has_value(); }));
  cpus_changed_ = has_last_stat_ && !same_cpus(stat_, last_stat_);
  if (const auto change = used_.next(stat_.total.used(), at, context_.config.max_age())) {
    usage_.cpu = change.amount / kTicksPerSecond / seconds(change.over);
    context_.series.append(cpu_series_, at, usage_.cpu);
    sample_numa_cpu(at);
  }
  std::swap(stat_, last_stat_);
  last_stat_at_ = at;
  has_last_stat_ = true;
}

void NodeCollector::sample_numa_cpu(MonoTime at) {
  if (!has_last_stat_) return;
  for (NumaUsage& numa : numa_) numa.cpu = 0;
  const std::size_t cpus = std::min({stat_.cpus.size(), last_stat_.cpus.size(), place_of_cpu_.size()});
  for (std::size_t i = 0; i < cpus; ++i) {
    const auto& now = stat_.cpus[i];
    const auto& last = last_stat_.cpus[i];
    if (!now || !last || now->used() < last->used() || place_of_cpu_[i] < 0) continue;  // came or went
    numa_[static_cast<std::size_t>(place_of_cpu_[i])].cpu +=
        static_cast<double>(now->used() - last->used()) / kTicksPerSecond / seconds(at - last_stat_at_);
  }
  for (std::size_t i = 0; i < numa_.size(); ++i) context_.series.append(numa_files_[i].cpu, at, numa_[i].cpu);
}

void NodeCollector::sample_memory(MonoTime at) {
  std::string_view text;
  if (!read(meminfo_fd_, meminfo_path_, "meminfo", text)) return;
  const auto info = host::parse_meminfo(text);
  if (!info) {
    context_.faults.garbled("meminfo", "", info.error());
    return;
  }
  usage_.memory = static_cast<double>(info->used());
  usage_.memory_with_page_cache = static_cast<double>(info->used_with_page_cache());
  context_.series.append(memory_series_, at, usage_.memory);
  context_.series.append(page_cache_series_, at, usage_.memory_with_page_cache);
}

void NodeCollector::sample_numa_memory(std::size_t i, MonoTime at) {
  std::string_view text;
  NumaFile& file = numa_files_[i];
  if (!read(file.fd, file.path, "node meminfo", text)) return;
  const auto info = host::parse_meminfo(text);
  if (!info) {
    context_.faults.garbled("node meminfo", "", info.error());
    return;
  }
  numa_[i].memory = static_cast<double>(info->used_of_numa_node());
  context_.series.append(file.memory, at, numa_[i].memory);
}

}  // namespace

extern const CollectorEntry kNode;
const CollectorEntry kNode{.name = "node", .metrics = kShown, .make = &make_collector<NodeCollector>};

}  // namespace koord::koordlet
