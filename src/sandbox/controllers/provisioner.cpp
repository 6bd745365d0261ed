// The simulated provisioner of volumes.
#include "sandbox/controllers/provisioner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace koord::sandbox {
namespace {

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr std::chrono::milliseconds kTakes{100};
constexpr std::chrono::seconds kRetry{1};

// Alike for the claims of a StatefulSet but for their ordinal, which is added: they are spread evenly.
std::size_t spread(std::string_view claim) {
  const std::size_t dash = claim.rfind('-');
  std::size_t ordinal = 0;
  if (dash != std::string_view::npos) {
    const std::string_view digits = claim.substr(dash + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
    if (error == std::errc() && end == digits.data() + digits.size())
      claim = claim.substr(0, dash);
    else
      ordinal = 0;
  }
  return std::hash<std::string_view>()(claim) + ordinal;
}

std::span<const json::Value> elements_at(const json::Value& object, const char* list) {
  const json::Value* found = find(object, list);
  return found ? found->elements() : std::span<const json::Value>();
}

}  // namespace

Provisioner::Provisioner(Verbs& verbs, Workloads::Create create)
    : verbs_(verbs),
      claims_(verbs.registry().get("", "persistentvolumeclaims")),
      volumes_(verbs.registry().get("", "persistentvolumes")),
      classes_(verbs.registry().get("storage.k8s.io", "storageclasses")),
      nodes_(verbs.registry().get("", "nodes")),
      csi_nodes_(verbs.registry().get("storage.k8s.io", "csinodes")),
      create_(create ? std::move(create)
                     : [this](const Kind& kind, const std::string& ns, json::Document doc,
                              const Workloads::Done& done) { done(verbs_.create(kind, ns, doc)); }),
      queue_(verbs.clock(), [this](const Key& key) { sync(key); }) {
  for (const auto& [name, node] : nodes_.objects->objects())
    if (const std::string* zone = node->label(kZone)) ++zones_[*zone];
  verbs_.store().add_observer(*this);
}

Provisioner::~Provisioner() { verbs_.store().remove_observer(*this); }

void Provisioner::on_change(Collection& collection, const Change& change) {
  const Object& object = *change.object;
  if (&collection == nodes_.objects) {
    const std::string* before = change.previous ? change.previous->label(kZone) : nullptr;
    const std::string* after = change.type == Change::Type::deleted ? nullptr : object.label(kZone);
    if (before && after && *before == *after) return;
    if (after) ++zones_[*after];
    if (const auto it = before ? zones_.find(*before) : zones_.end(); it != zones_.end() && --it->second == 0)
      zones_.erase(it);
    return;
  }
  if (&collection != claims_.objects) return;
  if (change.type == Change::Type::deleted)
    due_.erase(object.uid);
  else if (object.field(kBoundField).empty())
    queue_.add({object.ns, object.name});
}

void Provisioner::sync(const Key& key) {
  const ObjectPtr claim = claims_.objects->get(key.ns, key.name);
  if (!claim || claim->deleting) return;
  json::Document doc, settings;
  load(*claim, doc);
  const json::Value* notes = find(doc, "metadata", "annotations");
  const std::string_view asked = notes ? text_at(*notes, kStorageProvisioner) : std::string_view();
  const ObjectPtr object = classes_.objects->get("", storage_class_of(doc));
  if (asked.empty() || !object || !text_at(doc, "spec", "volumeName").empty()) return;
  load(*object, settings);
  if (text_at(settings, "provisioner") != asked ||
      text_at(settings, "metadata", "annotations", kProvision) == "false")
    return;
  Place place;
  if (text_at(settings, "volumeBindingMode") == "WaitForFirstConsumer") {
    const std::string selected(text_at(*notes, kSelectedNode));
    if (selected.empty()) return;
    const ObjectPtr node = nodes_.objects->get("", selected);
    if (!node || !place_at(*node, settings, place)) {
      // The scheduler has to choose again.
      due_.erase(claim->uid);
      verbs_.write_trusted(claims_, *claim, [](json::Document& now) {
        json::remove(*find(now, "metadata", "annotations"), kSelectedNode);
      });
      return;
    }
  } else {
    place = place_anywhere(*claim, settings);
  }
  const MonoTime now = verbs_.clock().mono();
  const MonoTime due = due_.try_emplace(claim->uid, now + kTakes).first->second;
  if (now < due) return queue_.add(key, due - now);
  make(key, *claim, doc, settings, place);
}

void Provisioner::make(const Key& key, const Object& claim, const json::Value& doc,
                       const json::Value& settings, const Place& place) {
  const std::string name = fmt::format("pvc-{}", claim.uid);
  if (volumes_.objects->get("", name)) return;
  json::Document volume;
  json::Arena& arena = volume.arena();
  volume.set_object();
  json::Value& meta = object_at(volume, "metadata", arena);
  set_text(meta, "name", name, arena);
  const std::string_view provisioner = text_at(settings, "provisioner");
  set_text(object_at(meta, "annotations", arena), kProvisionedBy, provisioner, arena);
  json::Value& spec = object_at(volume, "spec", arena);
  const auto copy = [&](const char* field, const json::Value* value) {
    if (value) set(spec, field, clone(*value, arena), arena);
  };
  if (const json::Value* size = find(doc, "spec", "resources", "requests", "storage"))
    set(object_at(spec, "capacity", arena), "storage", clone(*size, arena), arena);
  copy("accessModes", find(doc, "spec", "accessModes"));
  copy("volumeMode", find(doc, "spec", "volumeMode"));
  copy("volumeAttributesClassName", find(doc, "spec", "volumeAttributesClassName"));
  copy("persistentVolumeReclaimPolicy", find(settings, "reclaimPolicy"));
  copy("mountOptions", find(settings, "mountOptions"));
  set_text(spec, "storageClassName", text_at(settings, "metadata", "name"), arena);
  json::Value& source = object_at(spec, "csi", arena);
  set_text(source, "driver", provisioner, arena);
  set_text(source, "volumeHandle", claim.uid, arena);
  write_claim(spec, claim, arena);
  if (!place.empty()) {
    json::Value term = json::Value::object();
    json::Value& expressions = array_at(term, "matchExpressions", arena);
    for (const auto& [label, value] : place) {
      json::Value expression = json::Value::object();
      set_text(expression, "key", label, arena);
      set(expression, "operator", json::make_const("In"), arena);
      array_at(expression, "values", arena).push_back(make_text(value, arena), arena);
      expressions.push_back(std::move(expression), arena);
    }
    json::Value& required = object_at(object_at(spec, "nodeAffinity", arena), "required", arena);
    array_at(required, "nodeSelectorTerms", arena).push_back(std::move(term), arena);
  }
  create_(volumes_, "", std::move(volume), [this, key](const Outcome<ObjectPtr>& made) {
    if (!made) queue_.add(key, kRetry);
  });
}

bool Provisioner::place_at(const Object& node, const json::Value& settings, Place& place) const {
  bool allowed = !find(settings, "allowedTopologies");
  for (const json::Value& term : elements_at(settings, "allowedTopologies")) {
    Place there;
    const auto expressions = elements_at(term, "matchLabelExpressions");
    allowed = std::ranges::all_of(expressions, [&](const json::Value& each) {
      const std::string_view key = text_at(each, "key");
      const std::string* label = node.label(key);
      if (!label) return false;
      there.emplace(key, *label);
      return std::ranges::any_of(elements_at(each, "values"),
                                 [&](const json::Value& value) { return value.text() == *label; });
    });
    if (!allowed) continue;
    place = std::move(there);
    break;
  }
  if (!allowed) return false;
  json::Document drivers;
  bool known = false;
  if (const ObjectPtr csi = csi_nodes_.objects->get("", node.name)) {
    load(*csi, drivers);
    const json::Value* spec = find(drivers, "spec");
    for (const json::Value& driver : spec ? elements_at(*spec, "drivers") : std::span<const json::Value>()) {
      if (text_at(driver, "name") != text_at(settings, "provisioner")) continue;
      known = true;
      for (const json::Value& key : elements_at(driver, "topologyKeys"))
        if (const std::string* label = node.label(key.text())) place.emplace(key.text(), *label);
    }
  }
  if (!known && place.empty())
    if (const std::string* zone = node.label(kZone)) place.emplace(kZone, *zone);
  return true;
}

Provisioner::Place Provisioner::place_anywhere(const Object& claim, const json::Value& settings) const {
  const std::size_t choice = spread(claim.name);
  Place place;
  if (const auto terms = elements_at(settings, "allowedTopologies"); !terms.empty()) {
    const std::size_t which = choice % terms.size(), rest = choice / terms.size();
    for (const json::Value& each : elements_at(terms[which], "matchLabelExpressions"))
      if (const auto values = elements_at(each, "values"); !values.empty())
        place.emplace(text_at(each, "key"),
                      values[(terms.size() > 1 ? rest : choice) % values.size()].text());
    return place;
  }
  if (zones_.empty()) return place;
  const auto zone = std::next(zones_.begin(), static_cast<std::ptrdiff_t>(choice % zones_.size()));
  place.emplace(kZone, zone->first);
  return place;
}

}  // namespace koord::sandbox
