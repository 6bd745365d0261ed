// Engine: the scheduler without an API server: changes of objects in, decisions out.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "koord/base/clock.hpp"
#include "koord/scheduling/classes/class_table.hpp"
#include "koord/scheduling/classes/cycle_hooks.hpp"
#include "koord/scheduling/classes/random.hpp"
#include "koord/scheduling/cluster/node_table.hpp"
#include "koord/scheduling/cluster/nominator.hpp"
#include "koord/scheduling/cluster/transforms.hpp"
#include "koord/scheduling/config/extender_interest.hpp"
#include "koord/scheduling/config/profile.hpp"
#include "koord/scheduling/engine/cycle_watch.hpp"
#include "koord/scheduling/engine/decision.hpp"
#include "koord/scheduling/engine/details.hpp"
#include "koord/scheduling/engine/durations.hpp"
#include "koord/scheduling/engine/permit_waits.hpp"
#include "koord/scheduling/plugin/cycle_plugin.hpp"
#include "koord/scheduling/plugin/extender_talk.hpp"
#include "koord/scheduling/plugin/placed_kind.hpp"
#include "koord/scheduling/queue/queue.hpp"
#include "koord/scheduling/queue/queued_pod.hpp"

namespace koord::scheduling {

class EveryPodPlugin;
class ForgetPlugin;

/// With fewer nodes than this all are looked at, and never fewer feasible ones are looked for.
constexpr std::uint32_t kMinFeasible = 100;

struct EngineOptions {
  QueueOptions queue;
  std::uint64_t seed = 1;
  ClassMemory class_memory;
  /// See NodeTable::keep_log().
  std::size_t min_log = 1024;
  /// A pod whose binding has to wait for something has its node written down as its nominated one before
  /// (the gate NominatedNodeNameForExpectation).
  bool nominate_expected = true;
  /// Pods that other schedulers have nominated to a node keep their room there from those of a lower priority
  /// (the gate CrossSchedulerNomination).
  bool foreign_nominations = false;
  ExtenderInterest extenders = {};
};

/// Belongs to one thread; makes no calls to anything but its clock (now and mono) and its plugins. The same
/// changes in the same order at the same times with the same seed give the same decisions.
class Engine final : public CycleControl, private CycleHooks {
 public:
  /// At least one profile; their plugins were made with this engine's context(), with an index of their own.
  Engine(Clock& clock, EngineOptions options);
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  PluginContext context() {
    return {nodes_,  verdicts_, topology_,  selectors_, objects_, shared_,
            placed_, *this,     nominator_, clock_,     0};
  }
  /// Once, before anything else.
  void set_profiles(std::vector<Profile> profiles);
  /// What nodes and pods go through before all else; absent: nothing. Before the first of them.
  void set_transforms(Transforms transforms) { transforms_ = std::move(transforms); }

  void put_node(std::shared_ptr<const api::Node> node);
  void remove_node(std::string_view name);
  /// Added or changed. Pods of other schedulers count once they are bound.
  void put_pod(std::shared_ptr<const api::Pod> pod);
  void remove_pod(const api::Pod& pod);
  /// Another object was added or changed, or is gone. What no plugin watches is passed over.
  template <class T>
  void put_object(std::shared_ptr<const T> object) {
    change_object(kube::kObjectType<T>, std::move(object), false);
  }
  template <class T>
  void remove_object(std::shared_ptr<const T> last) {
    change_object(kube::kObjectType<T>, std::move(last), true);
  }
  void change_object(const kube::ObjectType& type, kube::Object object, bool gone);
  /// To a decision that asks the extenders.
  void answered(const api::Pod& pod, std::shared_ptr<const ExtenderAnswer> answer);
  /// The binding of an assumed pod failed: what it took is free again, and it is tried again after a
  /// backoff, unless it is bound, gone or another scheduler's by now. If it is on the node that was chosen
  /// for it, the binding is there after all. True: it was put back.
  bool binding_failed(const api::Pod& pod);
  /// It is bound; of decisions that ask for it (Decision::tells_end).
  void binding_succeeded(const api::Pod& pod);
  /// The victims of a decision were asked to go; false: not all of them could be.
  void preempted(const api::Pod& pod, bool all);

  // CycleControl
  bool is_waiting(std::string_view uid) const override { return waits_.has(uid); }
  void allow(std::string_view uid, PluginIndex plugin) override { waits_.allow(uid, plugin); }
  using CycleControl::reject;
  using CycleControl::reject_all;
  bool reject(std::string_view uid, PluginIndex plugin, std::string_view message,
              Nomination nomination) override {
    return waits_.reject(uid, plugin, message, nomination);
  }
  void each_waiting(const std::function<void(const PodAttempt&)>& visit) const override;
  std::size_t waiting(const RejectorKey& key) const override { return waits_.size(key); }
  void each_waiting(const RejectorKey& key,
                    const std::function<void(const PodAttempt&)>& visit) const override;
  std::size_t allow_all(const RejectorKey& key) override { return waits_.allow_all(key); }
  std::size_t reject_all(const RejectorKey& key, std::string_view message, Nomination nomination) override {
    return waits_.reject_all(key, message, nomination);
  }
  void happened(const RejectorKey& key, std::string_view label) override;
  bool takes_back() const override { return takes_back_; }
  void resort(std::span<const std::shared_ptr<const api::Pod>> pods,
              const std::function<void()>& change) override;
  std::optional<Queued> queued(const api::Pod& pod) const override;
  void activate(const api::Pod& pod) override;
  void back_off(const api::Pod& pod) override;

  /// Tries up to `max` pods, or ends waits that are over, and appends a decision for each; fewer: there is
  /// nothing to do now.
  std::size_t schedule(std::size_t max, std::vector<Decision>& out);
  /// Tries this pod now, whatever comes before it in the queue and whatever keeps it out of it, with those
  /// that are placed together with it: of its decisions the pod's own is the first. None: it does not wait.
  /// For those who ask what would become of it.
  std::vector<Decision> try_now(const api::Pod& pod);
  /// When schedule() may have work again without a change; absent: not at all.
  std::optional<MonoTime> next_wakeup() const;

  QueueSizes queue_sizes() const;
  const Queue::Incoming& incoming() const;
  const Queue::Rejections& rejections() const;
  /// How long the hints of plugins took (plugin, event, hint), and the handling of changes (event), since it
  /// was asked last.
  Durations::Taken take_hints() { return hints_.take(); }
  Durations::Taken take_handled() { return handled_.take(); }
  /// How long the plugins of an extension point took where they are asked after the choice (point, status,
  /// profile), and waits for permits (result).
  Durations::Taken take_points() { return points_.take(); }
  /// How long a plugin took at one of Koordinator's points (plugin, point, status).
  Durations::Taken take_plugins() { return plugin_times_.take(); }
  Durations::Taken take_permits() { return permits_.take(); }
  const std::vector<Profile>& profiles() const { return profiles_; }
  const NodeTable& nodes() const { return nodes_; }
  const ObjectStores& objects() const { return objects_; }
  /// What is placed beside pods; constant once the profiles are set, for any thread.
  const PlacedKinds& placed() const { return placed_; }
  std::size_t pods() const { return pods_.size(); }
  std::size_t assumed() const { return assumed_; }
  /// Those of them that wait for a permit.
  std::size_t waiting() const { return waits_.size(); }
  const Nominator& nominator() const { return nominator_; }
  const ClassTable& classes() const { return classes_; }
  /// What it is at; any thread may look.
  const CycleWatch& watch() const { return watch_; }
  /// What is told of attempts.
  Details& details() { return details_; }
  /// What a pod of this kind would get on each node now, until the next call or decision; for tests and
  /// debugging. `rows`: see ClassState::update().
  ClassState& evaluate(const Profile& profile, std::shared_ptr<const api::Pod> pod,
                       ClassState::Rows rows = ClassState::Rows::all);
  /// Whether an AdmitPlugin would refuse such a pod now, whatever evaluate() says. Absent: none.
  std::optional<Diagnosis> refusal(const Profile& profile, std::shared_ptr<const api::Pod> pod);

 private:
  using Pods = std::unordered_map<std::string, std::unique_ptr<QueuedPod>>;

  class Handling;
  // The cycle (cycle.cpp)
  Decision attempt(QueuedPod& pod);
  void take(QueuedPod& pod, Row row, Decision& d);
  Row choose(QueuedPod& pod, Decision& d);
  Row pick(const QueuedPod& pod, ClassState& state);
  void begin_attempt(QueuedPod& pod, ClassState& state);
  std::vector<Row> first_rows(const QueuedPod& pod);
  // The extenders' part of it (cycle_extenders.cpp)
  Row choose_with_extenders(QueuedPod& pod, Decision& d, ClassState& state);
  bool talks(const QueuedPod& pod) const;
  void blame_extenders(QueuedPod& pod, Diagnosis& diagnosis, ClassState& state);
  void ask(QueuedPod& pod, Decision& d, std::shared_ptr<const ExtenderQuestion> question);
  QueuedPod* resume();
  void stop_asking(QueuedPod& pod);
  // Koordinator's points (koordinator_points.cpp)
  QueuedPod* next();
  Status transform(const Profile& profile, const PodInfo& pod, PluginIndex& by);
  ClassState& state_of(const Profile& profile, PodClass* cls, const PodInfo& pod);
  void forget_transformed();
  Narrowed prepared(const Profile& profile, const PodInfo& pod) override;
  void saw_deltas(const Profile& profile, PluginIndex plugin, nanoseconds took) override;
  Status before_score(const QueuedPod& pod, ClassState& state);
  Status after_choice(QueuedPod& pod, Row row);
  void after_post_filter(const PodAttempt& attempt, const Diagnosis& diagnosis, const Status& said);
  void take_again(QueuedPod& pod);
  void tell_forgotten(const QueuedPod& pod, const Symbol& node);
  void follow_foreign(const std::shared_ptr<const api::Pod>& pod);
  void drop_foreign(std::string_view uid);
  void failed(QueuedPod& pod, Decision& d, std::string message);
  void took(const Profile& profile, PluginIndex plugin, std::string_view point, std::string_view status,
            nanoseconds time);
  // Before any node is looked at (admission.cpp)
  struct Refusal {
    PluginIndex by;
    Status status;  // of an error with the whole message
  };
  std::optional<Refusal> first_refusal(const Profile& profile, const PodInfo& pod);
  Diagnosis diagnosis(const Refusal& refusal) const;
  bool admitted(QueuedPod& pod, Decision& d);
  bool refused_as_before(QueuedPod& pod);
  void note_in_vain(QueuedPod& pod, const Decision& d, PluginIndex by, const Symbol& key);
  void tell_raised();
  void no_node(QueuedPod& pod, Decision& d, ClassState& state, MonoTime now);
  void refused(QueuedPod& pod, Decision& d, Diagnosis diagnosis, std::function<ClassState&()> look);
  void assume(QueuedPod& pod, Row row, Decision& d);
  void follow_up(QueuedPod& pod, Decision& d);
  std::optional<Refusal> reserve(QueuedPod& pod);
  void permit(QueuedPod& pod, Decision& d);
  void prepare_binding(QueuedPod& pod, Decision& d);
  void fail(QueuedPod& pod, Decision& d, PluginIndex by, std::string_view point, Status status);
  Decision end_wait(PermitWaits::Outcome outcome);
  void unreserve(QueuedPod& pod);
  void requeue(QueuedPod& pod, const std::optional<Symbol>& nominated);
  Hint meanwhile(const QueuedPod& pod, std::uint64_t from);
  void timed(std::string_view point, StatusCode code, const Profile& profile, MonoTime since);
  // Pods that are placed together (group_trial.cpp)
  friend class GroupTrial;
  bool attempt_group(QueuedPod& pod, std::vector<Decision>& out);
  struct RefusedMember;
  Decision refuse_member(const RefusedMember& refused, std::optional<PostFilterResult> answer,
                         const QueuedPod& leader, PluginIndex by, MonoTime start);
  void nominate_others(const Preemption& preemption);

  PluginIndex gate_of(const QueuedPod& pod) const;
  /// Of the plugin that keeps it out.
  static const PreEnqueuePlugin& gate(const QueuedPod& pod, PluginIndex by);
  static Symbol key_of_gate(const QueuedPod& pod, PluginIndex by) {
    return gate(pod, by).kept_out_by(pod.info);
  }
  void kept_out(QueuedPod& pod, PluginIndex by);
  bool tell_kept_out(std::vector<Decision>& out);
  std::string_view take_pod(std::shared_ptr<const api::Pod> pod);
  void take_placed(const PlacedKind& kind, const kube::Object& before, const kube::Object& now);
  std::string_view add_pod(std::shared_ptr<const api::Pod> pod);
  void update_queued(QueuedPod& pod, std::shared_ptr<const api::Pod> now);
  void settle(QueuedPod& pod, std::shared_ptr<const api::Pod> now);
  void leave_node(QueuedPod& pod);
  void forget(QueuedPod& pod);
  void erase(Pods::iterator it);
  QueuedPod* find(const api::Pod& pod);
  void nominate(QueuedPod& pod, const Symbol& node);
  void nominate_again(QueuedPod& pod, const std::shared_ptr<const api::Pod>& before);
  void left(const std::shared_ptr<const api::Pod>& pod, const Symbol& node,
            std::int32_t most = std::numeric_limits<std::int32_t>::max());
  void move(const ClusterEvent& event, const std::shared_ptr<const void>& before = nullptr,
            const std::shared_ptr<const void>& now = nullptr);
  Hint hint(const QueuedPod& pod, const ClusterEvent& event);
  const Profile* profile_of(const api::Pod& pod) const;
  void pass_time();
  void read_anew(QueuedPod& pod);
  void forget_resources();

  Clock& clock_;
  EngineOptions options_;
  PodSelectors selectors_;
  NodeTable nodes_;
  VerdictTable verdicts_;
  TopologyTable topology_;
  ObjectStores objects_;
  SharedParts shared_;
  PlacedKinds placed_;
  ClassTable classes_;
  std::vector<Profile> profiles_;
  std::optional<Transforms> transforms_;
  std::optional<Queue> queue_;
  Nominator nominator_{nodes_};
  PermitWaits waits_;
  EventLog meanwhile_;  // while pods wait
  EventMask followed_;  // the events that are logged
  /// What plugins told in the present piece of work, in that order; each once.
  std::vector<std::pair<RejectorKey, std::string_view>> raised_;
  std::unordered_set<RejectorKey, RejectorKeyHash> raised_keys_;
  /// Keys that have refused pods since their last event, each with a number that it has had at no other time.
  std::unordered_map<RejectorKey, std::uint64_t, RejectorKeyHash> refusing_;
  std::uint64_t refusals_ = 0;
  bool takes_back_ = false;  // a group that found no room
  EventMask admit_events_;   // that may concern who is refused before any node is looked at
  // Of all profiles.
  std::vector<TimedPlugin*> timed_;
  std::vector<ForgetPlugin*> forgetting_;
  std::vector<EveryPodPlugin*> every_pod_;
  /// Of each plugin by its name one instance. None: the queue alone says which pod is next.
  std::vector<std::pair<std::string_view, NextPodPlugin*>> next_pods_;
  Pods pods_;
  /// Gone, with a binding on its way whose end has to be told to plugins; by uid.
  std::unordered_map<std::string, std::unique_ptr<QueuedPod>> gone_;
  // Those that ask: whose answer is there, who waits for his, and who for another one's.
  std::deque<QueuedPod*> answered_, unasked_;
  std::size_t asked_ = 0;
  std::uint64_t events_ = 0;                              // that may have made a pod worth another attempt
  std::vector<Row> hopeless_;                             // of the present attempt
  std::deque<std::shared_ptr<const api::Pod>> kept_out_;  // to be told
  Random random_;
  Row start_ = 0;  // where the next search begins, when not all nodes are looked at
  std::uint64_t arrivals_ = 0;
  std::size_t assumed_ = 0;
  PodInfo evaluated_;
  /// The pod that is asked about in place of the one that is tried, and its class; nullptr: that one itself.
  std::shared_ptr<const PodInfo> transformed_;
  PodClass* transformed_class_ = nullptr;
  /// Nominated by other schedulers, by uid.
  std::unordered_map<std::string, std::unique_ptr<PodInfo>> foreign_;
  Details details_{clock_, nodes_, verdicts_};
  CycleWatch watch_;
  Durations hints_{kHintBounds}, handled_{kEventBounds}, points_{kPointBounds}, permits_{kPermitBounds},
      plugin_times_{kHintBounds};
};

}  // namespace koord::scheduling
