// /proc/stat, /proc/meminfo and the NUMA nodes' meminfo, tick by tick.
#include "framework/sampler/node_sampler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace koord::koordlet {

namespace {
constexpr double kTicksPerSecond = 100;  // USER_HZ, which is 100 on every Linux that koord runs on

double seconds(nanoseconds time) { return std::chrono::duration<double>(time).count(); }

/// Whether the same CPUs are online; how long the vectors are says nothing.
bool same_cpus(const host::ProcStat& a, const host::ProcStat& b) {
  for (std::size_t i = 0; i < std::max(a.cpus.size(), b.cpus.size()); ++i)
    if ((i < a.cpus.size() && a.cpus[i]) != (i < b.cpus.size() && b.cpus[i])) return false;
  return true;
}
}  // namespace

NodeSampler::NodeSampler(Config config, const host::Root& root, KernelReader& reader, SeriesStore& series,
                         ReadFaults& faults)
    : config_(config),
      sys_(root.sys),
      reader_(reader),
      series_(series),
      faults_(faults),
      stat_path_(fmt::format("{}stat", root.proc)),
      meminfo_path_(fmt::format("{}meminfo", root.proc)) {
  cpu_series_ = this->series(Metric::node_cpu, "");
  memory_series_ = this->series(Metric::node_memory, "");
  if (config_.page_cache) page_cache_series_ = this->series(Metric::node_memory_with_page_cache, "");
}

NodeSampler::~NodeSampler() {
  forget_numa();
  reader_.released(stat_fd_);
  reader_.released(meminfo_fd_);
}

SeriesId NodeSampler::series(Metric metric, std::string_view entity) {
  const auto id = series_.open(metric, entity);
  if (id) return *id;
  faults_.garbled("series", entity, id.error());
  return {};
}

void NodeSampler::forget_numa() {
  for (const NumaFile& file : numa_files_) reader_.released(file.fd);
  numa_files_.clear();
  numa_.clear();
}

void NodeSampler::set_facts(const NodeFacts& facts) {
  const bool same = std::equal(numa_.begin(), numa_.end(), facts.numa_memory.begin(), facts.numa_memory.end(),
                               [](const NumaUsage& a, const NumaMemory& b) { return a.id == b.id; });
  if (!same) {
    for (const NumaUsage& gone : numa_)
      for (const Metric metric : {Metric::node_numa_cpu, Metric::node_numa_memory, Metric::system_numa_cpu,
                                  Metric::system_numa_memory})
        series_.close(series_.find(metric, std::to_string(gone.id)));
    forget_numa();
    for (const NumaMemory& node : facts.numa_memory) {
      const std::string id = std::to_string(node.id);
      numa_.push_back({.id = node.id});
      numa_files_.push_back({.path = fmt::format("{}devices/system/node/node{}/meminfo", sys_, id),
                             .fd = {},
                             .cpu = series(Metric::node_numa_cpu, id),
                             .memory = series(Metric::node_numa_memory, id)});
    }
  }
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

bool NodeSampler::read(Fd& fd, const std::string& path, std::string_view file, std::string_view& text) {
  const Outcome outcome = reader_.read(fd, path, text);
  if (outcome == Outcome::good) return true;
  faults_.failed(file, "", reader_.last_errno());  // the machine always has these files
  return false;
}

void NodeSampler::sample(MonoTime at) {
  usage_ = Usage{};
  cpus_changed_ = false;
  for (NumaUsage& numa : numa_) numa = NumaUsage{.id = numa.id};
  sample_cpu(at);
  sample_memory(at);
  for (std::size_t i = 0; i < numa_.size(); ++i) sample_numa_memory(i, at);
}

void NodeSampler::sample_cpu(MonoTime at) {
  std::string_view text;
  if (!read(stat_fd_, stat_path_, "stat", text)) return;
  if (const auto parsed = host::parse_proc_stat(text, stat_); !parsed) {
    faults_.garbled("stat", "", parsed.error());
    return;
  }
  online_cpus_ = static_cast<int>(
      std::count_if(stat_.cpus.begin(), stat_.cpus.end(), [](const auto& cpu) { return cpu.has_value(); }));
  cpus_changed_ = has_last_stat_ && !same_cpus(stat_, last_stat_);
  if (const auto change = used_.next(stat_.total.used(), at, config_.max_age)) {
    usage_.cpu = change.amount / kTicksPerSecond / seconds(change.over);
    series_.append(cpu_series_, at, usage_.cpu);
    sample_numa_cpu(at);
  }
  std::swap(stat_, last_stat_);
  last_stat_at_ = at;
  has_last_stat_ = true;
}

void NodeSampler::sample_numa_cpu(MonoTime at) {
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
  for (std::size_t i = 0; i < numa_.size(); ++i) series_.append(numa_files_[i].cpu, at, numa_[i].cpu);
}

void NodeSampler::sample_memory(MonoTime at) {
  std::string_view text;
  if (!read(meminfo_fd_, meminfo_path_, "meminfo", text)) return;
  const auto info = host::parse_meminfo(text);
  if (!info) {
    faults_.garbled("meminfo", "", info.error());
    return;
  }
  usage_.memory = static_cast<double>(info->used());
  usage_.memory_with_page_cache = static_cast<double>(info->used_with_page_cache());
  series_.append(memory_series_, at, usage_.memory);
  series_.append(page_cache_series_, at, usage_.memory_with_page_cache);
}

void NodeSampler::sample_numa_memory(std::size_t i, MonoTime at) {
  std::string_view text;
  NumaFile& file = numa_files_[i];
  if (!read(file.fd, file.path, "node meminfo", text)) return;
  const auto info = host::parse_meminfo(text);
  if (!info) {
    faults_.garbled("node meminfo", "", info.error());
    return;
  }
  numa_[i].memory = static_cast<double>(info->used_of_numa_node());
  series_.append(file.memory, at, numa_[i].memory);
}

}  // namespace koord::koordlet
