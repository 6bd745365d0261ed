// BestEffortSampler: what the best-effort tier uses, asks for and may use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/sampler/kernel_reader.hpp"
#include "framework/sampler/rate.hpp"
#include "framework/sampler/read_faults.hpp"
#include "framework/series.hpp"
#include "framework/tick_view.hpp"

namespace koord::koordlet {

class BestEffortSampler {
 public:
  struct Config {
    nanoseconds max_age = std::chrono::seconds(20);
    /// The cpusets of containers are read in turn, each once in so many ticks; all when a root's changes.
    std::uint32_t container_every = 10;
  };
  /// All outlive it.
  BestEffortSampler(Config config, host::CgroupVersion version, KernelReader& reader, SeriesStore& series,
                    ReadFaults& faults);
  ~BestEffortSampler();

  /// Follows the inventory's roots and the containers below them.
  void follow(const Inventory& inventory);
  /// `online_cpus` stands for the cpuset of a root that has none of its own.
  BestEffortUse sample(int online_cpus, std::uint64_t tick, MonoTime at);

 private:
  static constexpr int kUnread = -1;
  struct Container {
    std::string group;
    int cpus = kUnread;  // 0: no limit of its own
  };
  struct Root {
    std::string group;
    Fd usage, cpuset, quota, period, memory;
    Rate used;
    bool present = false;  // when its use of CPU was read last
    int cpus = 0;
    std::vector<Container> containers;
  };
  double usage_milli(Root& root, MonoTime at);
  double limit_milli(Root& root, int online_cpus, std::uint64_t tick);
  double memory(Root& root);
  /// CPUs of the quota; unknown where there is none.
  double quota_cpus(Root& root);
  bool read_cpuset(Fd* held, std::string_view group, int& cpus);
  bool read(Fd& fd, host::Knob knob, std::string_view group, std::string_view& text);
  void forget(Root& root);

  Config config_;
  host::CgroupVersion version_;
  KernelReader& reader_;
  SeriesStore& series_;
  ReadFaults& faults_;
  std::vector<Root> roots_;
  double request_milli_ = 0;
  SeriesId usage_series_, request_series_, limit_series_;
};

}  // namespace koord::koordlet
