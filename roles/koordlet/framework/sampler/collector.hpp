// Collector: something that is measured of the node; and a row of the table of collectors.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/sampler/kernel_counters.hpp"
#include "framework/sampler/kernel_reader.hpp"
#include "framework/sampler/read_faults.hpp"
#include "framework/series/series.hpp"
#include "framework/tick/tick_view.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"
#include "koord/host/cgroup_fs.hpp"
#include "koord/host/root.hpp"

namespace koord {
class TaskGroup;
class WorkerPool;
}  // namespace koord

namespace koord::koordlet {

class Auditor;
class GpuDriver;
class Question;
struct SamplerConfig;

/// What asynchronous collectors run on. Without a group, where there is no event loop, they are not asked.
struct CollectorLoop {
  TaskGroup* group = nullptr;
  Clock* clock = nullptr;
  WorkerPool* workers = nullptr;  // for what blocks; null: who needs it is not asked
  GpuDriver* gpus = nullptr;      // null: nobody may ask NVIDIA's driver
  Auditor* auditor = nullptr;     // of what they change on the host; null: nobody wants to know
};

/// It and all that is in it outlive the collectors.
struct CollectorContext {
  const SamplerConfig& config;
  const host::CgroupFs& cgroups;
  const host::Root& root;
  KernelReader& reader;
  SeriesStore& series;
  metrics::Registry& metrics;
  ReadFaults& faults;
  Logger& log;
  KernelCounters& counters;
  CollectorLoop loop;

  /// A series of an entity; one that nothing is kept in, and a fault, where there are too many.
  SeriesId open(Metric metric, std::string_view entity) const;
  /// The text of a group's file, valid until the next read. False: there is none, which is no fault, or it
  /// cannot be read, which is one.
  bool read(Fd& fd, host::Knob knob, std::string_view group, std::string_view& text) const;
  bool read_once(host::Knob knob, std::string_view group, std::string_view& text) const;
  /// The last read failed.
  void failed(host::Knob knob, std::string_view group) const;
  /// What the knob's file says cannot be understood.
  void garbled(host::Knob knob, std::string_view group, const Error& error) const;
};

/// Whether something is measured that not every kernel allows.
struct Availability {
  std::string_view name;
  bool works = false;
  std::string reason;  // why not
};

/// On the sampler's thread. What it cannot read it counts as a fault, and never fails. Allocates only when
/// the inventory, or a thing that is measured, is new.
class Collector {
 public:
  virtual ~Collector() = default;
  /// The inventory is another one.
  virtual void follow(const Inventory&) {}
  /// Reads, once in the row's period. `view` has this tick's time and inventory, what the rows above have
  /// shown of this tick, and of the rows below what they showed last; `view.tick` counts the ticks before.
  virtual void sample(const TickView& view) = 0;
  /// What ticks shall see of it: its memory is valid until the next call of any of these.
  virtual void show(TickView&) const {}
  /// What of it not every kernel allows; asked once.
  virtual void tell(std::vector<Availability>&) const {}
  /// Of one that asks somebody else, who answers later (AskingCollector, framework/sampler/asking.hpp).
  virtual Question* question() { return nullptr; }
};

/// A collector's row, the last thing in collectors/NAME/NAME.cpp.
struct CollectorEntry {
  std::string_view name;
  std::string_view gate = {};  // the feature gate that asks for it; empty: always there
  /// How often it samples; zero: in each tick. What reads many things in turn samples in each tick, and
  /// `interval` is the flag of how often each of them is read.
  nanoseconds period{};
  std::string_view interval = {};
  /// How long an answer may take; for those that ask somebody else, whose `period` is not zero.
  nanoseconds patience{};
  metrics::Table metrics = {};
  std::unique_ptr<Collector> (*make)(const CollectorContext& context) = nullptr;
};
/// In the order in which they sample.
using CollectorTable = std::span<const CollectorEntry* const>;

/// A row's `make` for a collector that is made of its context alone.
template <class C>
std::unique_ptr<Collector> make_collector(const CollectorContext& context) {
  return std::make_unique<C>(context);
}

/// In how many ticks a thing of this period is read once.
std::uint32_t ticks_of(nanoseconds period, nanoseconds interval);

}  // namespace koord::koordlet
