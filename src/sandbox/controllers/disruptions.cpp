// The disruption controller: expected, desired and healthy pods of budgets, and what that allows.
#include "sandbox/controllers/disruptions.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/values/time.hpp"
#include "koord/json/writer.hpp"
#include "sandbox/api/disruption.hpp"

namespace koord::sandbox {
namespace {

// How long an evicted pod is given to begin to end; then it counts again.
constexpr std::chrono::minutes kDeletionTimeout{2};

const OwnerRef* controller_of(const Object& object) {
  for (const OwnerRef& owner : object.owners)
    if (owner.controller) return &owner;
  return nullptr;
}

}  // namespace

Disruptions::Disruptions(Verbs& verbs)
    : verbs_(verbs),
      pods_(verbs.registry().get("", "pods")),
      budgets_(verbs.registry().get("policy", "poddisruptionbudgets")),
      queue_(verbs.clock(), [this](const Key& key) { sync(key); }) {
  verbs_.store().add_observer(*this);
}

Disruptions::~Disruptions() { verbs_.store().remove_observer(*this); }

void Disruptions::on_change(Collection& collection, const Change& change) {
  if (&collection == budgets_.objects) return budget_changed(change);
  if (&collection != pods_.objects) return;
  const auto space = known_.find(change.object->ns);
  if (space == known_.end()) return;
  for (auto& [name, budget] : space->second) {
    const auto selects = [&](const ObjectPtr& pod) {
      return pod && budget.selection && budget.selection->matches_labels(pod->labels);
    };
    const bool was = selects(change.previous);
    const bool is = change.type != Change::Type::deleted && selects(change.object);
    if (was) count(budget, *change.previous, -1);
    if (is) count(budget, *change.object, 1);
    if (was || is) queue_.add({change.object->ns, name});
  }
}

void Disruptions::budget_changed(const Change& change) {
  const Object& object = *change.object;
  if (change.type == Change::Type::deleted) {
    const auto space = known_.find(object.ns);
    if (space == known_.end()) return;
    space->second.erase(object.name);
    if (space->second.empty()) known_.erase(space);
    return;
  }
  json::Document doc;
  load(object, doc);
  const json::Value* selector = find(doc, "spec", "selector");
  std::string text = selector ? json::to_text(*selector) : "";
  const auto [it, first] = known_[object.ns].try_emplace(object.name);
  Budget& budget = it->second;
  if (first || budget.selector != text) {
    budget = {.selector = std::move(text)};
    if (auto selection = Selection::from_json(selector)) budget.selection = *std::move(selection);
    for (const auto& [key, pod] : pods_.objects->in_namespace(object.ns))
      if (budget.selection && budget.selection->matches_labels(pod->labels)) count(budget, *pod, 1);
  }
  queue_.add({object.ns, object.name});
}

void Disruptions::count(Budget& budget, const Object& pod, std::int64_t change) {
  budget.pods += change;
  if (!pod.deleting && !pod.field(kReadyField).empty()) budget.healthy += change;
  const OwnerRef* owner = controller_of(pod);
  if (!owner) return;
  Budget::Controller& controller = budget.controllers[owner->uid];
  controller.kind = owner->kind;
  controller.name = owner->name;
  controller.pod = pod.name;
  controller.pods += change;
  if (controller.pods == 0) budget.controllers.erase(owner->uid);
}

// The sum of what the pods' controllers should have; pods that nothing controls are not in it.
Disruptions::Wanted Disruptions::scale(const Budget& budget, const std::string& ns) const {
  Wanted wanted;
  std::set<std::string> seen;
  const auto find_object = [&](std::string_view kind_name, std::string_view name, std::string_view uid,
                               std::shared_ptr<const Kind>& kind) -> ObjectPtr {
    for (const auto& each : verbs_.registry().all()) {
      if (each->kind != kind_name || !each->objects) continue;
      if (ObjectPtr object = each->objects->get(ns, name); object && object->uid == uid) {
        kind = each;
        return object;
      }
    }
    return nullptr;
  };
  for (const auto& [uid, controller] : budget.controllers) {
    std::shared_ptr<const Kind> kind;
    ObjectPtr object = find_object(controller.kind, controller.name, uid, kind);
    // A Deployment's ReplicaSets count as one, by the Deployment.
    if (const OwnerRef* above = object ? controller_of(*object) : nullptr;
        above && controller.kind == "ReplicaSet" && above->kind == "Deployment")
      object = find_object(above->kind, above->name, above->uid, kind);
    if (!object) {
      wanted.problem = fmt::format("found no controllers for pod \"{}\"", controller.pod);
      return wanted;
    }
    if (!kind->scale) {
      wanted.problem = fmt::format("{} does not implement the scale subresource", kind->named().qualified());
      return wanted;
    }
    if (!seen.insert(object->uid).second) continue;
    json::Document doc;
    load(*object, doc);
    wanted.expected += int_at(doc, "spec", "replicas").value_or(1);
  }
  return wanted;
}

Disruptions::Wanted Disruptions::wanted(const Budget& budget, const json::Value& doc,
                                        const std::string& ns) const {
  const json::Value* most = find(doc, "spec", "maxUnavailable");
  const json::Value* least = find(doc, "spec", "minAvailable");
  if (!most && least && least->is_int()) return {budget.pods, *least->to_int(), ""};
  if (!most && !least) return {};
  Wanted wanted = scale(budget, ns);
  const std::int64_t share = disruption_amount(most ? *most : *least, wanted.expected);
  wanted.healthy = most ? std::max<std::int64_t>(wanted.expected - share, 0) : share;
  return wanted;
}

void Disruptions::sync(const Key& key) {
  const auto space = known_.find(key.ns);
  if (space == known_.end()) return;
  const auto it = space->second.find(key.name);
  const ObjectPtr object = budgets_.objects->get(key.ns, key.name);
  if (it == space->second.end() || !object) return;
  const Budget& budget = it->second;
  json::Document before, after;
  load(*object, before);
  load(*object, after);
  const Wanted wants = wanted(budget, before, key.ns);
  json::Arena& arena = after.arena();
  json::Value& status = object_at(after, "status", arena);
  if (!wants.problem.empty()) {
    set_int(status, "disruptionsAllowed", 0, arena);
    set_disruption_condition(status, "SyncFailed", wants.problem, verbs_.now_text(), arena);
  } else {
    // Pods that an eviction has named and that have not begun to end are as good as gone, for a while.
    std::int64_t healthy = budget.healthy;
    const WallTime now = verbs_.clock().now();
    if (json::Value* disrupted = find(status, "disruptedPods"); disrupted && disrupted->is_object()) {
      std::vector<std::string> over;
      for (const auto& member : disrupted->members()) {
        const ObjectPtr pod = pods_.objects->get(key.ns, member.key());
        const auto at = api::Time::parse(member.value.text());
        const WallTime until = at ? at->wall() + kDeletionTimeout : now;
        if (!pod || pod->deleting || until <= now || !budget.selection ||
            !budget.selection->matches_labels(pod->labels)) {
          over.emplace_back(member.key());
          continue;
        }
        healthy -= !pod->field(kReadyField).empty();
        queue_.add(key, until - now);
      }
      for (const std::string& name : over) json::remove(*disrupted, name);
      if (is_empty(disrupted)) json::remove(status, "disruptedPods");
    }
    const std::int64_t allowed = wants.expected > 0 ? std::max<std::int64_t>(healthy - wants.healthy, 0) : 0;
    set_int(status, "currentHealthy", healthy, arena);
    set_int(status, "desiredHealthy", wants.healthy, arena);
    set_int(status, "disruptionsAllowed", allowed, arena);
    set_int(status, "expectedPods", wants.expected, arena);
    set_int(status, "observedGeneration", int_at(after, "metadata", "generation").value_or(1), arena);
    set_disruption_condition(status, allowed > 0 ? "SufficientPods" : "InsufficientPods", "",
                             verbs_.now_text(), arena);
  }
  if (static_cast<const json::Value&>(before) == after) return;
  verbs_.write_trusted(budgets_, *object, [&](json::Document& fresh) {
    set(fresh, "status", clone(*find(after, "status"), fresh.arena()), fresh.arena());
  });
}

}  // namespace koord::sandbox
