// Collector: something that is measured beside what each tick needs (node, pods, best-effort tier), where it
// is asked for; and a row of the table of collectors.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "framework/sampler/kernel_reader.hpp"
#include "framework/sampler/read_faults.hpp"
#include "framework/series.hpp"
#include "framework/tick_view.hpp"
#include "koord/base/metrics.hpp"
#include "koord/host/cgroup_fs.hpp"
#include "koord/host/root.hpp"

namespace koord::koordlet {

struct SamplerConfig;

/// All outlive the collectors.
struct CollectorContext {
  const SamplerConfig& config;
  const host::CgroupFs& cgroups;
  const host::Root& root;
  KernelReader& reader;
  SeriesStore& series;
  metrics::Registry& metrics;
  ReadFaults& faults;
};

/// On the sampler's thread. What it cannot read it counts as a fault, and never fails. Allocates only when
/// the inventory is new.
class Collector {
 public:
  virtual ~Collector() = default;
  /// The inventory is another one.
  virtual void follow(const Inventory& inventory) = 0;
  /// Once a tick, after pods and containers were read.
  virtual void sample(std::uint64_t tick, MonoTime at) = 0;
  /// What ticks shall see of it: its memory is valid until the next call of any of these.
  virtual void show(TickView& view) const = 0;
};

/// A collector's row, the last thing in collectors/NAME/NAME.cpp.
struct CollectorEntry {
  std::string_view name;
  bool (*wanted)(const SamplerConfig& config) = nullptr;
  metrics::Table metrics = {};
  std::unique_ptr<Collector> (*make)(const CollectorContext& context) = nullptr;
};
/// In the order in which they sample.
using CollectorTable = std::span<const CollectorEntry* const>;

/// In how many ticks a thing of this period is read once.
std::uint32_t ticks_of(nanoseconds period, nanoseconds interval);

}  // namespace koord::koordlet
