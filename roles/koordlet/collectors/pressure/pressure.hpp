// PressureCollector: pressure stall information of the node, pods and containers; as metrics, too.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/sampler/collector.hpp"
#include "framework/tick/pressure_view.hpp"
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

class PressureCollector final : public Collector {
 public:
  /// Each group is read once in the configured interval, in turn.
  explicit PressureCollector(const CollectorContext& context);
  ~PressureCollector() override;

  void follow(const Inventory& inventory) override;
  void sample(const TickView& view) override;
  /// As read last; what could not be read is unknown.
  void show(TickView& view) const override;

 private:
  struct Target {
    std::string group;
    std::vector<std::string> labels;
    bool container = false;
    std::size_t place = 0;  // in pressure_.pods or pressure_.containers
    bool asked = false;     // read at least once
    PressureGauges gauges;
  };
  const metrics::Family<metrics::Gauge>& family(const Target& target) const {
    return target.container ? containers_ : pods_;
  }
  Pressure& pressure(const Target& target) {
    return (target.container ? pressure_.containers : pressure_.pods)[target.place];
  }
  void read_node();
  void read(Target& target);

  std::uint32_t every_;
  std::uint64_t ticks_without_ = 0;  // since a group had one of the files
  KernelReader& reader_;
  ReadFaults& faults_;
  metrics::Family<metrics::Gauge> pods_, containers_;
  std::vector<std::unique_ptr<Target>> targets_;  // in the inventory's order
  struct NodeFile {
    std::string path;
    Fd fd;
  };
  std::array<NodeFile, 3> node_files_;
  PressureView pressure_;
};

}  // namespace koord::koordlet
