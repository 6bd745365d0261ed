// QosManager: asks the strategies what they want, lets the arbiter decide, writes down what it is about to
// throttle, and has the executor write. What nobody wants any more it sets free, also what a dead agent left.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/action/process_settings.hpp"
#include "framework/executor/executor.hpp"
#include "framework/qos/ahead.hpp"
#include "framework/qos/plugin.hpp"
#include "framework/resctrl/resctrl_groups.hpp"

namespace koord::koordlet {

/// Used on the event loop's thread.
class QosManager {
 public:
  static const metrics::Table kMetrics;
  struct Options {
    /// The file that says what is throttled.
    BootFile::Place journal;
    /// How often the folders below a group are listed again although no pod came or went.
    nanoseconds relist = std::chrono::seconds(10);
    /// A duration by the name of its flag. What a row's flag says of how often its strategy plans: 0 or less:
    /// it is off, as with its gate.
    std::function<nanoseconds(std::string_view flag)> seconds;
    std::function<bool(std::string_view flag)> is_set;
    /// Strategies that only tell what they would do: nothing of theirs is written or begun. Code::invalid for
    /// a name that no row has.
    std::vector<std::string> dry_run = {};
  };
  struct Dependencies {
    Executor& executor;
    Clock& clock;
    Logger log;
    metrics::Registry& metrics;
    const FeatureGates& gates;
    std::function<std::shared_ptr<const host::Topology>()> topology;
    Actions& actions;
    const SeriesStore& series;
    /// One for each kind of what strategies want of processes; of a kind without one processes are left
    /// alone.
    std::vector<ProcessSettings*> processes = {};
    ResctrlGroups* resctrl = nullptr;  // null: nobody's caches are divided
  };
  /// Builds every strategy of the table, those too whose gate is off: they may have to set free what an agent
  /// with other gates left.
  static Result<std::unique_ptr<QosManager>> make(StrategyTable table, Dependencies with, Options options);
  ~QosManager();
  QosManager(const QosManager&) = delete;
  QosManager& operator=(const QosManager&) = delete;

  /// Once a tick.
  void tick(const TickView& view);

  /// Between ticks, as the next one: see Ahead::write().
  Result<> write_ahead(std::span<const Ahead::Value> values);
  /// See Ahead::note().
  Result<> note_given(std::span<const Ahead::Given> values);

  /// For --cleanup: sets everything free, by the journal and in the known groups, and returns how many files
  /// were written; an error if something could not be set free. The inventory needs its be_roots (and pods,
  /// if they are known); nothing may tick beside it.
  Result<std::size_t> cleanup(const Inventory& inventory);

  /// Before cleanup(): the best-effort groups whose sets of CPUs it widens once `inventory` says whose CPUs
  /// are exclusively somebody's, rightly or not; for a message, empty if there are none.
  std::string narrow_groups(const Inventory& inventory);

  struct StrategyReport {
    std::string_view name;
    bool enabled = false;  // by its gate and interval
    StrategyStatus status;
    std::optional<nanoseconds> held;  // for how long it has not been able to tell
  };
  struct Limit {  // what is wanted now, for `koord top`
    host::Knob knob;
    std::string group;  // with the key, where there is one
    std::string value;
    std::string_view strategy;
    std::string reason;
    bool in_force = false;  // the file holds it; never for a strategy whose dry run it is
    bool held = false;      // wanted in an earlier tick: the strategy cannot tell now
  };
  std::vector<StrategyReport> strategies() const;
  std::vector<Limit> limits() const;
  std::vector<Executor::Failure> failures() const;

 private:
  class Impl;
  explicit QosManager(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::koordlet
