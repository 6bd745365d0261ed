// PressureSampler: pressure stall information of pods and containers, as metrics.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/inventory.hpp"
#include "framework/sampler/kernel_reader.hpp"
#include "framework/sampler/read_faults.hpp"
#include "koord/base/metrics.hpp"
#include "koord/host/pressure.hpp"

namespace koord::koordlet {

/// What one cgroup shows: three resources, some and full, over 10, 60 and 300 seconds.
class PressureGauges {
 public:
  static constexpr std::array<host::Knob, 3> kKnobs = {host::Knob::cpu_pressure, host::Knob::memory_pressure,
                                                       host::Knob::io_pressure};
  void set(const metrics::Family<metrics::Gauge>& family, std::span<const std::string> labels,
           std::size_t resource, const host::Pressure& pressure);
  void remove(const metrics::Family<metrics::Gauge>& family, std::span<const std::string> labels);

 private:
  struct Row {
    std::array<metrics::Gauge, 6> gauges;  // precision by degree
    bool made = false, cpu_full = false;
  };
  template <class Fn>
  static void each(std::span<const std::string> labels, std::size_t resource, bool cpu_full, Fn&& fn);
  std::array<Row, 3> rows_;
};

class PressureSampler {
 public:
  static const metrics::Table kMetrics;
  /// All outlive it. Each group is read once in `every` ticks, in turn.
  PressureSampler(std::uint32_t every, KernelReader& reader, metrics::Registry& registry, ReadFaults& faults);

  void follow(const Inventory& inventory);
  void sample(std::uint64_t tick);

 private:
  struct Target {
    std::string group;
    std::vector<std::string> labels;
    bool container = false;
    PressureGauges gauges;
  };
  const metrics::Family<metrics::Gauge>& family(const Target& target) const {
    return target.container ? containers_ : pods_;
  }
  void read(Target& target);

  std::uint32_t every_;
  KernelReader& reader_;
  ReadFaults& faults_;
  metrics::Family<metrics::Gauge> pods_, containers_;
  std::vector<std::unique_ptr<Target>> targets_;  // in the inventory's order
};

}  // namespace koord::koordlet
