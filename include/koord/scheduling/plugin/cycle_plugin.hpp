// Plugins around the choice of a node: PostFilter when there is none, Reserve to PostBind when there is one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/symbol.hpp"
#include "koord/kube/store.hpp"
#include "koord/scheduling/cluster/cluster_event.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"
#include "koord/scheduling/cluster/resource_cells.hpp"
#include "koord/scheduling/plugin/extender_talk.hpp"
#include "koord/scheduling/plugin/koordinator_points.hpp"
#include "koord/scheduling/plugin/plugin_base.hpp"
#include "koord/scheduling/plugin/pod_changes.hpp"
#include "koord/scheduling/plugin/pod_place.hpp"
#include "koord/scheduling/plugin/preemption.hpp"
#include "koord/scheduling/plugin/status.hpp"
#include "koord/scheduling/plugin/verdict.hpp"

namespace koord::kube {
class Client;
}

namespace koord::scheduling {

class ClassState;
struct Profile;

/// Extenders that want a say about victims. The plugin that looks for them gives all its candidates, and says
/// pending; asked again it chooses among those that the answer has left.
struct VictimTalk {
  std::map<std::string, ExtenderQuestion::Victims> candidates = {};
  const ExtenderAnswer* answer = nullptr;
};

/// One attempt to place a pod, with its cycle state: what plugins keep for it from one extension point to a
/// later one. It lives until PostBind or until it is unreserved. Belongs to the engine's thread.
struct PodAttempt {
  PodAttempt(const PodInfo& tried, const Profile& with) : pod(tried), profile(with) {}

  const PodInfo& pod;
  const Profile& profile;
  Symbol node = {};                    // chosen; from Reserve on
  Row row = kNoRow;                    // the node's, for as long as the pod counts there
  std::span<const Row> hopeless = {};  // rows, ascending, that extenders refused whoever goes; there, too
  VictimTalk* talk = nullptr;          // there, where extenders want it
  /// The pod that the nodes were asked about in place of this one; nullptr: they were asked about this one.
  std::shared_ptr<const PodInfo> in_place = {};

  /// What the nodes said; in PostFilter only. Of a pod that an AdmitPlugin refused it is computed when it is
  /// asked for first.
  ClassState& state() const {
    if (state_ == nullptr) state_ = &look_();
    return *state_;
  }
  void look_with(std::function<ClassState&()> look) { look_ = std::move(look); }

  /// What the plugin keeps; nullptr: nothing.
  PodState* kept(PluginIndex plugin) const {
    for (const auto& [index, state_of] : kept_)
      if (index == plugin) return state_of.get();
    return nullptr;
  }
  void keep(PluginIndex plugin, std::unique_ptr<PodState> made) {
    for (auto& [index, state_of] : kept_)
      if (index == plugin) return state_of.swap(made);
    kept_.emplace_back(plugin, std::move(made));
  }

 private:
  std::vector<std::pair<PluginIndex, std::unique_ptr<PodState>>> kept_;
  std::function<ClassState&()> look_;
  mutable ClassState* state_ = nullptr;
};

struct PostFilterResult {
  /// success: it did something that may make room; unresolvable: nobody else need be asked; error. The
  /// message ends that of the attempt.
  Status status;
  /// The node that is to be made free for the pod; the empty one: the pod's nomination is taken back.
  /// Absent: it stays as it is.
  std::optional<Symbol> nominate = {};
  Preemption preemption = {};
};

/// Asked in turn when no node will do, until one has an answer.
class PostFilterPlugin {
 public:
  virtual ~PostFilterPlugin() = default;
  virtual PostFilterResult post_filter(PodAttempt& attempt, const Diagnosis& diagnosis) = 0;
  /// All of the pod's victims were asked to go; false: not all of them could be. If the pod is to be tried
  /// again because of it, the plugin activates it.
  virtual void preempted(const api::Pod& /*pod*/, bool /*all*/) {}
};

/// Takes what the plugin itself keeps account of. The pod counts on the row already.
class ReservePlugin {
 public:
  virtual ~ReservePlugin() = default;
  virtual Status reserve(PodAttempt& attempt) = 0;
  /// Undoes it, in the reverse order of the plugins, whatever failed since. Also asked of a plugin whose
  /// reserve() failed or was not reached.
  virtual void unreserve(PodAttempt& attempt) = 0;
};

/// Who follows up few pods: after the choice of a node a pod that concerns none of those who would be asked
/// is bound without more ado. Of the others they are asked all the same.
class FewPodsPlugin {
 public:
  virtual ~FewPodsPlugin() = default;
  /// Asked of each pod whose node is chosen; it costs next to nothing.
  virtual bool follows_up(const PodInfo& pod) const = 0;
};

/// Marks what in kube-scheduler keeps account of pods in Reserve, and here is a ClusterObserver: a
/// configuration may name it there, and nobody asks it.
class ReservedByRowPlugin {
 public:
  virtual ~ReservedByRowPlugin() = default;
};

/// May let a pod wait, assumed on its node, before it is bound.
class PermitPlugin {
 public:
  /// As in kube-scheduler, unless a plugin says that it means more.
  static constexpr nanoseconds kMaxWait = std::chrono::minutes(15);
  struct Answer {
    Status status;             // success, wait (those of one key wait as a group), rejected or error
    nanoseconds timeout{};     // of a wait: it ends in a rejection
    bool may_be_long = false;  // longer than kMaxWait
  };
  virtual ~PermitPlugin() = default;
  virtual Answer permit(PodAttempt& attempt) = 0;
};

/// What a plugin has to do at the API server before the binding, or as the binding: made on the engine's
/// thread, run and destroyed on the event loop's.
class PreBindWork {
 public:
  struct Context {
    kube::Client& client;
    Clock& clock;
    /// False while another process may hold the lease: nothing may be written then.
    std::function<bool()> may_write;
    std::shared_ptr<const api::Pod> pod;
    Symbol node;
    /// What the API server has told by now of a node, a pod, or an object of a kind that plugins watch;
    /// nullptr: there is none. `ns` is empty for kinds without a namespace.
    std::function<kube::Object(const kube::ObjectType&, std::string_view ns, std::string_view name)> find;
  };
  virtual ~PreBindWork() = default;
  /// May take as long as it wants; cancelled when the role stops. If it fails, everything is unreserved.
  virtual Task<Status> run(const Context& context) = 0;
};
using BindWork = PreBindWork;

class PreBindPlugin {
 public:
  virtual ~PreBindPlugin() = default;
  /// When all plugins have permitted the pod, after its wait, if any. nullptr: there is nothing to do
  /// (kube-scheduler's PreBindPreFlight). May be run long after, or never.
  virtual std::shared_ptr<PreBindWork> pre_bind(PodAttempt& attempt) = 0;
  /// At the same time: what it writes into the pod. All of it is one patch, after the work of all plugins; in
  /// a profile without a PodPatchPlugin it is not written.
  virtual void change_pod(PodAttempt& /*attempt*/, PodChanges& /*changes*/) {}
};

/// PreBindPlugin of what is placed and is no pod (Koordinator's PreBindReservation): about placeholders these
/// are asked, of plugins that are enabled at preBind, and no PreBindPlugin is.
class PreBindReservationPlugin {
 public:
  virtual ~PreBindReservationPlugin() = default;
  virtual std::shared_ptr<PreBindWork> pre_bind_reservation(PodAttempt& /*attempt*/) { return nullptr; }
  /// What it writes into the object.
  virtual void change_reservation(PodAttempt& /*attempt*/, PodChanges& /*changes*/) {}
};

/// Marks the plugin that writes what others change of the pod (Koordinator's ApplyPatch); the writing itself
/// is the writer's.
class PodPatchPlugin {
 public:
  virtual ~PodPatchPlugin() = default;
};

/// Binds pods. The first plugin of the profile that binds a pod does; without one its binding fails.
class BindPlugin {
 public:
  virtual ~BindPlugin() = default;
  /// No: the next one is asked (kube-scheduler's Skip).
  virtual bool binds(const PodInfo& pod) const = 0;
  /// When all plugins have permitted a pod that it binds. nullptr: the writer binds it, by POST to its
  /// binding subresource, which placeholders have not.
  virtual std::shared_ptr<BindWork> bind(PodAttempt& /*attempt*/) { return nullptr; }
};

/// Told that the pod is bound.
class PostBindPlugin {
 public:
  virtual ~PostBindPlugin() = default;
  virtual void post_bind(PodAttempt& attempt) = 0;
};

/// What plugins may do to pods that are not the one they are asked about. On the engine's thread only; it
/// takes effect when the present piece of work is done.
class CycleControl {
 public:
  virtual ~CycleControl() = default;
  /// Pods that wait for a permit are named by their uid. False: it does not wait.
  virtual bool is_waiting(std::string_view uid) const = 0;
  /// The plugin does not let it wait any longer. When all have allowed it, it is bound.
  virtual void allow(std::string_view uid, PluginIndex plugin) = 0;
  /// It is not bound, on the plugin's account. False: it does not wait.
  virtual bool reject(std::string_view uid, PluginIndex plugin, std::string_view message,
                      Nomination nomination) = 0;
  bool reject(std::string_view uid, PluginIndex plugin, std::string_view message) {
    return reject(uid, plugin, message, Nomination::clear);
  }
  /// In the order in which they came.
  virtual void each_waiting(const std::function<void(const PodAttempt&)>& visit) const = 0;

  // Those that a plugin lets wait with this key, of all profiles. What it costs follows from their number.
  virtual std::size_t waiting(const RejectorKey& key) const = 0;
  virtual void each_waiting(const RejectorKey& key,
                            const std::function<void(const PodAttempt&)>& visit) const = 0;
  /// allow() of all of them. How many there were.
  virtual std::size_t allow_all(const RejectorKey& key) = 0;
  virtual std::size_t reject_all(const RejectorKey& key, std::string_view message, Nomination nomination) = 0;
  std::size_t reject_all(const RejectorKey& key, std::string_view message) {
    return reject_all(key, message, Nomination::clear);
  }

  /// Something of the plugin's has changed: pods that it rejected with this key (with an empty one: all that
  /// it rejected) and without one hear of an event of the kind plugin_told. `label` is what it is counted as;
  /// lives forever. Told more than once in the same piece of work it happened once. Not from within
  /// worth_retrying(): that would be asked again for ever.
  virtual void happened(const RejectorKey& key, std::string_view label) = 0;
  /// While plugins unreserve what they reserved in the same piece of work, for a group that is not placed:
  /// nobody was refused in between but the group, and there is no more room than before. Who told of it would
  /// have the group asked again, for ever.
  virtual bool takes_back() const = 0;
  /// `change` changes what a QueueSortPlugin reads of these pods: each that is queued gets its new place. At
  /// once; not from within the QueueSortPlugin.
  virtual void resort(std::span<const std::shared_ptr<const api::Pod>> pods,
                      const std::function<void()>& change) = 0;
  /// The pod is tried as soon as possible, backoff or not, if its PreEnqueue plugins let it. What is being
  /// tried or waits for a permit is tried again as soon as it fails.
  virtual void activate(const api::Pod& pod) = 0;
  /// Where a pod stands; absent: it is not known here. While a PreEnqueuePlugin is asked
  /// about a pod, that pod is where it was before.
  struct Queued {
    Place place;
    std::uint32_t attempts;  // begun
    MonoTime timestamp;      // when it arrived or failed last
  };
  virtual std::optional<Queued> queued(const api::Pod& pod) const = 0;
  /// An unschedulable pod is tried again without an event, but not before the backoff of its last attempt is
  /// over, however little else there is to do.
  virtual void back_off(const api::Pod& pod) = 0;
};

}  // namespace koord::scheduling
