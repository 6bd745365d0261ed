// What a strategy is built from, and a row of the table of strategies.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "framework/action/actions.hpp"
#include "framework/plan/strategy.hpp"
#include "framework/series/series.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"
#include "koord/base/result.hpp"
#include "koord/host/topology.hpp"

namespace koord::koordlet {

struct Hook;          // framework/hooks/hook.hpp
class ResctrlGroups;  // framework/resctrl/resctrl_groups.hpp

/// How strategies see what knobs hold now: read from the files, in cgroup v1's terms. `key`: which one is
/// meant of a file that has many settings.
class KnobReader {
 public:
  virtual ~KnobReader() = default;
  /// What is in force: v2's cpuset.cpus.effective for CPUs. Code::not_found: there is no such group.
  virtual Result<KnobValue> current(host::Knob knob, std::string_view group, std::string_view key = {}) = 0;
  /// What the group had before koord (this process or a dead one) first changed it; its present setting if
  /// koord has not. An empty set of CPUs is v2's "as the parent".
  virtual Result<KnobValue> original(host::Knob knob, std::string_view group, std::string_view key = {}) = 0;
  /// Why the kernel refuses what was wanted last; nothing: it does not.
  virtual std::optional<Error> refused(host::Knob knob, std::string_view group,
                                       std::string_view key = {}) = 0;
  /// Another program writes it, too, and what it wrote stays: see Intent::yields.
  virtual bool is_others(host::Knob knob, std::string_view group, std::string_view key = {}) = 0;
  /// The text of a file that is only read, valid until the next call.
  virtual Result<std::string_view> reading(host::Knob knob, std::string_view group) = 0;
};

/// Outlives the strategies.
struct PluginContext {
  host::CgroupVersion cgroup_version{};
  KnobReader& knobs;
  /// The machine's CPUs as they are now; null until they were read.
  std::function<std::shared_ptr<const host::Topology>()> topology;
  const FeatureGates& gates;
  Clock& clock;
  Logger log;
  metrics::Registry& metrics;
  /// What was measured before this tick.
  const SeriesStore& series;
  /// Who may be acted on, and when: strategies ask, Plan::act() does.
  const Actions& actions;
  /// A duration by the name of its flag, which is in seconds.
  std::function<nanoseconds(std::string_view flag)> seconds;
  /// A flag that is true or false, by its name.
  std::function<bool(std::string_view flag)> is_set;
  /// What the machine can divide of its caches; null: nobody looks after that here.
  const ResctrlGroups* resctrl = nullptr;
};

/// When a strategy is asked for a plan; the last one stands in between.
enum class Replan : std::uint8_t {
  each_tick,
  /// When the inventory (pods, node, NodeSLO) or the machine's CPUs have changed, or its look() says so: for
  /// plans of which most follows from these. While it holds it is asked each tick.
  on_change,
};

/// A strategy's row, the last thing in plugins/NAME/NAME.cpp.
struct StrategyEntry {
  std::string_view name;
  std::span<const std::string_view> gates = {};  // any of these feature gates; none: always on
  std::string_view interval = {};  // the flag of how often it plans at most, in seconds; empty: each tick
  Replan replan = Replan::each_tick;
  /// How long what it wanted last is kept while it cannot tell; then its neutral() counts.
  nanoseconds hold = std::chrono::minutes(5);
  const ProcessKind* sets = nullptr;  // of processes (Plan::set); one row for each kind; null: nothing
  /// Plan::share(): it has groups of resctrl, and what else begins with `swept_groups` was an agent's, and
  /// goes while the strategy is on.
  bool cache_groups = false;
  std::string_view swept_groups = {};
  bool needs_slo = true;  // false: it plans without a NodeSLO, too, once pods are known
  metrics::Table metrics = {};
  const Hook* hook = nullptr;  // whose reconciler it is; other transports ask the same one. Null: of none
  /// What it needs to know of what pods say; rows may share one. Whether the row's gates are on or not.
  PodTermsReader terms = nullptr;
  Result<std::unique_ptr<Strategy>> (*make)(const PluginContext& context) = nullptr;
};
/// The order is the arbiter's: where two strategies want different values of one knob, the earlier row's
/// counts.
using StrategyTable = std::span<const StrategyEntry* const>;

/// Those of all rows, each once.
std::vector<PodTermsReader> terms_readers(StrategyTable table);

/// A row's `make` for a strategy that cannot fail to be made.
template <class S>
Result<std::unique_ptr<Strategy>> make(const PluginContext& context) {
  return std::unique_ptr<Strategy>(std::make_unique<S>(context));
}

}  // namespace koord::koordlet
