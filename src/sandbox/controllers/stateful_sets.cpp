// The StatefulSet controller.
#include "sandbox/controllers/stateful_sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "koord/api/values/time.hpp"
#include "koord/json/index.hpp"

namespace koord::sandbox {
namespace {

constexpr const char* kRevisionLabel = "controller-revision-hash";
constexpr const char* kHashLabel = "controller.kubernetes.io/hash";
constexpr const char* kPodName = "statefulset.kubernetes.io/pod-name";
constexpr const char* kPodIndex = "apps.kubernetes.io/pod-index";
constexpr std::int64_t kMostAtOnce = 500;
constexpr std::chrono::seconds kLookAgain{1};  // where something else has to end first

bool ended(const Object& pod) {
  const std::string_view phase = pod.field("status.phase");
  return phase == "Succeeded" || phase == "Failed";
}

bool is_ready(const Object& pod) {
  return pod.field("status.phase") == "Running" && !pod.field(kReadyField).empty();
}

std::string_view revision_of(const Object& pod) {
  const std::string* label = pod.label(kRevisionLabel);
  return label ? std::string_view(*label) : std::string_view();
}

// "web-3" of the set "web" is 3.
std::optional<std::int64_t> ordinal_of(const Object& set, std::string_view pod) {
  if (pod.size() < set.name.size() + 2 || !pod.starts_with(set.name) || pod[set.name.size()] != '-')
    return std::nullopt;
  const std::string_view digits = pod.substr(set.name.size() + 1);
  std::int32_t ordinal = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
  if (error != std::errc() || end != digits.data() + digits.size() || ordinal < 0) return std::nullopt;
  return ordinal;
}

bool owns(const Object& claim, const Object& owner) {
  return std::ranges::any_of(claim.owners, [&](const OwnerRef& each) { return each.uid == owner.uid; });
}

std::span<const json::Value> claim_templates(const json::Value& set) {
  const json::Value* list = find(set, "spec", "volumeClaimTemplates");
  return list ? list->elements() : std::span<const json::Value>();
}

bool deletes(const json::Value& set, const char* when) {
  return text_at(set, "spec", "persistentVolumeClaimRetentionPolicy", when) == "Delete";
}

}  // namespace

struct StatefulSets::View {
  Key key;
  ObjectPtr set;
  const json::Value& doc;
  SetState& state;
  std::int64_t first, replicas, partition, min_ready;
  bool ordered, rolling;
  std::string update = {}, current = {};           // revisions
  std::map<std::int64_t, ObjectPtr> members = {};  // pods within the replicas, by ordinal
  std::vector<ObjectPtr> others = {};              // pods outside of them, the highest ordinal first

  std::int64_t end() const { return first + replicas; }
  std::string pod_name(std::int64_t ordinal) const { return fmt::format("{}-{}", set->name, ordinal); }
};

StatefulSets::StatefulSets(Verbs& verbs, Workloads::Create create)
    : verbs_(verbs),
      pods_(verbs.registry().get("", "pods")),
      claims_(verbs.registry().get("", "persistentvolumeclaims")),
      sets_(verbs.registry().get("apps", "statefulsets")),
      revisions_(verbs.registry().get("apps", "controllerrevisions")),
      create_(create ? std::move(create)
                     : [this](const Kind& kind, const std::string& ns, json::Document doc,
                              const Workloads::Done& done) { done(verbs_.create(kind, ns, doc)); }),
      queue_(verbs.clock(), [this](const Key& key) { sync(key); }) {
  verbs_.store().add_observer(*this);
}

StatefulSets::~StatefulSets() { verbs_.store().remove_observer(*this); }

void StatefulSets::on_change(Collection& collection, const Change& change) {
  const Object& object = *change.object;
  const bool gone = change.type == Change::Type::deleted;
  if (&collection == sets_.objects) {
    if (gone)
      states_.erase(object.uid);
    else
      queue_.add({object.ns, object.name});
    return;
  }
  const bool pod = &collection == pods_.objects;
  if (!pod && &collection != revisions_.objects) return;
  const OwnerRef* owner = controller_of(object);
  if (!owner || owner->kind != "StatefulSet") return;
  SetState& state = states_[owner->uid];
  std::set<std::string>& names = pod ? state.pods : state.revisions;
  if (gone)
    names.erase(object.name);
  else
    names.insert(object.name);
  if (pod) queue_.add({object.ns, owner->name});
  if (!state.pods.empty() || !state.revisions.empty()) return;
  const ObjectPtr set = sets_.objects->get(object.ns, owner->name);
  if (!set || set->uid != owner->uid) states_.erase(owner->uid);
}

void StatefulSets::sync(const Key& key) {
  const ObjectPtr set = sets_.objects->get(key.ns, key.name);
  if (!set || set->deleting) return;
  json::Document doc;
  load(*set, doc);
  const json::Value* spec = find(doc, "spec");
  if (!spec || !find(*spec, "template")) return;
  View view{.key = key,
            .set = set,
            .doc = doc,
            .state = states_[set->uid],
            .first = int_at(*spec, "ordinals", "start").value_or(0),
            .replicas = int_at(*spec, "replicas").value_or(1),
            .partition = int_at(*spec, "updateStrategy", "rollingUpdate", "partition").value_or(0),
            .min_ready = int_at(*spec, "minReadySeconds").value_or(0),
            .ordered = text_at(*spec, "podManagementPolicy") != "Parallel",
            .rolling = text_at(*spec, "updateStrategy", "type") != "OnDelete"};
  view.update = update_revision(view);
  view.current = text_at(doc, "status", "currentRevision");
  if (!view.state.revisions.contains(view.current)) view.current = view.update;
  sort_pods(view);
  work(view);
  sort_pods(view);
  write_status(view);
  drop_old_revisions(view);
}

// In Kubernetes' order: what is missing, then what is too much, then what is outdated.
void StatefulSets::work(View& view) {
  std::int64_t may_make = kMostAtOnce;
  for (std::int64_t ordinal = view.first; ordinal < view.end(); ++ordinal) {
    if (may_make == 0) return queue_.add(view.key);
    if (replica(view, ordinal, may_make) == Next::wait && view.ordered) return;
  }
  const Object* first_unavailable = nullptr;
  for (const ObjectPtr& pod : view.others) {
    own_claims(view, *pod, true);
    if (pod->deleting || !is_available(view, *pod)) first_unavailable = pod.get();
  }
  for (const ObjectPtr& pod : view.others)
    if (condemned(view, *pod, first_unavailable) == Next::wait && view.ordered) return;
  if (view.rolling) roll(view);
}

void StatefulSets::sort_pods(View& view) const {
  view.members.clear();
  std::map<std::int64_t, ObjectPtr, std::greater<>> others;
  for (const std::string& name : view.state.pods) {
    const auto ordinal = ordinal_of(*view.set, name);
    ObjectPtr pod = pods_.objects->get(view.key.ns, name);
    if (!ordinal || !pod) continue;
    if (*ordinal >= view.first && *ordinal < view.end())
      view.members.emplace(*ordinal, std::move(pod));
    else
      others.emplace(*ordinal, std::move(pod));
  }
  view.others.clear();
  for (auto& [ordinal, pod] : others) view.others.push_back(std::move(pod));
}

const std::string& StatefulSets::update_revision(const View& view) {
  SetState& state = view.state;
  const std::int64_t generation = int_at(view.doc, "metadata", "generation").value_or(0);
  if (state.generation == generation && state.revisions.contains(state.update)) return state.update;
  const json::Value& part = *find(view.doc, "spec", "template");
  const std::string hash = template_hash(part);
  const std::string name = fmt::format("{}-{}", view.set->name, hash);
  std::int64_t last = 0, own = 0;
  for (const std::string& each : state.revisions)
    if (const ObjectPtr revision = revisions_.objects->get(view.key.ns, each)) {
      json::Document doc;
      load(*revision, doc);
      const std::int64_t number = int_at(doc, "revision").value_or(0);
      last = std::max(last, number);
      if (each == name) own = number;
    }
  if (own == 0) {
    json::Document doc;
    json::Arena& arena = doc.arena();
    doc.set_object();
    json::Value& meta = object_at(doc, "metadata", arena);
    set_text(meta, "name", name, arena);
    if (const json::Value* notes = find(view.doc, "metadata", "annotations"))
      set(meta, "annotations", clone(*notes, arena), arena);
    json::Value& labels = object_at(meta, "labels", arena);
    if (const json::Value* given = find(part, "metadata", "labels")) labels = clone(*given, arena);
    set_text(labels, kHashLabel, hash, arena);
    array_at(meta, "ownerReferences", arena).push_back(owner_reference(sets_, *view.set, arena), arena);
    json::Value copy = clone(part, arena);
    set(copy, "$patch", json::make_const("replace"), arena);
    set(object_at(object_at(doc, "data", arena), "spec", arena), "template", std::move(copy), arena);
    set_int(doc, "revision", last + 1, arena);
    (void)verbs_.create(revisions_, view.key.ns, doc);
  } else if (own < last) {  // the set has gone back to it
    (void)verbs_.modify(revisions_, view.key.ns, name, "", [&](json::Document& doc) -> Outcome<void> {
      set_int(doc, "revision", last + 1, doc.arena());
      return {};
    });
  }
  state.generation = generation;
  state.update = name;
  return state.update;
}

void StatefulSets::drop_old_revisions(const View& view) {
  const std::int64_t limit = int_at(view.doc, "spec", "revisionHistoryLimit").value_or(10);
  if (limit < 0 || std::ssize(view.state.revisions) <= limit) return;
  std::set<std::string, std::less<>> live{view.update, view.current};
  for (const auto& [ordinal, pod] : view.members) live.emplace(revision_of(*pod));
  for (const ObjectPtr& pod : view.others) live.emplace(revision_of(*pod));
  std::vector<std::pair<std::int64_t, std::string>> old;
  for (const std::string& name : view.state.revisions) {
    const ObjectPtr revision = revisions_.objects->get(view.key.ns, name);
    if (!revision || live.contains(name)) continue;
    json::Document doc;
    load(*revision, doc);
    old.emplace_back(int_at(doc, "revision").value_or(0), name);
  }
  std::ranges::sort(old);
  for (std::int64_t i = 0; i < std::ssize(old) - limit; ++i)
    (void)verbs_.remove(revisions_, view.key.ns, old[static_cast<std::size_t>(i)].second);
}

StatefulSets::Next StatefulSets::replica(View& view, std::int64_t ordinal, std::int64_t& may_make) {
  const auto it = view.members.find(ordinal);
  if (it == view.members.end()) {
    --may_make;
    if (make_claims(view, ordinal)) make_pod(view, ordinal);
    return Next::wait;
  }
  const Object& pod = *it->second;
  if (ended(pod)) {
    if (!pod.deleting) (void)verbs_.remove(pods_, pod.ns, pod.name);
    return Next::wait;
  }
  if (pod.field("status.phase") == "Pending") (void)make_claims(view, ordinal);
  if (pod.deleting || !is_available(view, pod)) return Next::wait;
  own_claims(view, pod, false);
  return Next::go_on;
}

StatefulSets::Next StatefulSets::condemned(View& view, const Object& pod, const Object* first_unavailable) {
  if (pod.deleting) return Next::wait;
  if (view.ordered && &pod != first_unavailable && !is_available(view, pod)) return Next::wait;
  (void)verbs_.remove(pods_, pod.ns, pod.name);
  return Next::wait;
}

void StatefulSets::roll(const View& view) {
  for (std::int64_t ordinal = view.end() - 1; ordinal >= view.first + view.partition; --ordinal) {
    const auto it = view.members.find(ordinal);
    if (it == view.members.end()) return;
    const Object& pod = *it->second;
    if (revision_of(pod) != view.update && !pod.deleting) {
      (void)verbs_.remove(pods_, pod.ns, pod.name);
      return;
    }
    if (pod.deleting || !is_available(view, pod)) return;
  }
}

bool StatefulSets::make_claims(const View& view, std::int64_t ordinal) {
  const std::string pod = view.pod_name(ordinal);
  bool complete = true;
  for (const json::Value& wanted : claim_templates(view.doc)) {
    const std::string name = fmt::format("{}-{}", text_at(wanted, "metadata", "name"), pod);
    if (const ObjectPtr claim = claims_.objects->get(view.key.ns, name)) {
      // One that goes with a pod that has gone is not the new one's.
      const bool stale =
          claim->deleting || std::ranges::any_of(claim->owners, [&](const OwnerRef& owner) {
            return owner.kind == "Pod" && owner.name == pod && !pods_.objects->get(view.key.ns, pod);
          });
      if (!stale) continue;
      complete = false;
      queue_.add(view.key, kLookAgain);
      continue;
    }
    json::Document doc;
    json::Arena& arena = doc.arena();
    doc.set_object();
    if (const json::Value* meta = find(wanted, "metadata")) set(doc, "metadata", clone(*meta, arena), arena);
    if (const json::Value* spec = find(wanted, "spec")) set(doc, "spec", clone(*spec, arena), arena);
    json::Value& meta = object_at(doc, "metadata", arena);
    set_text(meta, "name", name, arena);
    if (const json::Value* labels = find(view.doc, "spec", "selector", "matchLabels"))
      json::add_members(object_at(meta, "labels", arena), *labels, true, arena);
    if (deletes(view.doc, "whenDeleted"))
      array_at(meta, "ownerReferences", arena).push_back(owner_reference(sets_, *view.set, arena), arena);
    make(view, claims_, name, std::move(doc));
    complete = complete && claims_.objects->get(view.key.ns, name) != nullptr;
  }
  return complete;
}

void StatefulSets::make_pod(const View& view, std::int64_t ordinal) {
  const bool keeps_current = view.rolling && ordinal < view.first + view.partition;
  const std::string& revision = keeps_current ? view.current : view.update;
  const json::Value* part = find(view.doc, "spec", "template");
  json::Document kept;
  if (revision != view.update) {
    const ObjectPtr object = revisions_.objects->get(view.key.ns, revision);
    if (!object) return;
    load(*object, kept);
    part = find(kept, "data", "spec", "template");
    if (!part) return;
  }
  json::Document doc = pod_of(*part, sets_, *view.set);
  json::Arena& arena = doc.arena();
  const std::string name = view.pod_name(ordinal);
  json::Value& meta = *find(doc, "metadata");
  json::remove(meta, "generateName");
  set_text(meta, "name", name, arena);
  json::Value& labels = object_at(meta, "labels", arena);
  set_text(labels, kRevisionLabel, revision, arena);
  set_text(labels, kPodName, name, arena);
  set_text(labels, kPodIndex, fmt::to_string(ordinal), arena);
  json::Value& spec = object_at(doc, "spec", arena);
  set_text(spec, "hostname", name, arena);
  if (const std::string_view service = text_at(view.doc, "spec", "serviceName"); !service.empty())
    set_text(spec, "subdomain", service, arena);
  for (const json::Value& wanted : claim_templates(view.doc)) {
    const std::string_view volume = text_at(wanted, "metadata", "name");
    json::Value& volumes = array_at(spec, "volumes", arena);
    volumes.erase_if([&](const json::Value& each) { return text_at(each, "name") == volume; });
    json::Value entry = json::Value::object();
    set_text(entry, "name", volume, arena);
    set_text(object_at(entry, "persistentVolumeClaim", arena), "claimName",
             fmt::format("{}-{}", volume, name), arena);
    volumes.push_back(std::move(entry), arena);
  }
  make(view, pods_, name, std::move(doc));
}

void StatefulSets::make(const View& view, const Kind& kind, std::string name, json::Document doc) {
  std::string made_key = fmt::format("{}/{}", kind.resource, name);
  SetState& state = view.state;
  if (state.making.contains(made_key)) return;
  const WallTime now = verbs_.clock().now();
  if (now < state.not_before) return queue_.add(view.key, state.not_before - now);
  state.making.insert(made_key);
  create_(kind, view.key.ns, std::move(doc),
          [this, key = view.key, uid = view.set->uid, made_key](const Outcome<ObjectPtr>& made) {
            const auto it = states_.find(uid);
            if (it == states_.end()) return;
            SetState& state = it->second;
            state.making.erase(made_key);
            state.refused = made ? 0 : state.refused + 1;
            // Refused ones are tried again, at longer and longer intervals.
            if (!made)
              state.not_before =
                  verbs_.clock().now() + std::chrono::seconds(1 << std::min(state.refused - 1, 6));
            queue_.add(key);
          });
}

void StatefulSets::own_claims(const View& view, const Object& pod, bool condemned) {
  const bool by_pod = condemned && deletes(view.doc, "whenScaled");
  const bool by_set = !by_pod && deletes(view.doc, "whenDeleted");
  for (const json::Value& wanted : claim_templates(view.doc)) {
    const std::string name = fmt::format("{}-{}", text_at(wanted, "metadata", "name"), pod.name);
    const ObjectPtr claim = claims_.objects->get(view.key.ns, name);
    if (!claim || (owns(*claim, *view.set) == by_set && owns(*claim, pod) == by_pod)) continue;
    const OwnerRef* controller = controller_of(*claim);
    if (controller && controller->uid != view.set->uid && controller->uid != pod.uid) continue;
    (void)verbs_.modify(claims_, view.key.ns, name, "", [&](json::Document& doc) -> Outcome<void> {
      json::Arena& arena = doc.arena();
      json::Value& owners = array_at(*find(doc, "metadata"), "ownerReferences", arena);
      owners.erase_if([&](const json::Value& each) {
        const std::string_view uid = text_at(each, "uid");
        return uid == view.set->uid || uid == pod.uid;
      });
      if (by_pod) owners.push_back(owner_reference(pods_, pod, arena), arena);
      if (by_set) owners.push_back(owner_reference(sets_, *view.set, arena), arena);
      if (owners.empty()) json::remove(*find(doc, "metadata"), "ownerReferences");
      return {};
    });
  }
}

bool StatefulSets::is_available(const View& view, const Object& pod) {
  if (!is_ready(pod)) return false;
  if (view.min_ready <= 0) return true;
  json::Document doc;
  load(pod, doc);
  const json::Value* conditions = find(doc, "status", "conditions");
  if (!conditions) return false;
  for (const json::Value& each : conditions->elements()) {
    if (text_at(each, "type") != "Ready") continue;
    const auto since = api::Time::parse(text_at(each, "lastTransitionTime"));
    if (!since) return false;
    const WallTime due = since->wall() + std::chrono::seconds(view.min_ready), now = verbs_.clock().now();
    if (now >= due) return true;
    queue_.add(view.key, due - now);
  }
  return false;
}

void StatefulSets::write_status(const View& view) {
  std::int64_t replicas = 0, ready = 0, available = 0, current = 0, updated = 0;
  const auto count = [&](const Object& pod) {
    ++replicas;
    ready += is_ready(pod);
    available += is_available(view, pod);
    current += !pod.deleting && revision_of(pod) == view.current;
    updated += !pod.deleting && revision_of(pod) == view.update;
  };
  for (const auto& [ordinal, pod] : view.members) count(*pod);
  for (const ObjectPtr& pod : view.others) count(*pod);
  const bool rolled =
      view.rolling && updated == view.replicas && ready == view.replicas && replicas == view.replicas;
  const auto edit = [&](json::Document& doc) {
    json::Arena& arena = doc.arena();
    json::Value& status = object_at(doc, "status", arena);
    const auto number = [&](const char* field, std::int64_t value) {
      if (value > 0)
        set_int(status, field, value, arena);
      else
        json::remove(status, field);
    };
    number("observedGeneration", int_at(view.doc, "metadata", "generation").value_or(0));
    set_int(status, "replicas", replicas, arena);
    number("readyReplicas", ready);
    number("currentReplicas", rolled ? updated : current);
    number("updatedReplicas", updated);
    set_text(status, "currentRevision", rolled ? view.update : view.current, arena);
    set_text(status, "updateRevision", view.update, arena);
    set_int(status, "collisionCount", 0, arena);
    set_int(status, "availableReplicas", available, arena);
  };
  const ObjectPtr fresh = sets_.objects->get(view.key.ns, view.key.name);
  if (!fresh || fresh->uid != view.set->uid) return;
  json::Document was, is;
  load(*fresh, was);
  load(*fresh, is);
  edit(is);
  if (!(static_cast<const json::Value&>(was) == is)) verbs_.write_trusted(sets_, *fresh, edit);
}

}  // namespace koord::sandbox
