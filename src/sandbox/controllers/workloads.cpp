// The ReplicaSet and Deployment controllers.
#include "sandbox/controllers/workloads.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/json/writer.hpp"

namespace koord::sandbox {
namespace {

constexpr const char* kHashLabel = "pod-template-hash";
constexpr const char* kRevision = "deployment.kubernetes.io/revision";

struct PodState {
  bool active, ready, bound;
};

PodState state_of(const Object& pod) {
  const std::string_view phase = pod.field("status.phase"), node = pod.field("spec.nodeName");
  return {!pod.deleting && phase != "Succeeded" && phase != "Failed", phase == "Running", !node.empty()};
}

void condition(json::Value& status, const char* type, bool value, const char* reason,
               std::string_view message, const std::string& now, json::Arena& arena) {
  json::Value& list = array_at(status, "conditions", arena);
  json::Value* found = nullptr;
  for (auto& each : list.elements())
    if (text_at(each, "type") == type) found = &each;
  const char* text = value ? "True" : "False";
  if (found && text_at(*found, "status") == text && text_at(*found, "reason") == reason) return;
  if (!found) {
    list.push_back(json::Value::object(), arena);
    found = &list[list.size() - 1];
  }
  found->set_object();
  set(*found, "type", json::make_const(type), arena);
  set(*found, "status", json::make_const(text), arena);
  set_text(*found, "lastUpdateTime", now, arena);
  set_text(*found, "lastTransitionTime", now, arena);
  set(*found, "reason", json::make_const(reason), arena);
  set_text(*found, "message", message, arena);
}

}  // namespace

json::Value owner_reference(const Kind& kind, const Object& owner, json::Arena& arena) {
  json::Value ref = json::Value::object();
  set_text(ref, "apiVersion", kind.api_version(), arena);
  set_text(ref, "kind", kind.kind, arena);
  set_text(ref, "name", owner.name, arena);
  set_text(ref, "uid", owner.uid, arena);
  set(ref, "controller", json::Value(true), arena);
  set(ref, "blockOwnerDeletion", json::Value(true), arena);
  return ref;
}

const OwnerRef* controller_of(const Object& object) {
  for (const OwnerRef& owner : object.owners)
    if (owner.controller) return &owner;
  return nullptr;
}

std::string template_hash(const json::Value& part) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::size_t hash = std::hash<std::string>()(json::to_text(part));
  std::string text;
  for (int i = 0; i < 10; ++i, hash /= kAlphabet.size()) text += kAlphabet[hash % kAlphabet.size()];
  return text;
}

Workloads::Workloads(Verbs& verbs, Create create)
    : verbs_(verbs),
      pods_(verbs.registry().get("", "pods")),
      sets_(verbs.registry().get("apps", "replicasets")),
      deployments_(verbs.registry().get("apps", "deployments")),
      create_(create ? std::move(create)
                     : [this](const Kind& kind, const std::string& ns, json::Document doc,
                              const Done& done) { done(verbs_.create(kind, ns, doc)); }),
      wheel_(verbs.clock(), [this](Job& job) {
        dirty_.erase(job);
        job.deployment ? sync_deployment(job) : sync_replica_set(job);
      }) {
  verbs_.store().add_observer(*this);
}

Workloads::~Workloads() { verbs_.store().remove_observer(*this); }

void Workloads::later(Job job) {
  if (dirty_.insert(job).second) wheel_.add({}, std::move(job));
}

void Workloads::on_change(Collection& collection, const Change& change) {
  const Object& object = *change.object;
  bool pod = &collection == pods_.objects, set_changed = &collection == sets_.objects;
  if (&collection == deployments_.objects) later({true, object.ns, object.name});
  if (set_changed) later({false, object.ns, object.name});
  if (!pod && !set_changed) return;
  const OwnerRef* owner = controller_of(object);
  if (!owner || (pod ? owner->kind != "ReplicaSet" : owner->kind != "Deployment")) return;
  if (change.type == Change::Type::deleted) {
    auto it = children_.find(owner->uid);
    if (it != children_.end() && it->second.erase(object.key()) && it->second.empty()) children_.erase(it);
  } else {
    children_[owner->uid].insert(object.key());
  }
  later({set_changed, object.ns, owner->name});
}

std::vector<ObjectPtr> Workloads::owned(const Kind& kind, const std::string& ns,
                                        const std::string& uid) const {
  std::vector<ObjectPtr> list;
  auto it = children_.find(uid);
  if (it == children_.end()) return list;
  for (const std::string& key : it->second)
    if (ObjectPtr object = kind.objects->get(ns, key.substr(ns.size() + 1))) list.push_back(object);
  return list;
}

json::Document pod_of(const json::Value& part, const Kind& kind, const Object& owner) {
  json::Document pod;
  json::Arena& arena = pod.arena();
  pod.set_object();
  json::Value meta = json::Value::object();
  for (const char* map : {"labels", "annotations", "finalizers"})
    if (const json::Value* value = find(part, "metadata", map)) set(meta, map, clone(*value, arena), arena);
  set_text(meta, "generateName", fmt::format("{}-", owner.name), arena);
  array_at(meta, "ownerReferences", arena).push_back(owner_reference(kind, owner, arena), arena);
  set(pod, "metadata", std::move(meta), arena);
  if (const json::Value* spec = find(part, "spec")) set(pod, "spec", clone(*spec, arena), arena);
  return pod;
}

void Workloads::make_pod(const Object& owner, json::Document& doc) {
  const json::Value* part = find(doc, "spec", "template");
  if (!part) return;
  ++making_[owner.uid].under_way;
  create_(pods_, owner.ns, pod_of(*part, sets_, owner),
          [this, job = Job{false, owner.ns, owner.name}, uid = owner.uid](const Outcome<ObjectPtr>& made) {
            pod_made(job, uid, made);
          });
}

void Workloads::pod_made(const Job& job, const std::string& uid, const Outcome<ObjectPtr>& made) {
  constexpr std::chrono::milliseconds kFirst{500};
  constexpr int kMostDoublings = 6;
  Making& making = making_[uid];
  --making.under_way;
  if (made) {
    making.refused = 0;
    making.why.clear();
  } else if (making.not_before <= verbs_.clock().mono()) {
    // Refused pods are tried again, at longer and longer intervals.
    const nanoseconds pause = kFirst * (1 << std::min(making.refused, kMostDoublings));
    ++making.refused;
    making.why = made.error().message;
    making.not_before = verbs_.clock().mono() + pause;
    wheel_.add(pause, job);
  }
  if (making.under_way == 0 && making.refused == 0) making_.erase(uid);
  later(job);
}

void Workloads::sync_replica_set(const Job& job) {
  ObjectPtr object = sets_.objects->get(job.ns, job.name);
  if (!object || object->deleting) return;
  json::Document doc;
  load(*object, doc);
  std::int64_t wanted = int_at(doc, "spec", "replicas").value_or(1);
  std::vector<ObjectPtr> active;
  for (const ObjectPtr& pod : owned(pods_, job.ns, object->uid))
    if (state_of(*pod).active) active.push_back(pod);
  std::int64_t missing = wanted - static_cast<std::int64_t>(active.size());
  std::string refused;
  if (const auto making = making_.find(object->uid); making != making_.end()) {
    if (missing > 0) missing = std::max<std::int64_t>(missing - making->second.under_way, 0);
    if (verbs_.clock().mono() < making->second.not_before) missing = std::min<std::int64_t>(missing, 0);
    refused = making->second.why;
  }
  for (std::int64_t i = 0; i < missing && i < 500; ++i) make_pod(*object, doc);
  if (missing > 500) later(job);
  if (missing < 0) {
    // The ones that are furthest from running go first, then the youngest.
    std::sort(active.begin(), active.end(), [](const ObjectPtr& a, const ObjectPtr& b) {
      PodState x = state_of(*a), y = state_of(*b);
      if (x.bound != y.bound) return !x.bound;
      if (x.ready != y.ready) return !x.ready;
      return a->rv > b->rv;
    });
    for (std::int64_t i = 0; i < -missing; ++i)
      (void)verbs_.remove(pods_, job.ns, active[static_cast<std::size_t>(i)]->name);
  }
  std::int64_t replicas = 0, ready = 0;
  for (const ObjectPtr& pod : owned(pods_, job.ns, object->uid)) {
    PodState state = state_of(*pod);
    replicas += state.active;
    ready += state.active && state.ready;
  }
  std::int64_t generation = int_at(doc, "metadata", "generation").value_or(1);
  const json::Value* status = find(doc, "status");
  auto now = [&](const char* field) { return status ? int_at(*status, field) : std::nullopt; };
  const json::Value* conditions = status ? find(*status, "conditions") : nullptr;
  const std::string_view said =
      is_empty(conditions) ? std::string_view() : text_at((*conditions)[0], "message");
  if (now("replicas") == replicas && now("readyReplicas").value_or(0) == ready &&
      now("observedGeneration") == generation && said == refused)
    return;
  object = sets_.objects->get(job.ns, job.name);
  if (!object) return;
  verbs_.write_trusted(sets_, *object, [&](json::Document& fresh) {
    json::Arena& arena = fresh.arena();
    json::Value& out = object_at(fresh, "status", arena);
    set_int(out, "replicas", replicas, arena);
    set_int(out, "fullyLabeledReplicas", replicas, arena);
    for (const char* field : {"readyReplicas", "availableReplicas"})
      if (ready > 0)
        set_int(out, field, ready, arena);
      else
        json::remove(out, field);
    set_int(out, "observedGeneration", generation, arena);
    json::remove(out, "conditions");
    if (!refused.empty())
      condition(out, "ReplicaFailure", true, "FailedCreate", refused, verbs_.now_text(), arena);
  });
}

void Workloads::sync_deployment(const Job& job) {
  ObjectPtr object = deployments_.objects->get(job.ns, job.name);
  if (!object || object->deleting) return;
  json::Document doc;
  load(*object, doc);
  const json::Value* part = find(doc, "spec", "template");
  if (!part) return;
  std::string hash = template_hash(*part);
  std::int64_t wanted = int_at(doc, "spec", "replicas").value_or(1);
  ObjectPtr current;
  std::int64_t revision = 0;
  auto sets = owned(sets_, job.ns, object->uid);
  for (const ObjectPtr& each : sets) {
    if (const std::string* label = each->label(kHashLabel); label && *label == hash) current = each;
    json::Document other;
    load(*each, other);
    revision = std::max<std::int64_t>(
        revision, std::atoll(std::string(text_at(other, "metadata", "annotations", kRevision)).c_str()));
  }
  if (!current && !true_at(doc, "spec", "paused")) {
    ++revision;
    json::Document made;
    json::Arena& arena = made.arena();
    made.set_object();
    json::Value meta = json::Value::object();
    set_text(meta, "name", fmt::format("{}-{}", job.name, hash), arena);
    json::Value labels = find(*part, "metadata", "labels") ? clone(*find(*part, "metadata", "labels"), arena)
                                                           : json::Value::object();
    set_text(labels, kHashLabel, hash, arena);
    set(meta, "labels", clone(labels, arena), arena);
    json::Value annotations = json::Value::object();
    set_text(annotations, "deployment.kubernetes.io/desired-replicas", fmt::to_string(wanted), arena);
    set_text(annotations, kRevision, fmt::to_string(revision), arena);
    set(meta, "annotations", std::move(annotations), arena);
    array_at(meta, "ownerReferences", arena).push_back(owner_reference(deployments_, *object, arena), arena);
    set(made, "metadata", std::move(meta), arena);
    json::Value& spec = object_at(made, "spec", arena);
    set_int(spec, "replicas", wanted, arena);
    if (const json::Value* selector = find(doc, "spec", "selector")) {
      set(spec, "selector", clone(*selector, arena), arena);
      set_text(object_at(*find(spec, "selector"), "matchLabels", arena), kHashLabel, hash, arena);
    }
    json::Value& copy = set(spec, "template", clone(*part, arena), arena);
    set(object_at(copy, "metadata", arena), "labels", std::move(labels), arena);
    auto created = verbs_.create(sets_, job.ns, made);
    if (!created) return;
    current = *created;
    sets.push_back(current);
  }
  for (const ObjectPtr& each : sets) {
    json::Document other;
    load(*each, other);
    std::int64_t want = each->uid == (current ? current->uid : "") ? wanted
                        : current                                  ? 0
                                  : int_at(other, "spec", "replicas").value_or(0);
    if (int_at(other, "spec", "replicas") == want) continue;
    (void)verbs_.modify(sets_, job.ns, each->name, "", [&](json::Document& fresh) -> Outcome<void> {
      set_int(*find(fresh, "spec"), "replicas", want, fresh.arena());
      return {};
    });
  }
  std::int64_t replicas = 0, updated = 0, ready = 0;
  for (const ObjectPtr& each : owned(sets_, job.ns, object->uid)) {
    json::Document other;
    load(*each, other);
    std::int64_t count = int_at(other, "status", "replicas").value_or(0);
    replicas += count;
    ready += int_at(other, "status", "readyReplicas").value_or(0);
    if (current && each->uid == current->uid) updated = count;
  }
  object = deployments_.objects->get(job.ns, job.name);
  if (!object) return;
  json::Document before;
  load(*object, before);
  std::int64_t generation = int_at(before, "metadata", "generation").value_or(1);
  auto edit = [&](json::Document& fresh) {
    json::Arena& arena = fresh.arena();
    set_text(object_at(*find(fresh, "metadata"), "annotations", arena), kRevision,
             fmt::to_string(std::max<std::int64_t>(revision, 1)), arena);
    json::Value& status = object_at(fresh, "status", arena);
    set_int(status, "observedGeneration", generation, arena);
    auto count = [&](const char* field, std::int64_t value) {
      if (value > 0)
        set_int(status, field, value, arena);
      else
        json::remove(status, field);
    };
    count("replicas", replicas);
    count("updatedReplicas", updated);
    count("readyReplicas", ready);
    count("availableReplicas", ready);
    count("unavailableReplicas", std::max<std::int64_t>(wanted - ready, 0));
    bool enough = ready >= wanted - wanted / 4;
    std::string now = verbs_.now_text();
    condition(
        status, "Available", enough, enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
        enough ? "Deployment has minimum availability." : "Deployment does not have minimum availability.",
        now, arena);
    std::string set_name = current ? current->name : job.name;
    bool complete = updated == wanted && ready >= wanted;
    condition(status, "Progressing", true, complete ? "NewReplicaSetAvailable" : "ReplicaSetUpdated",
              fmt::format("ReplicaSet \"{}\" {}", set_name,
                          complete ? "has successfully progressed." : "is progressing."),
              now, arena);
  };
  json::Document after;
  load(*object, after);
  edit(after);
  if (same(&before, &after)) return;
  verbs_.write_trusted(deployments_, *object, edit);
}

}  // namespace koord::sandbox
