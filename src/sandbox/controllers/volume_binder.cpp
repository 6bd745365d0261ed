// The persistent volume controller.
#include "sandbox/controllers/volume_binder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "koord/api/values/quantity.hpp"
#include "koord/json/writer.hpp"
#include "sandbox/admission/rules.hpp"
#include "sandbox/select/selection.hpp"

namespace koord::sandbox {
namespace {

constexpr const char* kBetaClass = "volume.beta.kubernetes.io/storage-class";
constexpr const char* kBetaProvisioner = "volume.beta.kubernetes.io/storage-provisioner";
constexpr std::string_view kProtection = "kubernetes.io/pv-protection";
constexpr std::string_view kModes[] = {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"};

std::string_view annotation(const json::Value& object, const char* name) {
  return text_at(object, "metadata", "annotations", name);
}

void annotate(json::Value& object, const char* name, std::string_view value, json::Arena& arena) {
  set_text(object_at(object_at(object, "metadata", arena), "annotations", arena), name, value, arena);
}

std::int64_t size_of(const json::Value* amount) {
  if (!amount) return 0;
  const auto quantity =
      api::Quantity::parse(amount->is_string() ? std::string(amount->text()) : json::to_text(*amount));
  return quantity ? quantity->value() : 0;
}

void write_phase(json::Value& volume, std::string_view phase, const std::string& now, json::Arena& arena) {
  json::Value& status = object_at(volume, "status", arena);
  if (text_at(status, "phase") == phase) return;
  set_text(status, "phase", phase, arena);
  set_text(status, "lastPhaseTransitionTime", now, arena);
}

}  // namespace

json::Value& write_claim(json::Value& volume_spec, const Object& claim, json::Arena& arena) {
  json::Value& ref = object_at(volume_spec, "claimRef", arena);
  set(ref, "kind", json::make_const("PersistentVolumeClaim"), arena);
  set_text(ref, "namespace", claim.ns, arena);
  set_text(ref, "name", claim.name, arena);
  set_text(ref, "uid", claim.uid, arena);
  set(ref, "apiVersion", json::make_const("v1"), arena);
  return ref;
}

std::string_view storage_class_of(const json::Value& object) {
  const std::string_view old = annotation(object, kBetaClass);
  return old.empty() ? text_at(object, "spec", "storageClassName") : old;
}

VolumeBinder::VolumeTraits::VolumeTraits(const json::Value& object, const json::Value* size)
    : storage_class(storage_class_of(object)),
      mode(text_at(object, "spec", "volumeMode")),
      attributes_class(text_at(object, "spec", "volumeAttributesClassName")),
      bytes(size_of(size)) {
  if (const json::Value* modes = find(object, "spec", "accessModes"))
    for (const json::Value& each : modes->elements())
      for (unsigned i = 0; i < std::size(kModes); ++i)
        if (each.text() == kModes[i]) access |= 1U << i;
}

bool VolumeBinder::VolumeTraits::met_by(const VolumeTraits& volume) const {
  return volume.bytes >= bytes && volume.mode == mode && volume.attributes_class == attributes_class &&
         (access & ~volume.access) == 0;
}

VolumeBinder::VolumeBinder(Verbs& verbs)
    : verbs_(verbs),
      claims_(verbs.registry().get("", "persistentvolumeclaims")),
      volumes_(verbs.registry().get("", "persistentvolumes")),
      classes_(verbs.registry().get("storage.k8s.io", "storageclasses")),
      queue_(verbs.clock(), [this](const Key& key) { sync(key); }) {
  verbs_.store().add_observer(*this);
}

VolumeBinder::~VolumeBinder() { verbs_.store().remove_observer(*this); }

void VolumeBinder::on_change(Collection& collection, const Change& change) {
  if (&collection == claims_.objects) return claim_changed(change);
  if (&collection == volumes_.objects) return volume_changed(change);
  if (&collection != classes_.objects || change.type == Change::Type::deleted) return;
  queue_.add({Key::Target::storage_class, "", change.object->name});
  // One that is the default is everybody's who names none.
  if (!change.object->fields.empty()) queue_.add({Key::Target::storage_class, "", ""});
}

void VolumeBinder::claim_changed(const Change& change) {
  const Object& claim = *change.object;
  const Key self{Key::Target::claim, claim.ns, claim.name};
  if (const auto it = claims_of_.find(claim.key()); it != claims_of_.end()) {
    const auto drop = [&](auto& map, const std::string& name) {
      const auto entry = map.find(name);
      if (entry != map.end() && entry->second.erase(self) && entry->second.empty()) map.erase(entry);
    };
    drop(waiting_, it->second.first);
    drop(naming_, it->second.second);
    claims_of_.erase(it);
  }
  if (const auto it = reserved_.find(claim.key()); it != reserved_.end())
    for (const std::string& volume : it->second) queue_.add({Key::Target::volume, "", volume});
  if (change.type == Change::Type::deleted) return;
  json::Document doc;
  load(claim, doc);
  std::string storage_class(storage_class_of(doc)), volume(text_at(doc, "spec", "volumeName"));
  if (volume.empty())
    waiting_[storage_class].insert(self);
  else
    naming_[volume].insert(self);
  claims_of_.emplace(claim.key(), std::pair(std::move(storage_class), std::move(volume)));
  queue_.add(self);
}

void VolumeBinder::forget_volume(const std::string& name) {
  const auto it = known_.find(name);
  if (it == known_.end()) return;
  const Volume& volume = it->second;
  if (const auto list = free_.find(volume.has.storage_class); list != free_.end()) {
    list->second.erase({std::popcount(volume.has.access), volume.has.bytes, name});
    if (list->second.empty()) free_.erase(list);
  }
  if (const auto list = reserved_.find(volume.claim); list != reserved_.end()) {
    list->second.erase(name);
    if (list->second.empty()) reserved_.erase(list);
  }
  known_.erase(it);
}

void VolumeBinder::volume_changed(const Change& change) {
  const Object& object = *change.object;
  forget_volume(object.name);
  if (const auto it = naming_.find(object.name); it != naming_.end())
    for (const Key& claim : it->second) queue_.add(claim);
  if (change.type == Change::Type::deleted) return;
  json::Document doc;
  load(object, doc);
  Volume volume{.has = VolumeTraits(doc, find(doc, "spec", "capacity", "storage")),
                .claim = {},
                .uid = {},
                .free = false,
                .deleting = object.deleting};
  if (const json::Value* claim = find(doc, "spec", "claimRef")) {
    const std::string ns(text_at(*claim, "namespace")), name(text_at(*claim, "name"));
    volume.claim = Object::make_key(ns, name);
    volume.uid = text_at(*claim, "uid");
    reserved_[volume.claim].insert(object.name);
    queue_.add({Key::Target::claim, ns, name});
  } else {
    volume.free = !object.deleting && text_at(doc, "status", "phase") == "Available";
  }
  if (volume.free) {
    free_[volume.has.storage_class].emplace(std::popcount(volume.has.access), volume.has.bytes, object.name);
    queue_.add({Key::Target::storage_class, "", volume.has.storage_class});
  }
  known_.emplace(object.name, std::move(volume));
  queue_.add({Key::Target::volume, "", object.name});
}

void VolumeBinder::sync(const Key& key) {
  if (key.target == Key::Target::storage_class) {
    if (const auto it = waiting_.find(key.name); it != waiting_.end())
      for (const Key& claim : it->second) queue_.add(claim);
    return;
  }
  const Kind& kind = key.target == Key::Target::claim ? claims_ : volumes_;
  const ObjectPtr object = kind.objects->get(key.ns, key.name);
  if (!object) return;
  if (key.target == Key::Target::claim)
    sync_claim(*object);
  else
    sync_volume(*object);
}

void VolumeBinder::sync_claim(const Object& claim) {
  json::Document doc;
  load(claim, doc);
  if (annotation(doc, kBindCompleted).empty()) return sync_unbound(claim, doc);
  const std::string volume(text_at(doc, "spec", "volumeName"));
  const auto it = known_.find(volume);
  // A claim that has lost its volume, or shares it with another one, has lost it for good.
  if (volume.empty() || it == known_.end() || (!it->second.claim.empty() && it->second.uid != claim.uid))
    return set_phase(claims_, claim, "Lost");
  bind(volume, claim);
}

void VolumeBinder::sync_unbound(const Object& claim, const json::Value& doc) {
  if (claim.deleting) return;
  if (const std::string wanted(text_at(doc, "spec", "volumeName")); !wanted.empty()) {
    const auto it = known_.find(wanted);
    if (it == known_.end()) return;
    const Volume& volume = it->second;
    const VolumeTraits needs(doc, find(doc, "spec", "resources", "requests", "storage"));
    const bool mine = volume.claim == claim.key() && (volume.uid.empty() || volume.uid == claim.uid);
    const bool fits =
        volume.claim.empty() && needs.met_by(volume.has) && needs.storage_class == volume.has.storage_class;
    if (mine || fits) bind(wanted, claim);
    return;
  }
  const std::string storage_class(storage_class_of(doc));
  const ObjectPtr object = classes_.objects->get("", storage_class);
  json::Document settings;
  if (object) load(*object, settings);
  const bool delayed = object && text_at(settings, "volumeBindingMode") == "WaitForFirstConsumer";
  if (const std::string volume = match(claim, doc, delayed); !volume.empty()) return bind(volume, claim);
  if (const json::Value* named = find(doc, "spec", "storageClassName");
      storage_class.empty() && (!named || named->is_null())) {
    if (const std::string name = default_storage_class(verbs_.registry()); !name.empty())
      (void)verbs_.modify(claims_, claim.ns, claim.name, "", [&](json::Document& now) -> Outcome<void> {
        set_text(object_at(now, "spec", now.arena()), "storageClassName", name, now.arena());
        return {};
      });
    return;
  }
  const std::string provisioner(object ? text_at(settings, "provisioner") : std::string_view());
  if (provisioner.empty() || provisioner == kNoProvisioner) return;
  if (delayed && annotation(doc, kSelectedNode).empty()) return;
  if (annotation(doc, kStorageProvisioner) == provisioner) return;
  verbs_.write_trusted(claims_, claim, [&](json::Document& now) {
    for (const char* name : {kBetaProvisioner, kStorageProvisioner})
      annotate(now, name, provisioner, now.arena());
  });
}

std::string VolumeBinder::match(const Object& claim, const json::Value& doc, bool delayed) const {
  const VolumeTraits needs(doc, find(doc, "spec", "resources", "requests", "storage"));
  if (const auto it = reserved_.find(claim.key()); it != reserved_.end())
    for (const std::string& name : it->second) {
      const Volume& volume = known_.at(name);
      if ((volume.uid.empty() || volume.uid == claim.uid) && !volume.deleting && needs.met_by(volume.has))
        return name;
    }
  const auto list = free_.find(needs.storage_class);
  if (delayed || list == free_.end()) return {};
  std::optional<Selection> selection;
  if (const json::Value* selector = find(doc, "spec", "selector")) {
    auto parsed = Selection::from_json(selector);
    if (!parsed) return {};
    selection = std::move(*parsed);
  }
  for (int modes = 1; modes <= static_cast<int>(std::size(kModes)); ++modes)
    for (auto it = list->second.lower_bound({modes, needs.bytes, ""});
         it != list->second.end() && std::get<0>(*it) == modes; ++it) {
      const std::string& name = std::get<2>(*it);
      if (!needs.met_by(known_.at(name).has)) continue;
      const ObjectPtr volume = volumes_.objects->get("", name);
      if (volume && (!selection || selection->matches_labels(volume->labels))) return name;
    }
  return {};
}

void VolumeBinder::bind(const std::string& name, const Object& claim) {
  const ObjectPtr volume = volumes_.objects->get("", name);
  if (!volume) return;
  const std::string now = verbs_.now_text();
  json::Document was, is;
  load(*volume, was);
  const auto take = [&](json::Document& doc) {
    json::Arena& arena = doc.arena();
    json::Value& spec = object_at(doc, "spec", arena);
    if (!find(spec, "claimRef")) annotate(doc, kBoundByController, "yes", arena);
    if (text_at(spec, "claimRef", "uid") != claim.uid) {
      json::Value& ref = write_claim(spec, claim, arena);
      set_text(ref, "resourceVersion", fmt::to_string(claim.rv), arena);
    }
    write_phase(doc, "Bound", now, arena);
  };
  load(*volume, is);
  take(is);
  if (!(static_cast<const json::Value&>(was) == is)) verbs_.write_trusted(volumes_, *volume, take);

  const ObjectPtr fresh = claims_.objects->get(claim.ns, claim.name);
  if (!fresh || fresh->uid != claim.uid) return;
  const auto give = [&](json::Document& doc) {
    json::Arena& arena = doc.arena();
    json::Value& spec = object_at(doc, "spec", arena);
    if (text_at(spec, "volumeName").empty()) annotate(doc, kBoundByController, "yes", arena);
    set_text(spec, "volumeName", name, arena);
    annotate(doc, kBindCompleted, "yes", arena);
    json::Value& status = object_at(doc, "status", arena);
    set(status, "phase", json::make_const("Bound"), arena);
    for (const char* field : {"accessModes", "capacity"})
      if (const json::Value* value = find(was, "spec", field))
        set(status, field, clone(*value, arena), arena);
  };
  json::Document before, after;
  load(*fresh, before);
  load(*fresh, after);
  give(after);
  if (!(static_cast<const json::Value&>(before) == after)) verbs_.write_trusted(claims_, *fresh, give);
}

void VolumeBinder::sync_volume(const Object& volume) {
  json::Document doc;
  load(volume, doc);
  const std::string_view phase = text_at(doc, "status", "phase");
  if (volume.deleting && phase != "Bound") {
    (void)verbs_.modify(volumes_, "", volume.name, "", [&](json::Document& now) -> Outcome<void> {
      if (json::Value* list = find(now, "metadata", "finalizers"); list && list->is_array())
        list->erase_if([](const json::Value& each) { return each.text() == kProtection; });
      return {};
    });
    return;
  }
  const json::Value* ref = find(doc, "spec", "claimRef");
  const std::string_view uid = ref ? text_at(*ref, "uid") : std::string_view();
  if (uid.empty()) return set_phase(volumes_, volume, "Available");
  const ObjectPtr claim = claims_.objects->get(text_at(*ref, "namespace"), text_at(*ref, "name"));
  if (!claim || claim->uid != uid) return reclaim(volume, doc);
  const auto it = claims_of_.find(claim->key());
  const std::string named = it == claims_of_.end() ? "" : it->second.second;
  if (named == volume.name) return set_phase(volumes_, volume, "Bound");
  if (named.empty()) return queue_.add({Key::Target::claim, claim->ns, claim->name});
  // Its claim has another volume by now.
  if (!annotation(doc, kProvisionedBy).empty() &&
      text_at(doc, "spec", "persistentVolumeReclaimPolicy") == "Delete")
    return reclaim(volume, doc);
  const bool whole = !annotation(doc, kBoundByController).empty();
  verbs_.write_trusted(volumes_, volume, [&](json::Document& now) {
    json::Arena& arena = now.arena();
    if (whole)
      json::remove(object_at(now, "spec", arena), "claimRef");
    else
      json::remove(object_at(object_at(now, "spec", arena), "claimRef", arena), "uid");
    if (json::Value* notes = find(now, "metadata", "annotations")) json::remove(*notes, kBoundByController);
    write_phase(now, "Available", verbs_.now_text(), arena);
  });
}

void VolumeBinder::reclaim(const Object& volume, const json::Value& doc) {
  const std::string_view phase = text_at(doc, "status", "phase"),
                         policy = text_at(doc, "spec", "persistentVolumeReclaimPolicy");
  if (policy == "Recycle") {
    verbs_.write_trusted(volumes_, volume, [&](json::Document& now) {
      json::remove(object_at(now, "spec", now.arena()), "claimRef");
      write_phase(now, "Available", verbs_.now_text(), now.arena());
    });
    return;
  }
  if (phase != "Released") return set_phase(volumes_, volume, "Released");  // which is looked at again
  if (policy == "Delete") (void)verbs_.remove(volumes_, "", volume.name);
}

void VolumeBinder::set_phase(const Kind& kind, const Object& object, std::string_view phase) {
  json::Document doc;
  load(object, doc);
  if (text_at(doc, "status", "phase") == phase) return;
  verbs_.write_trusted(kind, object, [&](json::Document& now) {
    json::Arena& arena = now.arena();
    json::Value& status = object_at(now, "status", arena);
    set_text(status, "phase", phase, arena);
    if (&kind == &volumes_) set_text(status, "lastPhaseTransitionTime", verbs_.now_text(), arena);
  });
}

}  // namespace koord::sandbox
