// See group_progress.hpp.
#include "drain/group_progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "koord/api/koordinator/drain.hpp"
#include "koord/api/schema/kind.hpp"

namespace koord::descheduler::drain {
namespace {

using Act = GroupWrite::Act;

/// How a node of the group is doing, for the group.
enum class State {
  not_started,
  planning,     // it is not known yet whether its pods have somewhere to go, or it is being undone
  stuck,        // they have not, for some time
  available,    // there is room for all of them; nobody has confirmed it yet
  unavailable,  // given up before it began
  running,
  succeeded,
  failed,
  aborted,  // given up by somebody
};

bool has_begun(const api::DrainNodeGroup& group) {
  const Symbol& phase = group.status.phase;
  return phase == "Planning" || phase == "Waiting" || phase == "Running";
}

/// A group as it is looked at once.
class Look {
 public:
  Look(const api::DrainNodeGroup& group, const GroupScene& scene, WallTime now)
      : group_(group), scene_(scene), now_(now), ends_(ends_at(group.metadata, group.spec.ttl)) {
    step_.status = group.status;
    for (const GroupNode& node : scene.nodes) by_state_[state_of(node.drain)].push_back(&node);
    for (const api::DrainNode* drain : scene.drains) ++drains_[state_of(drain)];
  }

  GroupStep next() && {
    decide();
    if (*step_.status == group_.status) step_.status.reset();
    if (!step_.status) step_.events.clear();
    return std::move(step_);
  }

 private:
  void decide() {
    if (group_.metadata.deletion_timestamp) return;
    wake(ends_);
    if (ends_) wake(*ends_ + kKeptAfterTtl);
    const Symbol& phase = group_.status.phase;
    const bool is_over = ends_ && now_ >= *ends_ + kKeptAfterTtl;
    if (is_ended(group_)) {
      if (phase == "Failed") unmark();
      if (is_over || is_clean_up_wanted(group_.metadata.labels)) {
        if (undo() && is_over) write(Act::kDeleteGroup, group_.metadata.name);
      }
      return;
    }
    if (is_abort_wanted(group_.metadata.labels)) return abort("Aborted", "DrainNodeGroup Aborted");
    if (ends_ && now_ >= *ends_)
      return abort("TimedOut", fmt::format("not drained within {}", group_.spec.ttl->to_string()));
    if (phase.empty()) return enter("Pending", "Pending", "Initialized");
    if (phase == "Pending") return begin();
    count();
    if (phase == "Planning") return plan();
    if (phase == "Waiting") return wait();
    run();
  }

  State state_of(const api::DrainNode* drain) {
    if (drain == nullptr) return State::not_started;
    const api::DrainNodeStatus& status = drain->status;
    if (status.phase == "Aborted")
      return drain->metadata.annotations.contains(api::kDrainUnavailableAnnotation) ? State::unavailable
                                                                                    : State::aborted;
    if (status.phase == "Complete")
      return holds(status, "FailedMigrationJobExists") || holds(status, "UnmigratablePodExists")
                 ? State::failed
                 : State::succeeded;
    if (is_refused(*drain)) return State::planning;
    if (drain->spec.confirm_state == "Confirmed") return State::running;
    for (const std::string_view type : {"UnavailableReservationExists", "UnmigratablePodExists"}) {
      if (!holds(status, type)) continue;
      const WallTime given_up = condition_of(status, type)->last_transition_time.wall() + kStuckFor;
      if (now_ >= given_up) return State::stuck;
      wake(given_up);
      return State::planning;
    }
    const std::int32_t* const waiting = status.pod_migration_summary.find("Waiting");
    const std::int32_t* const ready = status.pod_migration_summary.find("Ready");
    const bool is_settled = status.phase == "Running" && holds(status, "OnceAvailable") &&
                            (waiting == nullptr || *waiting == 0) && (ready == nullptr || *ready == 0);
    return is_settled ? State::available : State::planning;
  }

  const std::vector<const GroupNode*>& nodes(State state) { return by_state_[state]; }
  std::int32_t drains(State state) { return drains_[state]; }
  void wake(const std::optional<WallTime>& at) {
    if (at && *at > now_) step_.wake_at = std::min(step_.wake_at.value_or(*at), *at);
  }
  void write(Act act, std::string name, std::string why = {}) {
    step_.writes.push_back({act, std::move(name), std::move(why)});
  }

  /// The phase, its condition, and an event where it is another one than before.
  void enter(std::string_view phase, std::string_view reason, std::string message) {
    api::DrainNodeGroupStatus& status = *step_.status;
    if (status.phase != phase)
      step_.events.push_back({phase == "Failed" || reason == "TimedOut", std::string(phase), message});
    status.phase = Symbol(phase);
    auto at =
        std::ranges::find(status.conditions, phase, [](const api::Condition& c) { return c.type.view(); });
    if (at == status.conditions.end()) {
      at = status.conditions.emplace(at);
      at->type = Symbol(phase);
    }
    if (at->status != "True") at->last_transition_time = api::Time(now_);
    at->status = "True";
    at->reason = Symbol(reason);
    at->message = std::move(message);
  }
  void enter(std::string_view phase, std::string message) { enter(phase, phase, std::move(message)); }

  void count() {
    api::DrainNodeGroupStatus& status = *step_.status;
    status.total_count = static_cast<std::int32_t>(scene_.drains.size());
    status.unavailable_count = drains(State::unavailable) + drains(State::stuck);
    status.available_count = status.total_count - status.unavailable_count;
    status.running_count = drains(State::running);
    status.succeeded_count = drains(State::succeeded);
    status.failed_count = drains(State::failed);
  }

  // The end.

  /// True once nothing is left of the group but itself.
  bool undo() {
    bool is_done = scene_.not_undone.empty();
    for (const api::DrainNode* drain : scene_.drains) {
      if (drain->status.phase != "Aborted" && !is_refused(*drain)) write(Act::kAbort, drain->metadata.name);
      is_done = is_done && (drain->status.phase == "Aborted" || drain->status.phase == "Complete");
    }
    if (is_done) unmark();
    return is_done && step_.writes.empty();
  }
  void abort(std::string_view reason, std::string message) {
    count();
    if (undo()) enter("Aborted", reason, std::move(message));
  }
  void unmark() {
    const auto unmark_one = [this](const api::Node& node) {
      if (api::value_or(node.metadata.labels, api::kDrainGroupLabel) == group_.metadata.name)
        write(Act::kUnmarkNode, node.metadata.name);
    };
    for (const GroupNode& node : scene_.nodes) unmark_one(*node.node);
    for (const api::Node* node : scene_.other_marked) unmark_one(*node);
  }
  void fail(std::string_view reason, std::string message) {
    unmark();
    enter("Failed", reason, std::move(message));
  }

  // The beginning.

  void begin() {
    if (group_.metadata.name.size() > kMaxName)
      return fail("NameTooLong",
                  fmt::format("metadata.name has {} characters: labels, which say whose nodes are, hold no "
                              "more than {}",
                              group_.metadata.name.size(), kMaxName));
    if (!scene_.bad_selector.empty()) return fail("InvalidNodeSelector", scene_.bad_selector);
    if (scene_.nodes.empty()) return fail("NoNodes", "spec.nodeSelector: no node matches it");
    if (!scene_.has_elsewhere)
      return fail(
          "SelectsAllNodes",
          fmt::format("spec.nodeSelector: it selects all nodes that are ready and open to pods ({} in "
                      "all): there is nowhere to go",
                      scene_.nodes.size()));
    if (scene_.first != group_.metadata.name)
      return enter("Pending", "Pending", fmt::format("waiting for {}", scene_.first));
    for (const api::Node* node : scene_.other_marked) write(Act::kUnmarkNode, node->metadata.name);
    // One that another group has drained keeps that group's label.
    for (const GroupNode& node : scene_.nodes)
      if (!node.node->metadata.labels.contains(api::kDrainGroupLabel))
        write(Act::kMarkNode, node.node->metadata.name);
    if (step_.writes.empty()) enter("Planning", "Start Planning");
  }

  // The plan.

  void plan() {
    reject_stuck();
    if (!step_.writes.empty() || drains(State::planning) > 0) return enter("Planning", "Planning");
    if (ends_planning()) return;
    if (nodes(State::not_started).empty()) return planned("Waiting for confirm");
    const GroupNode& next = *next_node();
    write(Act::kCreateDrain, next.node->metadata.name, scene_.why_stuck(*next.node));
    enter("Planning", "Planning");
  }
  void reject_stuck() {
    for (const api::DrainNode* drain : scene_.drains)
      if (state_of(drain) == State::stuck) write(Act::kReject, drain->metadata.name, why_stuck(*drain));
  }
  static std::string why_stuck(const api::DrainNode& drain) {
    for (const std::string_view type : {"UnmigratablePodExists", "UnavailableReservationExists"})
      if (holds(drain.status, type)) return condition_of(drain.status, type)->message;
    return "there is no room for its pods";
  }
  void planned(std::string message) {
    if (drains(State::available) + drains(State::running) + drains(State::succeeded) > 0)
      return enter("Waiting", std::move(message));
    fail("Failed", "Failed, all nodes are not migrated");
  }
  /// By score, then by name.
  const GroupNode* next_node() {
    return *std::ranges::max_element(nodes(State::not_started), {},
                                     [](const GroupNode* n) { return n->score; });
  }

  bool ends_planning() {
    if (!group_.spec.termination_policy) return false;
    const api::DrainTerminationPolicy& policy = *group_.spec.termination_policy;
    const std::int32_t planned_nodes =
        drains(State::available) + drains(State::running) + drains(State::succeeded);
    if (policy.max_node_count && planned_nodes >= *policy.max_node_count) {
      planned("meet MaxNodeCount TerminationPolicy");
      return true;
    }
    const std::int32_t percentage = policy.percentage_of_resource_reserved.value_or(0);
    if (percentage <= 0 || leaves_enough(percentage)) return false;
    planned("meet PercentageOfResourceReserved TerminationPolicy");
    return true;
  }
  /// Whether so much of what all nodes have is free on those that stay if the next one goes, too.
  bool leaves_enough(std::int32_t percentage) {
    const GroupNode* const next = nodes(State::not_started).empty() ? nullptr : next_node();
    for (const std::string_view resource : {"cpu", "memory"}) {
      api::Quantity total, free;
      for (const auto& [state, list] : by_state_)
        for (const GroupNode* node : list) {
          if (const api::Quantity* has = node->node->status.allocatable.find(resource)) total += *has;
          const bool is_staying =
              state == State::unavailable || (state == State::not_started && node != next);
          if (const api::Quantity* has = node->free.find(resource); has != nullptr && is_staying)
            free += *has;
        }
      if (free * 100 < total * percentage) return false;
    }
    return true;
  }

  // The execution.

  void wait() {
    reject_stuck();
    confirm();
    if (drains(State::running) > 0)
      return enter("Running", fmt::format("Running, {} DrainNode start running", drains(State::running)));
    if (drains(State::available) + drains(State::planning) + drains(State::stuck) == 0) return finish();
    enter("Waiting", group_.spec.execution_policy && group_.spec.execution_policy->paused ? "Waiting, paused"
                                                                                          : "Waiting");
  }
  void run() {
    reject_stuck();
    if (drains(State::running) > 0) return enter("Running", "Running");
    if (drains(State::available) > 0) return enter("Waiting", "Waiting");
    if (drains(State::planning) + drains(State::stuck) > 0) return enter("Running", "Running");
    finish();
  }
  /// As many as the partition lets go and have not gone yet.
  void confirm() {
    std::int64_t remaining = std::numeric_limits<std::int32_t>::max();
    if (group_.spec.execution_policy) {
      const api::DrainExecutionPolicy& policy = *group_.spec.execution_policy;
      if (policy.paused) return;
      if (policy.partition) remaining = *policy.partition;
    }
    remaining -=
        drains(State::running) + drains(State::succeeded) + drains(State::failed) + drains(State::aborted);
    for (const GroupNode* node : nodes(State::available)) {
      if (remaining-- <= 0) break;
      write(Act::kConfirm, node->drain->metadata.name);
    }
  }
  void finish() {
    if (drains(State::succeeded) > 0)
      return enter("Succeeded", fmt::format("Succeeded, {} DrainNode Succeeded", drains(State::succeeded)));
    fail("Failed", "Failed, no successful node");
  }

  const api::DrainNodeGroup& group_;
  const GroupScene& scene_;
  const WallTime now_;
  const std::optional<WallTime> ends_;
  GroupStep step_;
  std::map<State, std::vector<const GroupNode*>> by_state_;
  std::map<State, std::int32_t> drains_;
};

}  // namespace

GroupStep next_step(const api::DrainNodeGroup& group, const GroupScene& scene, WallTime now) {
  return Look(group, scene, now).next();
}

std::string first_of(const std::vector<const api::DrainNodeGroup*>& groups) {
  const api::DrainNodeGroup* first = nullptr;
  const auto order = [](const api::DrainNodeGroup* g) {
    return std::tuple(!has_begun(*g), g->metadata.creation_timestamp, std::string_view(g->metadata.name));
  };
  for (const api::DrainNodeGroup* group : groups)
    if (!is_ended(*group) && (first == nullptr || order(group) < order(first))) first = group;
  return first ? first->metadata.name : std::string();
}

api::DrainNode drain_for(const api::DrainNodeGroup& group, std::string_view node, const std::string& why) {
  api::DrainNode drain;
  drain.metadata.name = drain_name(group.metadata.name, node);
  drain.metadata.labels[api::kDrainGroupLabel] = Symbol(group.metadata.name);
  if (node.size() <= kMaxName) drain.metadata.labels[api::kDrainNodeNameLabel] = Symbol(node);
  if (!why.empty()) drain.metadata.annotations[api::kDrainUnavailableAnnotation] = Symbol(why);
  api::OwnerReference& owner = drain.metadata.owner_references.emplace_back();
  owner.api_version = Symbol(api::kind<api::DrainNodeGroup>().api_version());
  owner.kind = Symbol(api::kind<api::DrainNodeGroup>().kind);
  owner.name = Symbol(group.metadata.name);
  owner.uid = Symbol(group.metadata.uid);
  owner.controller = owner.block_owner_deletion = true;
  drain.spec.node_name = node;
  drain.spec.ttl = group.spec.ttl;
  drain.spec.cordon_policy = group.spec.cordon_node_policy;
  drain.spec.migration_policy.mode = "MigrateDirectly";
  drain.spec.confirm_state = Symbol(why.empty() ? "WaitForConfirm" : "Rejected");
  return drain;
}

}  // namespace koord::descheduler::drain
