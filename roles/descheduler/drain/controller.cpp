// See controller.hpp.
#include "drain/controller.hpp"

#include <fmt/format.h>

#include "drain/cordon.hpp"
#include "drain/reservation.hpp"
#include "koord/api/koordinator/drain.hpp"
#include "koord/api/schema/kind.hpp"
#include "koord/async/timer.hpp"
#include "koord/kube/event_recorder.hpp"

namespace koord::descheduler::drain {
namespace {

constexpr std::chrono::seconds kAgain{1}, kUnseenFor{10}, kStops{2};
constexpr std::chrono::milliseconds kSoon{100};

template <class T>
void tell(kube::EventRecorder* events, const T& object, const std::vector<DrainEvent>& all,
          std::string_view phase) {
  if (events == nullptr) return;
  for (const DrainEvent& event : all)
    events->record({.regarding = kube::event_object(object),
                    .type = event.warning ? kube::EventType::warning : kube::EventType::normal,
                    .reason = event.reason,
                    .action = phase,
                    .note = event.note});
}

/// Returns when all is known that there was when this began.
Task<Result<>> caught_up(Clock& clock, kube::AnyInformer informer) {
  KOORD_CO_CHECK(co_await informer.wait_synced());
  for (;;) {
    Result<> done = co_await informer.catch_up();
    if (done || done.error().code() == Code::cancelled) co_return done;
    KOORD_CO_CHECK(co_await sleep(clock, kAgain));
  }
}

kube::Initiator initiator(const api::DrainNodeGroup& group, std::string why) {
  return {.profile = {},
          .plugin = "Drain",
          .wanted_by = {fmt::format("DrainNodeGroup/{}", group.metadata.name)},
          .reason = std::move(why)};
}

kube::Initiator initiator(const api::DrainNode& drain, std::string why) {
  kube::Initiator who{.profile = {}, .plugin = "Drain", .wanted_by = {}, .reason = std::move(why)};
  const std::string_view group = api::value_or(drain.metadata.labels, api::kDrainGroupLabel);
  if (!group.empty()) who.wanted_by.push_back(fmt::format("DrainNodeGroup/{}", group));
  who.wanted_by.push_back(fmt::format("DrainNode/{}", drain.metadata.name));
  return who;
}

/// What a status says that the one before did not.
std::string said(std::string_view phase, const std::vector<DrainEvent>& events) {
  if (events.empty()) return fmt::format("{}: how far it is", phase);
  return fmt::format("{}: {}: {}", phase, events.back().reason, events.back().note);
}

std::string why_of(const NodeWrite& write) {
  using Act = NodeWrite::Act;
  switch (write.act) {
    case Act::kCordon: return "cordon: its pods are to leave";
    case Act::kUncordon: return "uncordon: the drain is undone";
    case Act::kCreateReservation: return "room for a pod that is to leave";
    case Act::kCreateJob:
      return write.paused ? "a pod is to leave once it is confirmed" : "a pod is to leave";
    case Act::kDeleteJob: return "the drain does not need the job any more";
    case Act::kDeleteReservation: return "the drain does not need the room any more";
    case Act::kDeleteDrain: break;
  }
  return "the drain's time is over";
}

std::string why_of(const GroupWrite& write) {
  using Act = GroupWrite::Act;
  switch (write.act) {
    case Act::kMarkNode: return "the group drains the node";
    case Act::kUnmarkNode: return "the group does not drain the node any more";
    case Act::kCreateDrain: return write.why.empty() ? "the node's turn" : write.why;
    case Act::kConfirm: return "its pods may go";
    case Act::kReject: return write.why;
    case Act::kAbort: return "the group is aborted";
    case Act::kDeleteGroup: break;
  }
  return "the group's time is over";
}

Error not_leading() { return Error(Code::unavailable, "another process leads"); }

}  // namespace

Controller::Controller(Parts parts)
    : parts_(std::move(parts)), scenes_(parts_.informers, parts_.client, parts_.why_not, parts_.placement) {}

std::string Controller::key_of(Kind kind, std::string_view name) {
  return fmt::format("{}/{}", static_cast<char>(kind), name);
}

void Controller::start(TaskGroup& tasks) {
  if (tasks_ != nullptr) return;
  tasks_ = &tasks;
  for (kube::AnyInformer& informer : scenes_.all()) informer.deliver_to(changes_);
  tasks.spawn("drain changes", watch());
}

void Controller::stop() {
  queue_.close();
  changes_.close();
}

Task<Result<>> Controller::watch() {
  // What the process before has written must be known: it may have gone on with the same drain. All are asked
  // at once: each may take seconds to say that there is nothing.
  TaskGroup group(co_await asio::this_coro::executor);
  for (const kube::AnyInformer& informer : scenes_.all())
    group.spawn(informer.status().name, caught_up(parts_.clock, informer));
  Task<Result<>> known = group.join();
  KOORD_CO_CHECK(co_await with_cleanup(std::move(known), group.stop(parts_.clock, kStops)));
  bool is_working = false;
  for (;;) {
    KOORD_CO_TRY(batch, co_await changes_.next());
    for (const kube::Change& change : batch.changes) apply(change);
    if (!batch.synced || is_working) continue;
    is_working = true;
    tasks_->spawn("drains", work());
  }
}

void Controller::look_at_node(std::string_view node) {
  if (node.empty()) return;
  for (const auto& drain : scenes_.drains.list_by("node", node))
    queue_.add(key_of(Kind::drain, drain->metadata.name));
}

void Controller::look_at_groups() {
  for (const auto& group : scenes_.groups.list()) queue_.add(key_of(Kind::group, group->metadata.name));
}

/// Of a reservation or a job: the DrainNode that it says.
template <class T>
void Controller::look_at_maker(const kube::Change& change) {
  for (const auto& object : {change.old_object<T>(), change.new_object<T>()}) {
    if (!object) continue;
    const std::string_view drain = api::value_or(object->metadata.labels, api::kDrainNodeLabel);
    if (!drain.empty()) queue_.add(key_of(Kind::drain, drain));
  }
}

void Controller::apply(const kube::Change& change) {
  if (change.is<api::DrainNodeGroup>()) {
    look_at_groups();  // whose turn it is may have changed
    if (change.after) return;
    for (const auto& node : scenes_.nodes.list()) queue_.add(key_of(Kind::node, node->metadata.name));
  } else if (change.is<api::DrainNode>()) {
    for (const auto& drain : {change.old_object<api::DrainNode>(), change.new_object<api::DrainNode>()}) {
      if (!drain) continue;
      queue_.add(key_of(Kind::drain, drain->metadata.name));
      look_at_node(drain->spec.node_name);
      if (!change.after) queue_.add(key_of(Kind::node, drain->spec.node_name));
      const std::string_view group = api::value_or(drain->metadata.labels, api::kDrainGroupLabel);
      if (!group.empty()) queue_.add(key_of(Kind::group, group));
    }
  } else if (change.is<api::Node>()) {
    const auto before = change.old_object<api::Node>(), after = change.new_object<api::Node>();
    const api::Node& node = after ? *after : *before;
    // Heartbeats are nobody's business.
    if (before && after && before->metadata.labels == after->metadata.labels && before->spec == after->spec &&
        before->metadata.annotations == after->metadata.annotations)
      return;
    queue_.add(key_of(Kind::node, node.metadata.name));
    look_at_node(node.metadata.name);
    look_at_groups();
  } else if (change.is<api::Pod>()) {
    for (const auto& pod : {change.old_object<api::Pod>(), change.new_object<api::Pod>()})
      if (pod) look_at_node(pod->spec.node_name.view());
  } else if (change.is<api::Reservation>()) {
    look_at_maker<api::Reservation>(change);
    for (const auto& room : {change.old_object<api::Reservation>(), change.new_object<api::Reservation>()})
      if (room) look_at_node(room->status.node_name.view());
    look_at_groups();
  } else if (change.is<api::PodMigrationJob>()) {
    look_at_maker<api::PodMigrationJob>(change);
    look_at_groups();
  }
}

Task<Result<>> Controller::work() {
  for (;;) {
    auto next = co_await queue_.next();
    if (!next) co_return next.error();
    if (!*next) co_return Result<>();
    const std::string key = **next;
    if (!parts_.may_write()) {
      queue_.add_after(key, kAgain);
      queue_.done(key);
      continue;
    }
    const Result<Again> again = co_await reconcile(key);
    if (again) {
      queue_.forget(key);
      if (*again) queue_.add_after(key, **again);
    } else if (again.error().code() == Code::cancelled) {
      queue_.done(key);
      co_return again.error();
    } else {
      // A conflict is an object that is about to be seen anew.
      if (queue_.failures(key) == 0 && again.error().code() != Code::conflict)
        parts_.log.warn("a drain does not go on: tried again with a backoff", kv("key", key),
                        kv("error", again.error()));
      queue_.retry(key);
    }
    queue_.done(key);
  }
}

Task<Result<Controller::Again>> Controller::reconcile(std::string key) {
  std::string name = key.substr(2);
  switch (static_cast<Kind>(key[0])) {
    case Kind::group: co_return co_await advance_group(std::move(name));
    case Kind::drain: co_return co_await advance_drain(std::move(name));
    case Kind::node: break;
  }
  co_return co_await clean_node(std::move(name));
}

Controller::Again Controller::until(const std::optional<WallTime>& at) const {
  if (!at) return std::nullopt;
  return std::max<nanoseconds>(*at - parts_.clock.now(), kSoon);
}

Task<Result<Controller::Again>> Controller::advance_group(std::string name) {
  const auto group = scenes_.groups.get({}, name);
  if (!group) co_return Again();
  std::erase_if(unseen_, [this](const auto& entry) {
    return scenes_.drains.get({}, entry.first) || parts_.clock.mono() - entry.second > kUnseenFor;
  });
  if (!unseen_.empty()) co_return Again(kSoon);
  const auto held = scenes_.of(*group);
  GroupStep step = next_step(*group, held->scene, parts_.clock.now());
  for (GroupWrite& write : step.writes) KOORD_CO_CHECK(co_await carry_out(group, std::move(write)));
  if (step.status) {
    api::DrainNodeGroup after = *group;
    after.status = std::move(*step.status);
    const std::string phase(after.status.phase.view());
    kube::By by = kube::by(initiator(*group, said(phase, step.events)));
    KOORD_CO_CHECK(co_await patch(group, std::move(after), std::move(by), "status"));
    tell(parts_.events, *group, step.events, phase);
  }
  co_return until(step.wake_at);
}

Task<Result<Controller::Again>> Controller::advance_drain(std::string name) {
  const auto drain = scenes_.drains.get({}, name);
  if (!drain) co_return Again();
  const auto held = scenes_.of(*drain);
  NodeStep step = next_step(*drain, held->scene, parts_.clock.now());
  for (NodeWrite& write : step.writes) KOORD_CO_CHECK(co_await carry_out(drain, std::move(write)));
  if (step.status) {
    api::DrainNode after = *drain;
    after.status = std::move(*step.status);
    const std::string phase(after.status.phase.view());
    kube::By by = kube::by(initiator(*drain, said(phase, step.events)));
    KOORD_CO_CHECK(co_await patch(drain, std::move(after), std::move(by), "status"));
    tell(parts_.events, *drain, step.events, phase);
  }
  co_return until(step.wake_at);
}

Task<Result<Controller::Again>> Controller::clean_node(std::string name) {
  const auto node = scenes_.nodes.get({}, name);
  if (!node) co_return Again();
  KOORD_CO_CHECK(co_await patch(node, scenes_.without_orphans(*node),
                                kube::by({.profile = {},
                                          .plugin = "Drain",
                                          .wanted_by = {},
                                          .reason = "what drains and groups that are gone have set"})));
  co_return Again();
}

Task<Result<>> Controller::carry_out(std::shared_ptr<const api::DrainNodeGroup> group, GroupWrite write) {
  using Act = GroupWrite::Act;
  kube::By by = kube::by(initiator(*group, why_of(write)));
  switch (write.act) {
    case Act::kMarkNode:
    case Act::kUnmarkNode: {
      const auto node = scenes_.nodes.get({}, write.name);
      if (!node) co_return Result<>();
      api::Node after = *node;
      if (write.act == Act::kMarkNode)
        after.metadata.labels[api::kDrainGroupLabel] = Symbol(group->metadata.name);
      else
        after.metadata.labels.erase(api::kDrainGroupLabel);
      co_return co_await patch(node, std::move(after), std::move(by));
    }
    case Act::kCreateDrain: {
      if (!parts_.may_write()) co_return not_leading();
      api::DrainNode drain = drain_for(*group, write.name, write.why);
      const std::string made = drain.metadata.name;
      const auto done = co_await parts_.client.create<api::DrainNode>(
          std::move(drain), {.may_go = parts_.may_write, .by = std::move(by)});
      if (!done) co_return done.error();
      unseen_[made] = parts_.clock.mono();
      co_return Result<>();
    }
    case Act::kConfirm:
    case Act::kReject:
    case Act::kAbort: {
      const auto drain = scenes_.drains.get({}, write.name);
      if (!drain) co_return Result<>();
      api::DrainNode after = *drain;
      after.spec.confirm_state = write.act == Act::kConfirm  ? "Confirmed"
                                 : write.act == Act::kReject ? "Rejected"
                                                             : "Aborted";
      if (write.act == Act::kReject)
        after.metadata.annotations[api::kDrainUnavailableAnnotation] = Symbol(write.why);
      co_return co_await patch(drain, std::move(after), std::move(by));
    }
    case Act::kDeleteGroup: break;
  }
  co_return co_await remove<api::DrainNodeGroup>(group->metadata.name, group->metadata.uid, std::move(by));
}

Task<Result<>> Controller::carry_out(std::shared_ptr<const api::DrainNode> drain, NodeWrite write) {
  using Act = NodeWrite::Act;
  kube::By by = kube::by(initiator(*drain, why_of(write)));
  switch (write.act) {
    case Act::kCordon:
    case Act::kUncordon: {
      const auto node = scenes_.nodes.get({}, drain->spec.node_name);
      if (!node) co_return Result<>();
      co_return co_await patch(
          node, write.act == Act::kCordon ? cordoned(*node, *drain) : uncordoned(*node, drain->metadata.name),
          std::move(by));
    }
    case Act::kCreateReservation: co_return co_await reserve(drain, write.pod, std::move(by));
    case Act::kCreateJob: {
      if (!parts_.may_write()) co_return not_leading();
      const auto done = co_await parts_.client.create<api::PodMigrationJob>(
          job_for(*drain, *write.pod, write.room, write.paused),
          {.may_go = parts_.may_write, .by = std::move(by)});
      // It is there already, and will be seen in a moment.
      if (!done && done.error().code() != Code::already_exists) co_return done.error();
      co_return Result<>();
    }
    case Act::kDeleteJob:
      co_return co_await remove<api::PodMigrationJob>(write.name, write.uid, std::move(by));
    case Act::kDeleteReservation:
      co_return co_await remove<api::Reservation>(write.name, write.uid, std::move(by));
    case Act::kDeleteDrain: break;
  }
  co_return co_await remove<api::DrainNode>(write.name, write.uid, std::move(by));
}

/// Of the whole pod: what koord does not know of it counts for the scheduler, too.
Task<Result<>> Controller::reserve(std::shared_ptr<const api::DrainNode> drain,
                                   std::shared_ptr<const api::Pod> pod, kube::By by) {
  auto text = co_await parts_.client.get_raw(
      api::kind<api::Pod>(),
      {.ns = std::string(pod->metadata.namespace_.view()), .name = pod->metadata.name});
  if (!text && text.error().code() == Code::not_found) co_return Result<>();
  if (!text) co_return text.error();
  KOORD_CO_TRY(present, api::decode<api::Pod>(*text));
  if (present.metadata.uid != pod->metadata.uid) co_return Result<>();
  KOORD_CO_TRY(document, reservation_for(*drain, *text));
  if (!parts_.may_write()) co_return not_leading();
  const auto made = co_await parts_.client.create_raw(api::kind<api::Reservation>(), {}, std::move(document),
                                                      {.may_go = parts_.may_write, .by = std::move(by)});
  if (!made && made.error().code() != Code::already_exists) co_return made.error();
  co_return Result<>();
}

/// Of the very version that was looked at where it is an object of drains; of a node whatever else of it
/// has changed.
template <class T>
Task<Result<>> Controller::patch(std::shared_ptr<const T> before, T after, kube::By by,
                                 std::string subresource) {
  std::optional<api::Patch> change = api::diff(*before, after);
  if (!change) co_return Result<>();
  if (!parts_.may_write()) co_return not_leading();
  api::Precondition wanted{.uid = before->metadata.uid, .resource_version = {}};
  if constexpr (!std::is_same_v<T, api::Node>) wanted.resource_version = before->metadata.resource_version;
  api::Patch guarded = std::move(*change).with_precondition(wanted);
  const auto done = co_await parts_.client.patch_raw(
      api::kind<T>(), {.ns = {}, .name = before->metadata.name}, std::move(guarded.body),
      {.type = guarded.type,
       .subresource = std::move(subresource),
       .field_manager = {},
       .may_go = parts_.may_write,
       .by = std::move(by)});
  if (!done) co_return done.error();
  co_return Result<>();
}

template <class T>
Task<Result<>> Controller::remove(std::string name, std::string uid, kube::By by) {
  if (!parts_.may_write()) co_return not_leading();
  const Result<> done =
      co_await parts_.client.remove<T>({.ns = {}, .name = std::move(name)}, {.uid = std::move(uid),
                                                                             .resource_version = {},
                                                                             .grace_period_seconds = {},
                                                                             .propagation_policy = {},
                                                                             .may_go = parts_.may_write,
                                                                             .by = std::move(by)});
  if (!done && done.error().code() == Code::not_found) co_return Result<>();
  co_return done;
}

}  // namespace koord::descheduler::drain
