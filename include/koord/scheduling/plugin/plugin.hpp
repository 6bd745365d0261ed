// Plugins: the extension points of the scheduling cycle, as small abstract classes.
#pragma once

#include <functional>
#include <optional>

#include "koord/base/clock.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/scheduling/cluster/cluster_event.hpp"
#include "koord/scheduling/cluster/node_table.hpp"
#include "koord/scheduling/cluster/nominator.hpp"
#include "koord/scheduling/cluster/object_store.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"
#include "koord/scheduling/cluster/pod_selectors.hpp"
#include "koord/scheduling/cluster/shared_parts.hpp"
#include "koord/scheduling/cluster/topology.hpp"
#include "koord/scheduling/plugin/admit_plugin.hpp"
#include "koord/scheduling/plugin/cross_node_plugin.hpp"
#include "koord/scheduling/plugin/cycle_plugin.hpp"
#include "koord/scheduling/plugin/filter_plugin.hpp"
#include "koord/scheduling/plugin/numa_hints.hpp"
#include "koord/scheduling/plugin/plugin_base.hpp"
#include "koord/scheduling/plugin/row_delta_plugin.hpp"
#include "koord/scheduling/plugin/score_plugin.hpp"
#include "koord/scheduling/plugin/verdict.hpp"

namespace koord::scheduling {

/// The order of the active queue.
struct QueuedPod;
class QueueSortPlugin {
 public:
  virtual ~QueueSortPlugin() = default;
  virtual bool less(const QueuedPod& a, const QueuedPod& b) const = 0;
};

/// May keep a pod out of the queue until an event that the plugin registered for.
class PreEnqueuePlugin {
 public:
  virtual ~PreEnqueuePlugin() = default;
  virtual bool may_enqueue(const PodInfo& pod) const = 0;
  /// What a pod is told that is kept out; empty: somebody else tells it.
  virtual std::string why_kept_out(const PodInfo& pod) const = 0;
  /// True: it is told as of a pod that found no node, so that a cluster autoscaler counts it.
  virtual bool is_unschedulable(const PodInfo& /*pod*/) const { return false; }
  /// What of the plugin's keeps the pod out, see RejectorKey.
  virtual Symbol kept_out_by(const PodInfo& /*pod*/) const { return {}; }
};

/// Which events could undo a rejection by this plugin. Who tells of changes himself, with the key that he
/// rejected with (CycleControl::happened()), names EventKind::plugin_told: only pods of that key are asked
/// about then.
class EventPlugin {
 public:
  virtual ~EventPlugin() = default;
  virtual EventMask events() const = 0;
  /// Called for events in events() and pods that this plugin rejected.
  virtual bool worth_retrying(const PodInfo& pod, const ClusterEvent& event) const = 0;

  /// Those of events() of which pods of one class may be told different things, by what is not signed (the
  /// claims of their volumes): each of them is asked then, and not one for all.
  virtual EventMask events_of_pods() const { return {}; }
  /// False: such an event is not about the pod, and worth_retrying() need not be called. Asked of all pods
  /// that the plugin rejected: it costs next to nothing.
  virtual bool concerns(const PodInfo& /*pod*/, const ClusterEvent& /*event*/) const { return true; }
};

/// Something that it keeps changes by itself, at a time of the wall clock (an object gets too old).
class TimedPlugin {
 public:
  virtual ~TimedPlugin() = default;
  /// When it wants to be told; absent: nothing will change until something happens.
  virtual std::optional<WallTime> next_time() const = 0;
  /// It is `now`, which may be long after. `happened` tells the pods that wait of what has changed by it.
  virtual void time_passed(WallTime now, const std::function<void(const ClusterEvent&)>& happened) = 0;
};

class PlacedKinds;

/// What a plugin is made with. The references outlive it.
struct PluginContext {
  NodeTable& nodes;
  VerdictTable& verdicts;
  TopologyTable& topology;
  PodSelectors& selectors;
  ObjectStores& objects;  // what it watches besides nodes and pods
  SharedParts& shared;    // with its instances of other profiles
  PlacedKinds& placed;    // what is placed beside pods
  CycleControl& cycle;    // what it may do to other pods
  const Nominator& nominator;
  const Clock& clock;
  PluginIndex index;  // the plugin's own
  const FeatureGates* gates = nullptr;
  NumaHints* numa_hints = nullptr;  // of its profile, whose providers are known once all plugins are made
  std::string_view name = {};       // the plugin's own, in the plugin table

  RejectorKey key(Symbol of) const { return {name, std::move(of)}; }
  /// A gate that nobody has a row of is off.
  bool gate(std::string_view name) const {
    return gates != nullptr && gates->known(name) && gates->enabled(name);
  }
  /// From now on it is told of the pods on rows and of the nodes; in a plugin's constructor.
  void observe(ClusterObserver& observer) const { nodes.observe(observer); }
};

}  // namespace koord::scheduling
