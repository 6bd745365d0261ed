// Protection of claims, and claims of ephemeral volumes.
#include "sandbox/controllers/claim_guard.hpp"

#include <fmt/format.h>

#include "sandbox/kinds/pod_claims.hpp"

namespace koord::sandbox {
namespace {

constexpr std::string_view kProtection = "kubernetes.io/pvc-protection";
constexpr std::chrono::seconds kRetry{1};

}  // namespace

ClaimGuard::ClaimGuard(Verbs& verbs, Workloads::Create create)
    : verbs_(verbs),
      pods_(verbs.registry().get("", "pods")),
      claims_(verbs.registry().get("", "persistentvolumeclaims")),
      create_(create ? std::move(create)
                     : [this](const Kind& kind, const std::string& ns, json::Document doc,
                              const Workloads::Done& done) { done(verbs_.create(kind, ns, doc)); }),
      queue_(verbs.clock(), [this](const Key& key) { key.pod ? make_claims(key) : release(key); }) {
  verbs_.store().add_observer(*this);
}

ClaimGuard::~ClaimGuard() { verbs_.store().remove_observer(*this); }

void ClaimGuard::on_change(Collection& collection, const Change& change) {
  if (&collection == pods_.objects) return pod_changed(change);
  if (&collection == claims_.objects && change.object->deleting && change.type != Change::Type::deleted)
    queue_.add({false, change.object->ns, change.object->name});
}

void ClaimGuard::pod_changed(const Change& change) {
  const Object& pod = *change.object;
  if (pod.field(kClaimsField).empty()) return;
  const bool gone = change.type == Change::Type::deleted, placed = !pod.field("spec.nodeName").empty();
  bool ephemeral = false;
  for_each_claim(pod, [&](std::string_view name, bool own) {
    ephemeral = ephemeral || own;
    if (!placed) return;
    const std::string key = Object::make_key(pod.ns, name);
    if (!gone) {
      users_[key].insert(pod.uid);
      return;
    }
    const auto it = users_.find(key);
    if (it == users_.end() || it->second.erase(pod.uid) == 0 || !it->second.empty()) return;
    users_.erase(it);
    queue_.add({false, pod.ns, std::string(name)});
  });
  if (ephemeral && change.type == Change::Type::added) queue_.add({true, pod.ns, pod.name});
}

void ClaimGuard::release(const Key& key) {
  const ObjectPtr claim = claims_.objects->get(key.ns, key.name);
  if (!claim || !claim->deleting || users_.contains(claim->key())) return;
  (void)verbs_.modify(claims_, key.ns, key.name, "", [](json::Document& doc) -> Outcome<void> {
    if (json::Value* list = find(doc, "metadata", "finalizers"); list && list->is_array())
      list->erase_if([](const json::Value& each) { return each.text() == kProtection; });
    return {};
  });
}

void ClaimGuard::make_claims(const Key& key) {
  const ObjectPtr pod = pods_.objects->get(key.ns, key.name);
  if (!pod || pod->deleting) return;
  json::Document doc;
  load(*pod, doc);
  const json::Value* volumes = find(doc, "spec", "volumes");
  if (!volumes) return;
  for (const json::Value& volume : volumes->elements()) {
    const json::Value* part = find(volume, "ephemeral", "volumeClaimTemplate");
    if (!part) continue;
    const std::string name = fmt::format("{}-{}", pod->name, text_at(volume, "name"));
    if (claims_.objects->get(key.ns, name)) continue;
    json::Document claim;
    json::Arena& arena = claim.arena();
    claim.set_object();
    json::Value& meta = object_at(claim, "metadata", arena);
    for (const char* map : {"labels", "annotations"})
      if (const json::Value* value = find(*part, "metadata", map))
        set(meta, map, clone(*value, arena), arena);
    set_text(meta, "name", name, arena);
    array_at(meta, "ownerReferences", arena).push_back(owner_reference(pods_, *pod, arena), arena);
    if (const json::Value* spec = find(*part, "spec")) set(claim, "spec", clone(*spec, arena), arena);
    create_(claims_, key.ns, std::move(claim), [this, key](const Outcome<ObjectPtr>& made) {
      if (!made) queue_.add(key, kRetry);
    });
  }
}

}  // namespace koord::sandbox
