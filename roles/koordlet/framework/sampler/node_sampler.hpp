// NodeSampler: what the whole node and each of its NUMA nodes use.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "framework/sampler/kernel_reader.hpp"
#include "framework/sampler/rate.hpp"
#include "framework/sampler/read_faults.hpp"
#include "framework/series.hpp"
#include "framework/tick_view.hpp"
#include "koord/host/procfs.hpp"
#include "koord/host/root.hpp"

namespace koord::koordlet {

struct NumaUsage {
  int id = 0;
  double cpu = kUnknown;
  double memory = kUnknown;
};

class NodeSampler {
 public:
  struct Config {
    nanoseconds max_age = std::chrono::seconds(20);
    bool page_cache = false;
  };
  /// All outlive it.
  NodeSampler(Config config, const host::Root& root, KernelReader& reader, SeriesStore& series,
              ReadFaults& faults);
  ~NodeSampler();

  /// The NUMA nodes and which CPU is on which.
  void set_facts(const NodeFacts& facts);
  void sample(MonoTime at);

  const Usage& usage() const { return usage_; }
  /// One for each NUMA node that has memory of its own, ascending by number.
  std::span<const NumaUsage> numa() const { return numa_; }
  /// CPUs that were online; 0 before the first sample.
  int online_cpus() const { return online_cpus_; }
  /// Whether the last sample saw other CPUs online than the one before.
  bool cpus_changed() const { return cpus_changed_; }

 private:
  struct NumaFile {
    std::string path;
    Fd fd;
    SeriesId cpu, memory;
  };
  void sample_cpu(MonoTime at);
  void sample_memory(MonoTime at);
  void sample_numa_cpu(MonoTime at);
  void sample_numa_memory(std::size_t i, MonoTime at);
  bool read(Fd& fd, const std::string& path, std::string_view file, std::string_view& text);
  SeriesId series(Metric metric, std::string_view entity);
  void forget_numa();

  Config config_;
  std::string sys_;
  KernelReader& reader_;
  SeriesStore& series_;
  ReadFaults& faults_;

  std::string stat_path_, meminfo_path_;
  Fd stat_fd_, meminfo_fd_;
  Rate used_;
  host::ProcStat stat_, last_stat_;
  MonoTime last_stat_at_;
  bool has_last_stat_ = false;
  Usage usage_;
  int online_cpus_ = 0;
  bool cpus_changed_ = false;
  SeriesId cpu_series_, memory_series_, page_cache_series_;

  std::vector<int> place_of_cpu_;  // index into numa_, -1: on none
  std::vector<NumaUsage> numa_;
  std::vector<NumaFile> numa_files_;
};

}  // namespace koord::koordlet
