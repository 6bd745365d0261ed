// Deletion that follows other deletions: background, foreground and orphan, and namespaces that end.
#include "sandbox/controllers/garbage.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace koord::sandbox {
namespace {

// Too many and too short-lived to own anything.
bool never_owns(const Collection& collection) {
  return collection.id() == "events" || collection.id() == "leases.coordination.k8s.io";
}

bool has_finalizer(const Object& object, std::string_view name) {
  if (!object.has_finalizers) return false;
  json::Document doc;
  load(object, doc);
  const json::Value* list = find(doc, "metadata", "finalizers");
  if (!list || !list->is_array()) return false;
  const auto names = list->elements();
  return std::any_of(names.begin(), names.end(),
                     [&](const json::Value& each) { return each.text() == name; });
}

}  // namespace

Garbage::Garbage(Verbs& verbs) : verbs_(verbs), wheel_(verbs.clock(), [this](Job& job) { run(job); }) {
  verbs_.store().add_observer(*this);
}

Garbage::~Garbage() { verbs_.store().remove_observer(*this); }

void Garbage::on_change(Collection& collection, const Change& change) {
  const Object& object = *change.object;
  if (collection.id() == "namespaces" && object.deleting && change.type != Change::Type::deleted)
    empty_later(object.name);
  if (never_owns(collection)) return;
  Dependent self{collection.id(), object.ns, object.name};
  if (change.previous)
    for (const OwnerRef& owner : change.previous->owners)
      if (auto it = dependents_.find(owner.uid); it != dependents_.end()) {
        it->second.erase(self);
        if (it->second.empty()) dependents_.erase(it);
      }
  if (change.type == Change::Type::deleted) {
    alive_.erase(object.uid);
    if (dependents_.contains(object.uid))
      later({Job::Type::owner_gone, collection.id(), object.ns, object.name, object.uid});
    // A foreground deletion may have waited for this one.
    for (const OwnerRef& owner : object.owners)
      later({Job::Type::owner_going, "", object.ns, owner.name, owner.uid});
    if (!object.ns.empty())
      if (auto space = verbs_.store().collection("namespaces").get("", object.ns); space && space->deleting)
        empty_later(object.ns);
    return;
  }
  alive_.insert(object.uid);
  bool orphaned = change.type == Change::Type::added && !object.owners.empty();
  for (const OwnerRef& owner : object.owners) {
    dependents_[owner.uid].insert(self);
    orphaned = orphaned && !owner_exists(owner.uid);
  }
  // One owner that lives is enough to stay.
  if (orphaned) later({Job::Type::orphaned, self.collection, self.ns, self.name, object.uid});
  if (object.deleting && object.has_finalizers)
    later({Job::Type::owner_going, collection.id(), object.ns, object.name, object.uid});
}

std::shared_ptr<const Kind> Garbage::kind_of(const std::string& collection) const {
  for (const auto& kind : verbs_.registry().all())
    if (kind->objects && kind->objects->id() == collection && kind->is_stored_form()) return kind;
  return nullptr;
}

void Garbage::run(Job& job) {
  switch (job.type) {
    case Job::Type::owner_gone: owner_gone(job); break;
    case Job::Type::owner_going: owner_going(job); break;
    case Job::Type::empty_namespace: empty_namespace(job.name); break;
    case Job::Type::orphaned: {
      auto kind = kind_of(job.collection);
      ObjectPtr object = kind ? kind->objects->get(job.ns, job.name) : nullptr;
      if (!object || object->uid != job.uid || object->owners.empty()) break;
      if (std::none_of(object->owners.begin(), object->owners.end(),
                       [&](const OwnerRef& owner) { return owner_exists(owner.uid); }))
        (void)verbs_.remove(*kind, job.ns, job.name);
      break;
    }
  }
}

void Garbage::owner_gone(const Job& job) {
  auto it = dependents_.find(job.uid);
  if (it == dependents_.end()) return;
  for (const Dependent& dependent : std::set<Dependent>(it->second)) {
    auto kind = kind_of(dependent.collection);
    ObjectPtr object = kind ? kind->objects->get(dependent.ns, dependent.name) : nullptr;
    if (!object || object->deleting) continue;
    // One owner that lives is enough to stay.
    if (std::any_of(object->owners.begin(), object->owners.end(),
                    [&](const OwnerRef& owner) { return owner_exists(owner.uid); }))
      continue;
    (void)verbs_.remove(*kind, dependent.ns, dependent.name);
  }
}

void Garbage::owner_going(const Job& job) {
  std::shared_ptr<const Kind> kind;
  ObjectPtr owner;
  for (const auto& each : verbs_.registry().all()) {
    if (!each->objects || !each->is_stored_form() ||
        (!job.collection.empty() && each->objects->id() != job.collection))
      continue;
    owner = each->objects->get(each->namespaced ? job.ns : "", job.name);
    if (owner && owner->uid == job.uid) {
      kind = each;
      break;
    }
  }
  if (!kind || !owner->deleting) return;
  std::string_view finalizer;
  if (has_finalizer(*owner, "orphan")) finalizer = "orphan";
  if (has_finalizer(*owner, "foregroundDeletion")) finalizer = "foregroundDeletion";
  if (finalizer.empty()) return;
  bool blocked = false;
  if (auto it = dependents_.find(job.uid); it != dependents_.end()) {
    for (const Dependent& dependent : std::set<Dependent>(it->second)) {
      auto their_kind = kind_of(dependent.collection);
      ObjectPtr object = their_kind ? their_kind->objects->get(dependent.ns, dependent.name) : nullptr;
      if (!object) continue;
      if (finalizer == "orphan") {
        verbs_.write_trusted(*their_kind, *object, [&](json::Document& doc) {
          json::Value& list = *find(doc, "metadata", "ownerReferences");
          list.erase_if([&](const json::Value& ref) { return text_at(ref, "uid") == job.uid; });
        });
        continue;
      }
      blocked = blocked ||
                std::any_of(object->owners.begin(), object->owners.end(),
                            [&](const OwnerRef& ref) { return ref.uid == job.uid && ref.block_deletion; });
      if (!object->deleting) {
        DeleteOptions options;
        options.propagation = "Foreground";
        (void)verbs_.remove(*their_kind, dependent.ns, dependent.name,
                            dependents_.contains(object->uid) ? options : DeleteOptions());
      }
    }
  }
  if (blocked && dependents_.contains(job.uid)) return;  // asked again when a dependent has gone
  (void)verbs_.modify(*kind, owner->ns, owner->name, "", [&](json::Document& doc) -> Outcome<void> {
    json::Value* list = find(doc, "metadata", "finalizers");
    if (!list || !list->is_array()) return {};
    list->erase_if([&](const json::Value& each) { return each.text() == finalizer; });
    return {};
  });
}

void Garbage::empty_later(const std::string& name) {
  // Once for all that goes meanwhile.
  if (ending_.insert(name).second) later({Job::Type::empty_namespace, "namespaces", "", name, ""});
}

void Garbage::empty_namespace(const std::string& name) {
  ending_.erase(name);
  auto space = verbs_.store().collection("namespaces").get("", name);
  if (!space || !space->deleting) return;
  bool left = false;
  for (const auto& kind : std::vector(verbs_.registry().all())) {
    if (!kind->namespaced || !kind->objects || !kind->is_stored_form()) continue;
    std::vector<ObjectPtr> inside;
    for (const auto& [key, object] : kind->objects->in_namespace(name)) inside.push_back(object);
    for (const ObjectPtr& object : inside) {
      if (object->deleting) {
        left = true;
        continue;
      }
      auto deleted = verbs_.remove(*kind, name, object->name);
      left = left || !deleted || !deleted->gone;
    }
  }
  if (left) return;  // asked again when the last of them has gone
  space = verbs_.store().collection("namespaces").get("", name);
  if (!space) return;
  if (space->has_finalizers) return;
  verbs_.erase(verbs_.registry().get("", "namespaces"), *space);
}

}  // namespace koord::sandbox
