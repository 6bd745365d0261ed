#include "sandbox/controllers/resource_claims.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace koord::sandbox {
namespace {

constexpr std::string_view kProtection = "resource.kubernetes.io/delete-protection";
constexpr const char* kPodClaimNote = "resource.kubernetes.io/pod-claim-name";
/// Claims that are made in one turn: a pod may name thousands, and others wait meanwhile.
constexpr int kMostAtOnce = 50;
constexpr int kLongestPause = 6;  // the power of two of seconds

bool has_ended(const Object& pod) {
  const std::string_view phase = pod.field("status.phase");
  return phase == "Succeeded" || phase == "Failed";
}

bool is_placed(const Object& pod) { return !pod.field("spec.nodeName").empty(); }

/// None of its containers runs, or will.
bool is_done(const Object& pod) { return has_ended(pod) || (pod.deleting && !is_placed(pod)); }

const OwnerRef* owning_pod(const Object& claim) {
  const OwnerRef* owner = controller_of(claim);
  return owner && owner->kind == "Pod" ? owner : nullptr;
}

/// "<pod>-<claim in the pod>-", of which the server makes a name; long ones are cut, each to its share.
std::string generate_name(std::string_view pod, std::string_view pod_claim) {
  constexpr std::size_t kLongest = 57;
  std::string name = fmt::format("{}-{}-", pod, pod_claim);
  if (name.size() <= kLongest) return name;
  return fmt::format("{}-{}", pod.substr(0, pod.size() * kLongest / name.size()),
                     pod_claim.substr(0, pod_claim.size() * kLongest / name.size()));
}

bool is_protected(const json::Value& claim) {
  const json::Value* list = find(claim, "metadata", "finalizers");
  return list && std::ranges::any_of(list->elements(),
                                     [](const json::Value& each) { return each.text() == kProtection; });
}

}  // namespace

ResourceClaims::ResourceClaims(Verbs& verbs, Workloads::Create create)
    : verbs_(verbs),
      pods_(verbs.registry().get("", "pods")),
      claims_(verbs.registry().get("resource.k8s.io", "resourceclaims")),
      templates_(verbs.registry().get("resource.k8s.io", "resourceclaimtemplates")),
      create_(create ? std::move(create)
                     : [this](const Kind& kind, const std::string& ns, json::Document doc,
                              const Workloads::Done& done) { done(verbs_.create(kind, ns, doc)); }),
      queue_(verbs.clock(), [this](const Key& key) { key.pod ? sync_pod(key) : sync_claim(key); }) {
  verbs_.store().add_observer(*this);
}

ResourceClaims::~ResourceClaims() { verbs_.store().remove_observer(*this); }

void ResourceClaims::on_change(Collection& collection, const Change& change) {
  if (&collection == pods_.objects) return pod_changed(change);
  if (&collection == claims_.objects) return claim_changed(change);
  if (&collection != templates_.objects || change.type == Change::Type::deleted) return;
  const auto found = waiting_.find(change.object->key());
  if (found == waiting_.end()) return;
  for (const std::string& name : found->second) queue_.add({true, change.object->ns, name});
  waiting_.erase(found);
}

void ResourceClaims::note_users(const Object* before, const Object* pod) {
  if (before && pod && before->field(kDeviceClaimsField) == pod->field(kDeviceClaimsField)) return;
  if (before)
    for_each_device_claim(*before, [&](DeviceClaimOrigin, std::string_view name) {
      const auto found = name.empty() ? users_.end() : users_.find(Object::make_key(before->ns, name));
      if (found == users_.end()) return;
      found->second.erase(before->name);
      if (found->second.empty()) users_.erase(found);
    });
  if (pod)
    for_each_device_claim(*pod, [&](DeviceClaimOrigin, std::string_view name) {
      if (!name.empty()) users_[Object::make_key(pod->ns, name)].insert(pod->name);
    });
}

void ResourceClaims::pod_changed(const Change& change) {
  const Object& pod = *change.object;
  const bool gone = change.type == Change::Type::deleted;
  if (pod.field(kDeviceClaimsField).empty() &&
      (!change.previous || change.previous->field(kDeviceClaimsField).empty()))
    return;
  note_users(change.previous.get(), gone ? nullptr : &pod);
  if (gone) forget(pod);
  if (gone || is_done(pod)) {
    for_each_device_claim(pod, [&](DeviceClaimOrigin, std::string_view name) {
      if (!name.empty()) queue_.add({false, pod.ns, std::string(name)});
    });
    // Claims that its status does not name yet.
    if (const auto made = made_.find(pod.uid); made != made_.end())
      for (const auto& [pod_claim, name] : made->second) queue_.add({false, pod.ns, name});
  }
  if (!gone) look_at(pod);
}

void ResourceClaims::forget(const Object& pod) {
  const auto making = making_.find(pod.uid);
  if (making == making_.end()) return;
  if (const auto waiting = waiting_.find(making->second.missing); waiting != waiting_.end()) {
    waiting->second.erase(pod.name);
    if (waiting->second.empty()) waiting_.erase(waiting);
  }
  making_.erase(making);
}

void ResourceClaims::claim_changed(const Change& change) {
  const Object& claim = *change.object;
  const bool gone = change.type == Change::Type::deleted;
  if (!gone) queue_.add({false, claim.ns, claim.name});
  const auto drop = [&](const Object& of) {
    const OwnerRef* owner = owning_pod(of);
    const auto made = owner ? made_.find(owner->uid) : made_.end();
    if (made == made_.end()) return;
    made->second.erase({std::string(of.field(kPodClaimField)), of.name});
    if (made->second.empty()) made_.erase(made);
  };
  if (change.previous) drop(*change.previous);
  if (const OwnerRef* owner = gone ? nullptr : owning_pod(claim))
    made_[owner->uid].emplace(claim.field(kPodClaimField), claim.name);
  const auto users = users_.find(claim.key());
  if (users == users_.end()) return;
  for (const std::string& name : users->second)
    if (const ObjectPtr pod = pods_.objects->get(claim.ns, name)) look_at(*pod);
}

void ResourceClaims::look_at(const Object& pod) {
  if (!pod.deleting && needs_work(pod)) queue_.add({true, pod.ns, pod.name});
}

// One that has ended gets nothing more: what it lets go of would come back, and be taken from it again.
bool ResourceClaims::needs_work(const Object& pod) const {
  if (is_done(pod)) return false;
  bool work = false, settled = false;
  for_each_device_claim(pod, [&](DeviceClaimOrigin origin, std::string_view name) {
    if (work || settled || origin == DeviceClaimOrigin::extended) return;
    if (origin == DeviceClaimOrigin::awaited) {
      work = true;
      return;
    }
    const ObjectPtr claim = name.empty() ? nullptr : claims_.objects->get(pod.ns, name);
    if (!claim) {  // one that somebody else is to make, or that nobody needs
      work = origin == DeviceClaimOrigin::made;
      settled = !work;
    } else if (origin == DeviceClaimOrigin::made && !is_for_pod(*claim, pod)) {
      settled = true;
    } else {
      work = is_placed(pod) && is_allocated(*claim) && !is_reserved_for(*claim, pod.uid) &&
             can_be_reserved(*claim);
    }
  });
  return work;
}

// ---- Pods
void ResourceClaims::sync_pod(const Key& key) {
  const ObjectPtr pod = pods_.objects->get(key.ns, key.name);
  if (!pod || pod->deleting || is_done(*pod)) return;
  json::Document doc;
  load(*pod, doc);
  std::map<std::string, std::string> names;
  if (make_claims(key, *pod, doc, names) == Made::later) return;
  if (!names.empty()) write_statuses(*pod, names);
  const ObjectPtr now = pods_.objects->get(key.ns, key.name);
  if (now && now->uid == pod->uid && is_placed(*now)) reserve(*now);
}

std::string ResourceClaims::claim_made_for(const Object& pod, const std::string& pod_claim) const {
  const auto made = made_.find(pod.uid);
  if (made == made_.end()) return {};
  const auto first = made->second.lower_bound({pod_claim, {}});
  return first == made->second.end() || first->first != pod_claim ? std::string() : first->second;
}

// In the order of the spec; one that cannot be made keeps those behind it waiting, too, as in Kubernetes.
ResourceClaims::Made ResourceClaims::make_claims(const Key& key, const Object& pod, const json::Value& doc,
                                                 std::map<std::string, std::string>& names) {
  const json::Value* list = find(doc, "spec", "resourceClaims");
  if (!list) return Made::done;
  // By what the pod calls them.
  std::map<std::string_view, std::string_view> said;
  if (const json::Value* statuses = find(doc, "status", "resourceClaimStatuses"))
    for (const json::Value& each : statuses->elements())
      said.emplace(text_at(each, "name"), text_at(each, "resourceClaimName"));
  int budget = kMostAtOnce;
  bool later = false;
  for (const json::Value& each : list->elements()) {
    const std::string_view template_name = text_at(each, "resourceClaimTemplateName");
    if (template_name.empty()) continue;
    const std::string name(text_at(each, "name"));
    if (const auto status = said.find(name); status != said.end()) {
      if (status->second.empty()) continue;  // not needed
      const ObjectPtr claim = claims_.objects->get(pod.ns, status->second);
      if (claim && is_for_pod(*claim, pod)) continue;
    }
    if (std::string claim = claim_made_for(pod, name); !claim.empty()) {
      names.emplace(name, std::move(claim));
      continue;
    }
    if (budget-- == 0) {
      queue_.add(key);
      return Made::later;
    }
    if (!make_claim(key, pod, name, template_name)) return Made::later;
    // Made at once, or by somebody who is asked first.
    if (std::string claim = claim_made_for(pod, name); !claim.empty())
      names.emplace(name, std::move(claim));
    else
      later = true;
  }
  return later ? Made::later : Made::done;
}

bool ResourceClaims::make_claim(const Key& key, const Object& pod, const std::string& pod_claim,
                                std::string_view template_name) {
  const ObjectPtr pattern = templates_.objects->get(pod.ns, template_name);
  {
    Making& making = making_[pod.uid];
    if (!pattern) {
      making.missing = Object::make_key(pod.ns, template_name);
      waiting_[making.missing].insert(pod.name);
      return false;
    }
    if (making.under_way.contains(pod_claim)) return true;
    if (const MonoTime now = verbs_.clock().mono(); now < making.not_before) {
      queue_.add(key, making.not_before - now);
      return false;
    }
    making.under_way.insert(pod_claim);
  }
  json::Document source, claim;
  load(*pattern, source);
  json::Arena& arena = claim.arena();
  claim.set_object();
  json::Value& meta = object_at(claim, "metadata", arena);
  set_text(meta, "generateName", generate_name(pod.name, pod_claim), arena);
  for (const char* map : {"labels", "annotations"})
    if (const json::Value* value = find(source, "spec", "metadata", map))
      set(meta, map, clone(*value, arena), arena);
  set_text(object_at(meta, "annotations", arena), kPodClaimNote, pod_claim, arena);
  json::Value owner = owner_reference(pods_, pod, arena);
  json::remove(owner, "blockOwnerDeletion");
  array_at(meta, "ownerReferences", arena).push_back(std::move(owner), arena);
  if (const json::Value* spec = find(source, "spec", "spec")) set(claim, "spec", clone(*spec, arena), arena);
  create_(claims_, pod.ns, std::move(claim),
          [this, key, uid = pod.uid, pod_claim](const Outcome<ObjectPtr>& made) {
            const auto it = making_.find(uid);
            if (it == making_.end()) return;
            it->second.under_way.erase(pod_claim);
            it->second.refused = made ? 0 : it->second.refused + 1;
            it->second.not_before =
                made ? MonoTime{}
                     : verbs_.clock().mono() +
                           std::chrono::seconds(1 << std::min(it->second.refused - 1, kLongestPause));
            queue_.add(key);
          });
  const auto making = making_.find(pod.uid);
  return making == making_.end() || making->second.refused == 0;
}

void ResourceClaims::write_statuses(const Object& pod, const std::map<std::string, std::string>& names) {
  const auto edit = [&](json::Document& doc) -> Outcome<void> {
    json::Arena& arena = doc.arena();
    json::Value& list = array_at(object_at(doc, "status", arena), "resourceClaimStatuses", arena);
    list.erase_if(
        [&](const json::Value& each) { return names.contains(std::string(text_at(each, "name"))); });
    for (const auto& [name, claim] : names) {
      json::Value entry = json::Value::object();
      set_text(entry, "name", name, arena);
      set_text(entry, "resourceClaimName", claim, arena);
      list.push_back(std::move(entry), arena);
    }
    return {};
  };
  // A pod that becomes too large stays without; nobody can start it.
  (void)verbs_.modify(pods_, pod.ns, pod.name, "status", edit);
}

// Of a pod that was bound by somebody who did not do it.
void ResourceClaims::reserve(const Object& pod) {
  bool stopped = false;
  for_each_device_claim(pod, [&](DeviceClaimOrigin origin, std::string_view name) {
    if (stopped || origin == DeviceClaimOrigin::extended || name.empty()) return;
    const ObjectPtr claim = claims_.objects->get(pod.ns, name);
    stopped = !claim || (origin == DeviceClaimOrigin::made && !is_for_pod(*claim, pod));
    if (stopped || !is_allocated(*claim) || is_reserved_for(*claim, pod.uid) || !can_be_reserved(*claim))
      return;
    (void)verbs_.modify(claims_, pod.ns, name, "status", [&](json::Document& doc) -> Outcome<void> {
      json::Arena& arena = doc.arena();
      json::Value user = json::Value::object();
      set(user, "resource", json::make_const("pods"), arena);
      set_text(user, "name", pod.name, arena);
      set_text(user, "uid", pod.uid, arena);
      array_at(object_at(doc, "status", arena), "reservedFor", arena).push_back(std::move(user), arena);
      return {};
    });
  });
}

// ---- Claims
bool ResourceClaims::may_run(const Object& claim, const json::Value& user) const {
  const ObjectPtr pod = pods_.objects->get(claim.ns, text_at(user, "name"));
  return pod && pod->uid == text_at(user, "uid") && !is_done(*pod);
}

void ResourceClaims::unprotect(const Key& key) {
  (void)verbs_.modify(claims_, key.ns, key.name, "", [](json::Document& doc) -> Outcome<void> {
    json::Value* list = find(doc, "metadata", "finalizers");
    if (!list || !list->is_array()) return {};
    list->erase_if([](const json::Value& each) { return each.text() == kProtection; });
    if (list->empty()) json::remove(*find(doc, "metadata"), "finalizers");
    return {};
  });
}

void ResourceClaims::sync_claim(const Key& key) {
  const ObjectPtr claim = claims_.objects->get(key.ns, key.name);
  if (!claim) return;
  json::Document doc;
  load(*claim, doc);
  const json::Value* users = find(doc, "status", "reservedFor");
  std::size_t before = 0, valid = 0;
  for (std::size_t i = 0; users && i < users->elements().size(); ++i) {
    const json::Value& user = (*users)[i];
    // Who uses it is not known: it is left alone.
    if (!text_at(user, "apiGroup").empty() || text_at(user, "resource") != "pods") return;
    ++before;
    valid += may_run(*claim, user);
  }
  const bool guarded = is_protected(doc), allocated = is_allocated(*claim);
  const auto write = [&] {
    return verbs_.modify(claims_, key.ns, key.name, "status", [&](json::Document& now) -> Outcome<void> {
      json::Value& status = object_at(now, "status", now.arena());
      if (json::Value* list = find(status, "reservedFor"))
        list->erase_if([&](const json::Value& user) { return !may_run(*claim, user); });
      // The last one has left: whoever comes next may be placed elsewhere.
      if (valid == 0 && guarded) json::remove(status, "allocation");
      if (is_empty(find(status, "reservedFor"))) json::remove(status, "reservedFor");
      return {};
    });
  };
  if (valid < before) {
    const auto written = write();
    if (!written) return;
    if (guarded && !is_allocated(**written)) unprotect(key);
  } else if (guarded && claim->deleting && valid == 0) {
    if (allocated && !write()) return;
    unprotect(key);
  }
  if (valid == 0) drop_unused(*claim);
}

// Of a pod that has ended, which may stay for long.
void ResourceClaims::drop_unused(const Object& claim) {
  const OwnerRef* owner = owning_pod(claim);
  if (!owner || claim.deleting) return;
  const ObjectPtr pod = pods_.objects->get(claim.ns, owner->name);
  if (pod && (pod->uid != owner->uid || is_done(*pod))) (void)verbs_.remove(claims_, claim.ns, claim.name);
}

}  // namespace koord::sandbox
