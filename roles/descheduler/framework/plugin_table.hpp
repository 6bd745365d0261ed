// The table from which profiles are made: a row for each plugin, its arguments, and what it is good for.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "framework/evictor.hpp"
#include "framework/plugin.hpp"
#include "koord/api/rules/selector.hpp"
#include "koord/scheduling/plugin/args.hpp"

namespace koord {
class FeatureGates;
namespace kube {
class Client;
class EventRecorder;
class InformerSet;
}  // namespace kube
namespace metrics {
class Registry;
}
}  // namespace koord

namespace koord::descheduler {

using scheduling::Args;
using scheduling::args_type;
using scheduling::ArgsType;

/// args_kind("LowNodeLoad"): the kind of a plugin's arguments in this group; what it takes from a file may
/// leave both out.
constexpr api::Kind descheduler_kind(std::string_view kind) { return {"descheduler/v1alpha2", kind}; }

class PodEvictions;    // evictions/pod_evictions.hpp
class SchedulerModel;  // fitting/scheduler_model.hpp

/// What plugins are made with; all of it outlives them. The pointers are null where nothing may be asked of
/// a cluster: a configuration is being checked.
struct PluginContext {
  std::string profile;
  Clock& clock;
  const Logger& log;
  const FeatureGates& gates;
  kube::Client* client = nullptr;
  kube::InformerSet* informers = nullptr;  // declare what you read; it is started later
  kube::EventRecorder* events = nullptr;
  metrics::Registry* metrics = nullptr;
  /// How pods are asked to go: with the policy of a pod or of a configuration, rate and dry runs.
  PodEvictions* evictions = nullptr;
  /// What plugins of one name have in common whatever profile they are of, by that name; null: nothing, there
  /// is one profile.
  std::map<std::string, std::shared_ptr<void>, std::less<>>* shared = nullptr;
  /// Whom to ask where pods fit outside of passes; null: nobody, BasicNodeFit's rules hold.
  SchedulerModel* scheduler = nullptr;
  /// Whether a write may begin now.
  std::function<bool()> may_write = [] { return false; };
  bool dry_run = false;    // of the whole configuration
  nanoseconds interval{};  // deschedulingInterval; 0: one pass
  /// What a plugin would first see in several passes counts in the first: there is no other one.
  bool at_once = false;
  /// For Evictors: the present pass's, null between passes.
  std::function<const Snapshot*()> snapshot = [] { return nullptr; };
  /// The same of what nodes a pod may be moved to, and whether it fits there.
  std::function<Pass*()> pass = [] { return nullptr; };
};

/// One row. Exactly one of the two makers is there.
struct PluginEntry {
  std::string_view name;
  const ArgsType* args = nullptr;  // nullptr: takes none
  bool deschedules = false, balances = false;
  bool once = false;  // one profile alone may enable it
  Result<std::unique_ptr<Plugin>> (*make)(const Args& args, PluginContext& context) = nullptr;
  /// Both filters and evicts. Asked once for each profile that names it.
  Result<std::unique_ptr<Evictor>> (*make_evictor)(const Args& args, PluginContext& context) = nullptr;
};

using PluginTable = std::span<const PluginEntry* const>;
/// All that koord has, in plugins.cpp, by name.
PluginTable plugin_table();
/// nullptr: there is none of that name.
const PluginEntry* find_plugin(PluginTable table, std::string_view name);

template <class P, class A>
Result<std::unique_ptr<Plugin>> make_with(const Args& args, PluginContext& context) {
  return std::unique_ptr<Plugin>(std::make_unique<P>(*static_cast<const A*>(args.get()), context));
}

}  // namespace koord::descheduler
