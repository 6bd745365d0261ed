// Deletion with grace periods and finalizers, binding, eviction.
#include <fmt/format.h>

#include <algorithm>

#include "koord/api/values/time.hpp"
#include "koord/json/index.hpp"
#include "koord/json/writer.hpp"
#include "sandbox/api/disruption.hpp"
#include "sandbox/api/verbs.hpp"

namespace koord::sandbox {
namespace {

// How long a pod may take to end; other kinds end at once.
std::int64_t grace_of(const Kind& kind, const Object& object, const DeleteOptions& options) {
  if (kind.resource != "pods" || !kind.group.empty()) return 0;
  const std::string_view phase = object.field("status.phase");
  if (object.field("spec.nodeName").empty() || phase == "Succeeded" || phase == "Failed") return 0;
  // Longer than a century is a century: dates have an end.
  constexpr std::int64_t kLongest = std::int64_t{100} * 365 * 24 * 3600;
  if (options.grace_seconds) return std::clamp<std::int64_t>(*options.grace_seconds, 0, kLongest);
  json::Document doc;
  load(object, doc);
  return std::min(int_at(doc, "spec", "terminationGracePeriodSeconds").value_or(30), kLongest);
}

void add_finalizer(json::Value& meta, std::string_view name, json::Arena& arena) {
  json::Value& list = array_at(meta, "finalizers", arena);
  for (const auto& entry : list.elements())
    if (entry.is_string() && entry.text() == name) return;
  list.push_back(make_text(name, arena), arena);
}

}  // namespace

std::string delete_options_json(const DeleteOptions& options) {
  std::string out;
  json::Writer json(out);
  json.begin_object().member("kind", "DeleteOptions").member("apiVersion", "meta.k8s.io/v1");
  if (options.grace_seconds) json.member("gracePeriodSeconds", *options.grace_seconds);
  if (!options.uid.empty() || !options.resource_version.empty()) {
    json.key("preconditions").begin_object().member_if("uid", options.uid);
    json.member_if("resourceVersion", options.resource_version).end_object();
  }
  json.member_if("propagationPolicy", options.propagation);
  if (options.dry_run) json.key("dryRun").begin_array().value("All").end_array();
  json.end_object();
  return out;
}

Outcome<Deleted> Verbs::remove(const Kind& kind, std::string_view ns, std::string_view name,
                               const DeleteOptions& options) {
  ObjectPtr old = kind.objects->get(ns, name);
  if (!old) {
    KOORD_PASS(check_namespace(kind, ns));
    return not_found(kind.named(), name);
  }
  if (!options.uid.empty() && options.uid != old->uid)
    return conflict(kind.named(), name,
                    fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}",
                                options.uid, old->uid));
  if (!options.resource_version.empty() && options.resource_version != fmt::to_string(old->rv))
    return conflict(
        kind.named(), name,
        fmt::format(
            "Precondition failed: ResourceVersion in precondition: {}, ResourceVersion in object meta: {}",
            options.resource_version, old->rv));
  if (kind.resource == "namespaces" && (name == "default" || name == "kube-system" || name == "kube-public"))
    return forbidden(kind.named(), name, "this namespace may not be deleted");
  if (options.gate) {
    json::Document before;
    load(*old, before);
    Attempt attempt{.operation = Operation::remove,
                    .kind = kind,
                    .ns = ns,
                    .name = options.review_only ? std::string_view() : name,
                    .old = &before,
                    .version = old->rv,
                    .dry_run = options.dry_run};
    // A pod's own grace period is shown, unless it goes with others.
    if (!options.review_only && kind.group.empty() && kind.resource == "pods") {
      DeleteOptions shown = options;
      shown.grace_seconds = grace_of(kind, *old, options);
      options.gate->options = delete_options_json(shown);
    }
    KOORD_PASS(options.gate->pass_both(attempt));
  }
  if (options.review_only) return Deleted{old, false};
  const bool orphan = options.propagation == "Orphan", foreground = options.propagation == "Foreground";
  const bool is_namespace = kind.resource == "namespaces" && kind.group.empty();
  const std::int64_t grace = grace_of(kind, *old, options);
  bool held = old->has_finalizers || orphan || foreground;
  if (grace <= 0 && !held && !is_namespace) {
    if (!options.dry_run) kind.objects->erase(ns, name);
    return Deleted{old, true};
  }
  json::Document doc;
  load(*old, doc);
  json::Arena& arena = doc.arena();
  json::Value& meta = *find(doc, "metadata");
  if (is_namespace) held = held || !is_empty(find(doc, "spec", "finalizers"));
  if (old->deleting) {
    std::int64_t left = int_at(meta, "deletionGracePeriodSeconds").value_or(0);
    // A second deletion can only shorten the first.
    if (held ? left <= grace : (left <= grace && left > 0 && grace > 0)) return Deleted{old, false};
    if (is_namespace) return Deleted{old, false};
  }
  if (grace <= 0 && !held) {
    if (options.dry_run) return Deleted{old, true};
    kind.objects->erase(ns, name);
    return Deleted{old, true};
  }
  if (orphan && !old->deleting) add_finalizer(meta, "orphan", arena);
  if (foreground && !old->deleting) add_finalizer(meta, "foregroundDeletion", arena);
  WallTime due = clock_.now() + std::chrono::seconds(grace);
  set_text(meta, "deletionTimestamp", api::Time(due).to_string(), arena);
  set_int(meta, "deletionGracePeriodSeconds", grace, arena);
  if (auto generation = int_at(meta, "generation"); generation && !old->deleting)
    set_int(meta, "generation", *generation + 1, arena);
  if (is_namespace) set_text(object_at(doc, "status", arena), "phase", "Terminating", arena);
  WriteOptions write;
  write.dry_run = options.dry_run;
  auto written = commit(kind, doc, write);
  if (!written) return std::move(written).error();
  return Deleted{*written, false};
}

Outcome<void> Verbs::bind(std::string_view ns, std::string_view name, const json::Value& binding,
                          bool dry_run) {
  const Kind& pods = registry_.get("", "pods");
  std::string_view node = text_at(binding, "target", "name");
  std::string_view target_kind = text_at(binding, "target", "kind");
  StatusCauses errors;
  if (!target_kind.empty() && target_kind != "Node")
    errors.unsupported("target.kind", target_kind, {"Node", "<empty>"});
  if (node.empty()) errors.required("target.name");
  if (!errors.empty()) return errors.failure("", "Binding", name);
  ObjectPtr pod = pods.objects->get(ns, name);
  if (!pod) {
    KOORD_PASS(check_namespace(pods, ns));
    return not_found(pods.named(), name);
  }
  std::string_view uid = text_at(binding, "metadata", "uid");
  if (!uid.empty() && uid != pod->uid)
    return conflict(
        {"", "pods/binding"}, name,
        fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}", uid, pod->uid));
  json::Document doc;
  load(*pod, doc);
  json::Arena& arena = doc.arena();
  Named what{"", "pods/binding"};
  if (pod->deleting)
    return conflict(what, name, fmt::format("pod {} is being deleted, cannot be assigned to a host", name));
  if (std::string_view now = text_at(doc, "spec", "nodeName"); !now.empty())
    return conflict(what, name, fmt::format("pod {} is already assigned to node \"{}\"", name, now));
  if (!is_empty(find(doc, "spec", "schedulingGates")))
    return conflict(what, name, fmt::format("pod {} has non-empty .spec.schedulingGates", name));
  if (dry_run) return {};
  set_text(object_at(doc, "spec", arena), "nodeName", node, arena);
  for (const char* map : {"annotations", "labels"})
    if (const json::Value* extra = find(binding, "metadata", map); extra && extra->is_object())
      json::add_members(object_at(*find(doc, "metadata"), map, arena), *extra, true, arena);
  json::Value& conditions = array_at(object_at(doc, "status", arena), "conditions", arena);
  json::Value* scheduled = nullptr;
  for (auto& condition : conditions.elements())
    if (text_at(condition, "type") == "PodScheduled") scheduled = &condition;
  if (!scheduled) {
    conditions.push_back(json::Value::object(), arena);
    scheduled = &conditions[conditions.size() - 1];
  }
  scheduled->set_object();
  set(*scheduled, "type", json::make_const("PodScheduled"), arena);
  set(*scheduled, "status", json::make_const("True"), arena);
  set(*scheduled, "lastProbeTime", json::Value(), arena);
  set_text(*scheduled, "lastTransitionTime", now_text(), arena);
  if (auto generation = int_at(doc, "metadata", "generation"))
    set_int(*scheduled, "observedGeneration", *generation, arena);
  auto written = commit(pods, doc, {});
  if (!written) return std::move(written).error();
  return {};
}

Outcome<void> Verbs::evict(std::string_view ns, std::string_view name, const DeleteOptions& options) {
  const Kind& pods = registry_.get("", "pods");
  ObjectPtr pod = pods.objects->get(ns, name);
  if (!pod) {
    KOORD_PASS(check_namespace(pods, ns));
    return not_found(pods.named(), name);
  }
  json::Document doc;
  load(*pod, doc);
  std::string_view phase = text_at(doc, "status", "phase");
  bool counts = !pod->deleting && phase != "Succeeded" && phase != "Failed" && phase != "Pending";
  if (counts) KOORD_PASS(check_disruption(*this, *pod, options.dry_run));
  if (!options.dry_run && !pod->deleting)
    write_trusted(pods, *pod, [&](json::Document& now) {
      json::Arena& arena = now.arena();
      json::Value& conditions = array_at(object_at(now, "status", arena), "conditions", arena);
      conditions.erase_if(
          [](const json::Value& each) { return text_at(each, "type") == "DisruptionTarget"; });
      json::Value condition = json::Value::object();
      set(condition, "type", json::make_const("DisruptionTarget"), arena);
      set(condition, "status", json::make_const("True"), arena);
      set(condition, "lastProbeTime", json::Value(), arena);
      set_text(condition, "lastTransitionTime", now_text(), arena);
      set(condition, "reason", json::make_const("EvictionByEvictionAPI"), arena);
      set(condition, "message", json::make_const("Eviction API: evicting"), arena);
      conditions.push_back(std::move(condition), arena);
    });
  DeleteOptions final_options = options;
  final_options.resource_version.clear();
  auto deleted = remove(pods, ns, name, final_options);
  if (!deleted) return std::move(deleted).error();
  return {};
}

}  // namespace koord::sandbox
