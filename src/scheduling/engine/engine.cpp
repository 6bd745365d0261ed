// Engine: see engine.hpp.
#include "koord/scheduling/engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"
#include "koord/scheduling/plugin/lifecycle_plugin.hpp"

namespace koord::scheduling {

namespace {

constexpr std::string_view kPodAdd = "UnschedulablePodAdd";
/// A pod that is kept out of the queue hears so again after this long: events do not last.
constexpr nanoseconds kTellAgain = std::chrono::minutes(5);

bool lessened(const Requests& before, const Requests& after) {
  if (before.cpu > after.cpu || before.memory > after.memory || before.storage > after.storage) return true;
  return std::any_of(before.scalars.begin(), before.scalars.end(),
                     [&](const Amount& a) { return a.amount > after[a.resource]; });
}

/// Whether what the scheduler reads of others' pods is another now.
bool reads_otherwise(const api::Pod& a, const api::Pod& b) {
  return !(a.metadata.labels == b.metadata.labels && a.spec.affinity == b.spec.affinity &&
           a.metadata.deletion_timestamp.has_value() == b.metadata.deletion_timestamp.has_value());
}

/// Whether what the scheduler reads of a pod is another now.
bool differs(const api::Pod& a, const api::Pod& b) {
  return !(a.spec == b.spec && a.metadata.labels == b.metadata.labels &&
           a.metadata.annotations == b.metadata.annotations &&
           a.status.resource_claim_statuses == b.status.resource_claim_statuses);
}

/// Whether what others are told of a pod on a row is another now.
bool counts_otherwise(const PodInfo& a, const PodInfo& b) {
  return !(a.requests == b.requests && a.ports == b.ports && a.priority == b.priority) ||
         reads_otherwise(*a.pod, *b.pod);
}

/// As events tell of pods on nodes: of one that is assumed there, or nominated, its object does not say so.
std::shared_ptr<const api::Pod> on_node(std::shared_ptr<const api::Pod> pod, const Symbol& node) {
  if (pod->spec.node_name == node) return pod;
  auto copy = std::make_shared<api::Pod>(*pod);
  copy->spec.node_name = node;
  return copy;
}

}  // namespace

/// Counts how long a change was handled, under the name that it turns out to have.
class Engine::Handling {
 public:
  Handling(Engine& engine, std::string_view name)
      : engine_(engine), name_(name), began_(engine.clock_.mono()) {}
  Handling(const Handling&) = delete;
  Handling& operator=(const Handling&) = delete;
  ~Handling() {
    engine_.tell_raised();
    engine_.handled_.observe({name_}, engine_.clock_.mono() - began_);
  }
  void is(std::string_view name) { name_ = name; }

 private:
  Engine& engine_;
  std::string_view name_;
  MonoTime began_;
};

Engine::Engine(Clock& clock, EngineOptions options)
    : clock_(clock),
      options_(options),
      topology_(nodes_),
      classes_(nodes_, verdicts_, options.class_memory),
      random_(options.seed) {
  classes_.measure(clock_);
  classes_.yield_to(nominator_);
  classes_.ask(*this);
  nodes_.keep_log(options.min_log);
  nodes_.observe(topology_);
  nodes_.observe(selectors_);
}

Engine::~Engine() = default;

void Engine::set_profiles(std::vector<Profile> profiles) {
  profiles_ = std::move(profiles);
  queue_.emplace(options_.queue, *profiles_.front().queue_sort.front().plugin, [this](QueuedPod& pod) {
    const PluginIndex by = gate_of(pod);
    if (by == kNoPlugin) return by;
    pod.rejector_key = key_of_gate(pod, by);
    kept_out(pod, by);
    return by;
  });
  // Who lets pods wait may reject them, and so may who preempts.
  for (const Profile& p : profiles_)
    for (const auto& e : p.events) {
      const auto is = [&](const auto& registered) { return registered.index == e.index; };
      if (std::any_of(p.permits.begin(), p.permits.end(), is) ||
          std::any_of(p.post_filters.begin(), p.post_filters.end(), is))
        followed_ |= e.plugin->events();
    }
  for (const Profile& p : profiles_)
    for (const auto& e : p.events)
      if (std::ranges::any_of(p.admits, [&](const auto& a) { return a.index == e.index; }))
        admit_events_ |= e.plugin->events();
  for (const Profile& p : profiles_) {
    timed_.insert(timed_.end(), p.timed.begin(), p.timed.end());
    for (const Profile::Named& named : p.plugins) {
      if (auto* told = dynamic_cast<ForgetPlugin*>(named.plugin.get())) forgetting_.push_back(told);
      if (auto* told = dynamic_cast<EveryPodPlugin*>(named.plugin.get())) every_pod_.push_back(told);
      auto* next = dynamic_cast<NextPodPlugin*>(named.plugin.get());
      const auto is = [&](const auto& known) { return known.first == named.name; };
      if (next != nullptr && std::ranges::none_of(next_pods_, is)) next_pods_.emplace_back(named.name, next);
    }
  }
}

const Profile* Engine::profile_of(const api::Pod& pod) const {
  for (const Profile& p : profiles_)
    if (pod.spec.scheduler_name == p.scheduler_name) return &p;
  return nullptr;
}

/// Its requests and its class, of the object that it is now.
void Engine::read_anew(QueuedPod& pod) {
  Slots kept = std::move(pod.info.kept);
  pod.info = make_pod_info(std::move(pod.info.pod), nodes_.resources());
  pod.info.kept = std::move(kept);
  nominator_.changed(pod.info);
  pod.outdated = false;
  PodClass* old = pod.cls;
  queue_->set_class(pod, classes_.acquire(*pod.profile, pod.info));
  if (old != nullptr) classes_.release(*old);
}

/// Where many names of resources have come up, those that no node and no pod has any more are given back. The
/// work is less than that of the pods that brought them.
void Engine::forget_resources() {
  if (!nodes_.resources().crowded()) return;
  std::vector<bool> used(nodes_.resources().size());
  const auto mark = [&](const PodInfo& pod) {
    for (const Amount& a : pod.requests.scalars) used[a.resource] = true;
  };
  for (const auto& [key, pod] : pods_) mark(pod->info);
  for (const auto& [uid, pod] : foreign_) mark(*pod);
  classes_.each_sample(mark);
  nodes_.forget_resources(std::move(used), (pods_.size() + classes_.size()) / 8);
}

// Nodes

void Engine::put_node(std::shared_ptr<const api::Node> node) {
  Handling handling(*this, "NodeUpdate");
  forget_resources();
  if (transforms_) node = transforms_->node(std::move(node));
  Row row = nodes_.row_of(Symbol(node->metadata.name));
  std::shared_ptr<const api::Node> old = nodes_.node(row);
  const api::Node* now = node.get();
  if (!nodes_.set_node(row, std::move(node))) return;
  const std::shared_ptr<const api::Node>& kept = nodes_.node(row);
  if (!old) {
    handling.is("NodeAdd");
    nominator_.node_came(nodes_.name(row));
    return move({.kind = EventKind::node_add, .new_node = now}, nullptr, kept);
  }
  auto changed = [&](EventKind kind) {
    move({.kind = kind, .old_node = old.get(), .new_node = now}, old, kept);
  };
  bool schedulable_again = old->spec.unschedulable && !now->spec.unschedulable;
  if (old->status.allocatable != now->status.allocatable) changed(EventKind::node_allocatable);
  if (old->metadata.labels != now->metadata.labels) changed(EventKind::node_label);
  if (schedulable_again || old->spec.taints != now->spec.taints) changed(EventKind::node_taint);
  if (old->metadata.annotations != now->metadata.annotations) changed(EventKind::node_annotation);
}

void Engine::remove_node(std::string_view name) {
  const Handling handling(*this, "NodeDelete");
  Row row = nodes_.find(name);
  if (row == kNoRow || !nodes_.node(row)) return;
  const std::shared_ptr<const api::Node> old = nodes_.node(row);
  if (transforms_) transforms_->gone(old->metadata);
  nominator_.node_went(nodes_.name(row));
  nodes_.set_node(row, nullptr);
  move({.kind = EventKind::node_delete, .old_node = old.get()}, old);
}

// Pods

void Engine::put_pod(std::shared_ptr<const api::Pod> pod) {
  Handling handling(*this, kPodAdd);
  handling.is(take_pod(std::move(pod)));
}

/// What that is called.
std::string_view Engine::take_pod(std::shared_ptr<const api::Pod> pod) {
  forget_resources();
  if (transforms_) pod = transforms_->pod(std::move(pod));
  if (options_.foreign_nominations) follow_foreign(pod);
  for (EveryPodPlugin* plugin : every_pod_)
    if (!is_placeholder(*pod) || plugin->counts_placeholders())
      is_finished(*pod) ? plugin->pod_left(*pod) : plugin->pod_seen(pod);
  std::string key = pod_key(*pod);
  auto it = pods_.find(key);
  if (it != pods_.end() && it->second->info.pod->metadata.uid != pod->metadata.uid) {
    // Deleted and made again under its name.
    erase(it);
    it = pods_.end();
  }
  if (it != pods_.end() && pod->spec.node_name.empty() && it->second->place != Place::bound &&
      it->second->place != Place::assumed && it->second->profile != profile_of(*pod)) {
    // A label of the pod has given it to another scheduler, or to another profile. A binding that is on its
    // way ends first: there are never two.
    erase(it);
    it = pods_.end();
  }
  if (is_finished(*pod)) {
    if (it != pods_.end()) erase(it);
    return "AssignedPodDelete";
  }
  if (it == pods_.end()) return add_pod(std::move(pod));
  QueuedPod& known = *it->second;
  if (!pod->spec.node_name.empty()) {
    const bool bound = known.place == Place::bound;
    settle(known, std::move(pod));
    return bound ? "AssignedPodUpdate" : "AssignedPodAdd";
  }
  update_queued(known, std::move(pod));
  return "UnschedulablePodUpdate";
}

/// One that is not known. What that is called.
std::string_view Engine::add_pod(std::shared_ptr<const api::Pod> pod) {
  const Profile* profile = profile_of(*pod);
  if (profile == nullptr && pod->spec.node_name.empty()) return kPodAdd;
  auto entry = std::make_unique<QueuedPod>();
  entry->key = pod_key(*pod);
  entry->profile = profile;
  entry->order = ++arrivals_;
  entry->info.pod = pod;
  QueuedPod& added = *entry;
  pods_.emplace(added.key, std::move(entry));
  if (!pod->spec.node_name.empty()) {
    settle(added, std::move(pod));
    return "AssignedPodAdd";
  }
  added.priority = pod->spec.priority.value_or(0);
  added.timestamp = clock_.mono();
  read_anew(added);
  queue_->add(added, clock_.mono(), kPodAdd);
  // Kept out or not: members of a gang for which victims go wait for one of them, also after a restart.
  nominator_.nominate(added.info, added.info.pod->status.nominated_node_name);
  return kPodAdd;
}

/// The API server says on which node the pod is.
void Engine::settle(QueuedPod& pod, std::shared_ptr<const api::Pod> now) {
  queue_->remove(pod);
  stop_asking(pod);
  const Symbol nominated = nominator_.node_of(pod.info);
  nominator_.nominate(pod.info, {});
  if (pod.place == Place::assumed || pod.place == Place::waiting) --assumed_;
  if (pod.place == Place::waiting) {
    // Somebody else bound it.
    waits_.remove(pod);
    unreserve(pod);
  }
  PodInfo info = make_pod_info(std::move(now), nodes_.resources());
  Row row = nodes_.row_of(info.pod->spec.node_name);
  // Of a pod that was not on the node so far, only what becomes of it counts.
  const std::shared_ptr<const api::Pod> before = pod.place == Place::bound ? pod.info.pod : nullptr;
  const bool shrunk = before && lessened(pod.info.requests, info.requests);
  const auto becomes = [&] {
    info.kept = std::move(pod.info.kept);
    pod.info = std::move(info);
  };
  if (pod.row != row) {
    if (pod.row != kNoRow) nodes_.remove_pod(pod.row, pod.info);
    becomes();
    nodes_.add_pod(pod.row = row, pod.info);
  } else if (counts_otherwise(pod.info, info)) {
    nodes_.replace_pod(row, pod.info, becomes);
  } else {
    info.place = pod.info.place;
    info.labels = std::move(pod.info.labels);
    info.read = std::move(pod.info.read);
    info.kept = std::move(pod.info.kept);
    if (pod.info.pod->status.start_time != info.pod->status.start_time) nodes_.touch(row);
    pod.info = std::move(info);
    nodes_.change_pod(row, pod.info);
  }
  pod.place = Place::bound;
  pod.resized = false;
  if (pod.attempt) pod.attempt->row = pod.attempt->node == nodes_.name(pod.row) ? pod.row : kNoRow;
  if (pod.cls != nullptr) {
    classes_.release(*pod.cls);
    pod.cls = nullptr;
  }
  const std::shared_ptr<const api::Pod> after = pod.info.pod;
  if (!nominated.empty() && nominated != nodes_.name(pod.row)) left(after, nominated, pod.priority);
  const auto happened = [&](EventKind kind) {
    move({.kind = kind, .old_pod = before.get(), .new_pod = after.get()}, before, after);
  };
  if (!before) return happened(EventKind::assigned_pod_add);
  const bool relabelled = before->metadata.labels != after->metadata.labels;
  if (relabelled) happened(EventKind::assigned_pod_label);
  const bool ends = after->metadata.deletion_timestamp && !before->metadata.deletion_timestamp;
  if (shrunk) happened(EventKind::assigned_pod_scale_down);
  if (ends) happened(EventKind::assigned_pod_ends);
  if (!relabelled && !shrunk && !ends) happened(EventKind::assigned_pod_update);
}

void Engine::update_queued(QueuedPod& pod, std::shared_ptr<const api::Pod> now) {
  if (pod.profile == nullptr || pod.place == Place::bound) return;
  const bool assumed = pod.place == Place::assumed || pod.place == Place::waiting;
  const bool told = assumed && reads_otherwise(*pod.info.pod, *now);
  std::shared_ptr<const api::Pod> old = pod.info.pod;
  if (told) {
    nodes_.replace_pod(pod.row, pod.info, [&] {
      pod.info.pod = now;
      pod.info.labels = {};
      pod.info.read = {};
    });
  } else {
    pod.info.pod = now;
  }
  pod.outdated = pod.outdated || differs(*old, *now);
  if (assumed) {
    // What it takes is what it asked for when it was decided. If it is being deleted, its room is free again
    // now; a binding that is on its way ends as it may.
    if (!now->metadata.deletion_timestamp || old->metadata.deletion_timestamp) return;
    if (pod.place == Place::waiting) {
      waits_.remove(pod);
      unreserve(pod);
    }
    return forget(pod);
  }
  if (pod.place == Place::nowhere) {
    // It was dropped when it was tried: while it was being deleted, or its binding failed.
    return;
  }
  nominate_again(pod, old);
  if (!pod.outdated) return;
  Requests requests = pod.info.requests;
  read_anew(pod);
  if (pod.place == Place::gated) {
    const PluginIndex by = gate_of(pod);
    if (by == kNoPlugin) {
      queue_->retry(pod, clock_.mono(), label(EventKind::own_pod_gates_gone));
    } else if (pod.rejectors == mask_of(by)) {
      queue_->set_rejector_key(pod, key_of_gate(pod, by));
    }
    return;
  }
  auto own = [&](EventKind kind) {
    if (pod.place != Place::unschedulable) return;
    const Hint worth = hint(pod, {.kind = kind, .old_pod = old.get(), .new_pod = now.get()});
    if (worth != Hint::skip) queue_->retry(pod, clock_.mono(), label(kind), worth);
  };
  const bool relabelled = old->metadata.labels != now->metadata.labels,
             shrunk = lessened(requests, pod.info.requests),
             tolerates = old->spec.tolerations.size() != now->spec.tolerations.size();
  if (relabelled) own(EventKind::own_pod_label);
  if (shrunk) own(EventKind::own_pod_scale_down);
  if (tolerates) own(EventKind::own_pod_toleration);
  if (!relabelled && !shrunk && !tolerates) own(EventKind::own_pod_update);
  // The room that is kept for it is another: to others as if the pod that it was had gone.
  if (const Symbol node = nominator_.node_of(pod.info); !node.empty() && (shrunk || relabelled))
    left(old, node, pod.priority);
}

/// Those whom its nomination alone kept off a node that it does not take now hear of it.
void Engine::nominate(QueuedPod& pod, const Symbol& node) {
  const Symbol was = nominator_.node_of(pod.info);
  nominator_.nominate(pod.info, node);
  if (was.empty() || was == node || (pod.row != kNoRow && was == nodes_.name(pod.row))) return;
  left(pod.info.pod, was, pod.priority);
}

/// An update without a nomination does not take back one that is not written down yet.
void Engine::nominate_again(QueuedPod& pod, const std::shared_ptr<const api::Pod>& before) {
  const Symbol &was = before->status.nominated_node_name, &is = pod.info.pod->status.nominated_node_name;
  if (was.empty() && is.empty()) return;
  nominator_.nominate(pod.info, is);
  if (!was.empty() && was != is) left(before, was, before->spec.priority.value_or(0));
}

/// A pod that was assumed on a node is not any more, or one that was nominated: to pods of no higher priority
/// than `most` it is as if it had been there and is gone.
void Engine::left(const std::shared_ptr<const api::Pod>& pod, const Symbol& node, std::int32_t most) {
  const std::shared_ptr<const api::Pod> there = on_node(pod, node);
  move({.kind = EventKind::assigned_pod_delete, .old_pod = there.get(), .most_priority = most}, there);
}

/// The first plugin that keeps it out of the queue.
PluginIndex Engine::gate_of(const QueuedPod& pod) const {
  for (const auto& p : pod.profile->pre_enqueue)
    if (!p.plugin->may_enqueue(pod.info)) return p.index;
  return kNoPlugin;
}

const PreEnqueuePlugin& Engine::gate(const QueuedPod& pod, PluginIndex by) {
  const auto& gates = pod.profile->pre_enqueue;
  return *std::find_if(gates.begin(), gates.end(), [by](const auto& each) {
            return each.index == by;
          })->plugin;
}

/// The pod hears of it with the next decisions.
void Engine::kept_out(QueuedPod& pod, PluginIndex by) {
  std::string why = gate(pod, by).why_kept_out(pod.info);
  if (why.empty()) return;
  const MonoTime now = clock_.mono();
  if (pod.told == why && now - pod.told_at < kTellAgain) return;
  pod.told = std::move(why);
  pod.told_at = now;
  pod.told_as_unschedulable = gate(pod, by).is_unschedulable(pod.info);
  if (std::exchange(pod.to_be_told, true)) return;
  // Who does not lead decides nothing, and tells nobody, for as long as that takes.
  if (kept_out_.size() > 2 * pods_.size() + 1024)
    std::erase_if(kept_out_, [this](const auto& object) { return find(*object) == nullptr; });
  kept_out_.push_back(pod.info.pod);
}

void Engine::leave_node(QueuedPod& pod) {
  if (pod.row == kNoRow) return;
  const Symbol node = nodes_.name(pod.row);
  nodes_.remove_pod(pod.row, pod.info);
  pod.row = kNoRow;
  if (pod.attempt) pod.attempt->row = kNoRow;
  if (pod.resized) take_again(pod);
  if (pod.place != Place::assumed && pod.place != Place::waiting) return;
  --assumed_;
  tell_forgotten(pod, node);
}

/// Frees what an assumed pod took.
void Engine::forget(QueuedPod& pod) {
  const Symbol node = nodes_.name(pod.row);
  leave_node(pod);
  pod.place = Place::nowhere;
  left(pod.info.pod, node);
}

void Engine::remove_pod(const api::Pod& pod) {
  const Handling handling(*this, pod.spec.node_name.empty() ? "UnschedulablePodDelete" : "AssignedPodDelete");
  if (transforms_) transforms_->gone(pod.metadata);
  drop_foreign(pod.metadata.uid);
  for (EveryPodPlugin* plugin : every_pod_) plugin->pod_left(pod);
  auto it = pods_.find(pod_key(pod));
  if (it != pods_.end() && it->second->info.pod->metadata.uid == pod.metadata.uid) erase(it);
}

void Engine::erase(Pods::iterator it) {
  std::unique_ptr<QueuedPod> pod = std::move(it->second);
  pods_.erase(it);
  queue_->remove(*pod);
  stop_asking(*pod);
  Symbol nominated = nominator_.node_of(pod->info);
  if (nominated.empty()) nominated = pod->info.pod->status.nominated_node_name;
  nominator_.nominate(pod->info, {});
  if (pod->place == Place::waiting) {
    waits_.remove(*pod);
    unreserve(*pod);
  }
  const Symbol freed = pod->row != kNoRow ? nodes_.name(pod->row) : Symbol();
  leave_node(*pod);
  for (ForgetPlugin* plugin : forgetting_) plugin->gone(pod->info);
  if (pod->cls != nullptr) classes_.release(*pod->cls);
  pod->cls = nullptr;
  const std::shared_ptr<const api::Pod> object = pod->info.pod;
  // Its binding has not ended: what is reserved for it is given back when it has.
  if (pod->attempt) gone_[object->metadata.uid] = std::move(pod);
  if (!freed.empty()) {
    left(object, freed);
  } else if (!nominated.empty()) {
    left(object, nominated, object->spec.priority.value_or(0));
  }
}

// Other objects

void Engine::change_object(const kube::ObjectType& type, kube::Object object, bool gone) {
  AnyObjectStore* store = objects_.find(type);
  if (store == nullptr) return;
  Handling handling(*this, store->label(ObjectAction::update));
  const api::ObjectMeta& meta = type.meta(object.get());
  const kube::Object now = gone ? nullptr : object;
  const kube::Object before = store->put({meta.namespace_.view(), meta.name}, now);
  if (before == nullptr && gone) return;
  const ObjectAction action = gone                ? ObjectAction::remove
                              : before == nullptr ? ObjectAction::add
                                                  : ObjectAction::update;
  handling.is(store->label(action));
  if (const PlacedKind* kind = placed_.of(type)) take_placed(*kind, before, now);
  if (const std::optional<EventKind> kind = store->asked(action))
    move({.kind = *kind,
          .old_object = before.get(),
          .new_object = now.get(),
          .object_label = store->label(action)},
         before, now);
}

/// What an object is to the engine that is placed as pods are; nullptr for one that was not, or is no more.
void Engine::take_placed(const PlacedKind& kind, const kube::Object& before, const kube::Object& now) {
  const api::ObjectMeta& meta = kind.type().meta((now ? now : before).get());
  std::shared_ptr<const api::Pod> pod = now ? kind.as_pod(now) : nullptr;
  const auto known = pods_.find(placeholder_name({kind.word(), meta.namespace_.view(), meta.name}));
  if (known != pods_.end()) {
    const QueuedPod& there = *known->second;
    // A pod stays where it is bound; an object may lose its place and look for another.
    const bool loses = pod && pod->spec.node_name.empty() && there.place == Place::bound;
    // What a pod is told from by others never changes; a placeholder's namespace may.
    const bool moves = pod && pod->metadata.namespace_ != there.info.pod->metadata.namespace_;
    if (!pod || loses || moves) {
      const std::shared_ptr<const api::Pod> gone = there.info.pod;
      for (EveryPodPlugin* plugin : every_pod_)
        if (plugin->counts_placeholders()) plugin->pod_left(*gone);
      erase(known);
    }
  }
  if (transforms_ && !now) transforms_->gone(meta);
  if (!pod) return drop_foreign(meta.uid);
  take_pod(std::move(pod));
}

// What is known

QueueSizes Engine::queue_sizes() const { return queue_->sizes(); }
const Queue::Incoming& Engine::incoming() const { return queue_->incoming(); }

const Queue::Rejections& Engine::rejections() const { return queue_->rejections(); }

std::optional<Diagnosis> Engine::refusal(const Profile& profile, std::shared_ptr<const api::Pod> pod) {
  if (profile.admits.empty() && profile.pre_filter_transformers.empty()) return std::nullopt;
  if (transforms_) pod = transforms_->pod(std::move(pod));
  const auto refused = first_refusal(profile, make_pod_info(std::move(pod), nodes_.resources()));
  forget_transformed();
  if (!refused) return std::nullopt;
  return diagnosis(*refused);
}

ClassState& Engine::evaluate(const Profile& profile, std::shared_ptr<const api::Pod> pod,
                             ClassState::Rows rows) {
  pass_time();
  if (transforms_) pod = transforms_->pod(std::move(pod));
  evaluated_ = make_pod_info(std::move(pod), nodes_.resources());
  PluginIndex by = kNoPlugin;
  if (transform(profile, evaluated_, by).ok() && transformed_) evaluated_ = *transformed_;
  forget_transformed();
  PodClass& cls = classes_.acquire(profile, evaluated_);
  ClassState& state = classes_.state(cls, evaluated_, rows);
  if (cls.shared) classes_.release(cls);
  return state;
}

}  // namespace koord::scheduling
