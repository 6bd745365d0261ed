// Pods: what kube-apiserver sets, admits and refuses.
#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <span>

#include "koord/api/values/time.hpp"
#include "sandbox/admission/metadata.hpp"
#include "sandbox/admission/pod_device_claims.hpp"
#include "sandbox/admission/rules.hpp"
#include "sandbox/kinds/device_claims.hpp"

namespace koord::sandbox {
namespace {

void prepare_create(json::Value& pod, Admission& admission) {
  json::Arena& arena = admission.arena;
  json::Value status = json::Value::object();
  set(status, "phase", json::make_const("Pending"), arena);
  const json::Value* spec = find(pod, "spec");
  if (spec && !is_empty(find(*spec, "schedulingGates"))) {
    json::Value condition = json::Value::object();
    set(condition, "type", json::make_const("PodScheduled"), arena);
    set(condition, "status", json::make_const("False"), arena);
    set(condition, "lastProbeTime", json::Value(), arena);
    set_text(condition, "lastTransitionTime", api::Time(admission.now).to_string(), arena);
    set(condition, "reason", json::make_const("SchedulingGated"), arena);
    set(condition, "message", json::make_const("Scheduling is blocked due to non-empty scheduling gates"),
        arena);
    array_at(status, "conditions", arena).push_back(std::move(condition), arena);
  }
  set(pod, "status", std::move(status), arena);
}

void defaults(json::Value& pod, json::Arena& arena) {
  json::Value* spec = find(pod, "spec");
  if (!spec || !spec->is_object()) return;
  default_pod_spec(*spec, arena);
  set_default(*spec, "enableServiceLinks", json::Value(true), arena);
  json::Value& status = object_at(pod, "status", arena);
  default_text(status, "phase", "Pending", arena);
  if (!find(status, "qosClass")) set(status, "qosClass", json::make_const(qos_class(*spec)), arena);
}

struct Priority {
  std::int64_t value = 0;
  std::string name, preemption = "PreemptLowerPriority";
};

Outcome<Priority> priority_of(std::string_view pod, std::string_view class_name, const Admission& admission) {
  const Collection& classes = *admission.registry.get("scheduling.k8s.io", "priorityclasses").objects;
  Priority result;
  auto read = [&](const Object& object) {
    json::Document doc;
    load(object, doc);
    result.value = int_at(doc, "value").value_or(0);
    result.name = object.name;
    if (std::string_view policy = text_at(doc, "preemptionPolicy"); !policy.empty())
      result.preemption = policy;
  };
  if (!class_name.empty()) {
    auto object = classes.get("", class_name);
    if (!object)
      return forbidden({"", "pods"}, pod, fmt::format("no PriorityClass with name {} was found", class_name));
    read(*object);
    return result;
  }
  // The default class with the lowest value counts.
  const Object* preset = nullptr;
  std::int64_t lowest = 0;
  for (const auto& [key, object] : classes.objects()) {
    if (object->fields.empty()) continue;  // see priority_class_rules: only a global default has one
    std::int64_t value = std::stoll(object->fields[0].second);
    if (!preset || value < lowest) {
      preset = object.get();
      lowest = value;
    }
  }
  if (preset) read(*preset);
  return result;
}

void add_toleration(json::Value& spec, const char* key, json::Arena& arena) {
  json::Value& list = array_at(spec, "tolerations", arena);
  for (const auto& toleration : list.elements()) {
    std::string_view name = text_at(toleration, "key"), effect = text_at(toleration, "effect");
    if ((name == key || name.empty()) && (effect == "NoExecute" || effect.empty())) return;
  }
  json::Value toleration = json::Value::object();
  set(toleration, "key", json::make_const(key), arena);
  set(toleration, "operator", json::make_const("Exists"), arena);
  set(toleration, "effect", json::make_const("NoExecute"), arena);
  set_int(toleration, "tolerationSeconds", 300, arena);
  list.push_back(std::move(toleration), arena);
}

Outcome<void> add_overhead(json::Value& spec, std::string_view pod, Admission& admission) {
  std::string_view name = text_at(spec, "runtimeClassName");
  if (name.empty()) return {};
  auto object = admission.registry.get("node.k8s.io", "runtimeclasses").objects->get("", name);
  if (!object)
    return forbidden({"", "pods"}, pod, fmt::format("pod rejected: RuntimeClass \"{}\" not found", name));
  json::Document runtime;
  load(*object, runtime);
  if (const json::Value* fixed = find(runtime, "overhead", "podFixed"))
    set(spec, "overhead", clone(*fixed, admission.arena), admission.arena);
  return {};
}

Outcome<void> admit(json::Value& pod, const json::Value* old, Admission& admission) {
  json::Value* spec = find(pod, "spec");
  if (!spec || !spec->is_object()) return {};
  json::Arena& arena = admission.arena;
  if (old) {  // an update that leaves the computed fields out keeps them
    const json::Value* before = find(*old, "spec");
    for (const char* field : {"priority", "preemptionPolicy", "nodeName"})
      if (before && !find(*spec, field))
        if (const json::Value* value = find(*before, field)) set(*spec, field, clone(*value, arena), arena);
    return {};
  }
  std::string name(text_at(pod, "metadata", "name"));
  auto priority = priority_of(name, text_at(*spec, "priorityClassName"), admission);
  if (!priority) return std::move(priority).error();
  if (auto given = int_at(*spec, "priority"); given && *given != priority->value)
    return forbidden(
        {"", "pods"}, name,
        fmt::format("the integer value of priority ({}) must not be provided in pod spec; priority admission "
                    "controller computed {} from the given PriorityClass name",
                    *given, priority->value));
  set_int(*spec, "priority", priority->value, arena);
  if (!priority->name.empty()) set_text(*spec, "priorityClassName", priority->name, arena);
  const std::string_view policy = priority->preemption == "Never" ? "Never" : "PreemptLowerPriority";
  if (const std::string_view given = text_at(*spec, "preemptionPolicy"); !given.empty() && given != policy)
    return forbidden(
        {"", "pods"}, name,
        fmt::format("the string value of PreemptionPolicy ({}) must not be provided in pod spec; priority "
                    "admission controller computed {} from the given PriorityClass name",
                    given, policy));
  set_text(*spec, "preemptionPolicy", policy, arena);
  add_toleration(*spec, "node.kubernetes.io/not-ready", arena);
  add_toleration(*spec, "node.kubernetes.io/unreachable", arena);
  return add_overhead(*spec, name, admission);
}

// Whether each element of one list is in the other.
bool holds_all(const json::Value* list, const json::Value* elements) {
  const auto by_value = [](const json::Value* a, const json::Value* b) {
    return std::is_lt(json::compare(*a, *b));
  };
  std::vector<const json::Value*> held;
  if (list)
    for (const json::Value& each : list->elements()) held.push_back(&each);
  std::sort(held.begin(), held.end(), by_value);
  const auto wanted = elements ? elements->elements() : std::span<const json::Value>();
  return std::all_of(wanted.begin(), wanted.end(), [&](const json::Value& each) {
    return std::binary_search(held.begin(), held.end(), &each, by_value);
  });
}

// What an update of the pod itself may change of its spec.
void drop_mutable(json::Value& spec, const json::Value& old, json::Arena& arena) {
  for (const char* list : {"containers", "initContainers"}) {
    json::Value* containers = find(spec, list);
    const json::Value* before = find(old, list);
    if (!containers || !before || !containers->is_array() || !before->is_array() ||
        containers->size() != before->size())
      continue;
    for (std::size_t i = 0; i < containers->size(); ++i)
      if (const json::Value* image = find((*before)[i], "image"))
        set((*containers)[i], "image", clone(*image, arena), arena);
  }
  auto restore = [&](const char* field) {
    if (const json::Value* value = find(old, field))
      set(spec, field, clone(*value, arena), arena);
    else
      json::remove(spec, field);
  };
  restore("activeDeadlineSeconds");
  const json::Value* before = find(old, "tolerations");
  const json::Value* after = find(spec, "tolerations");
  if (holds_all(after, before)) restore("tolerations");
  // A gated pod may lose gates and be narrowed to fewer nodes.
  if (!is_empty(find(old, "schedulingGates")))
    for (const char* field : {"schedulingGates", "nodeSelector", "affinity"}) restore(field);
}

void validate(const json::Value& pod, const json::Value* old, Admission& admission, StatusCauses& errors) {
  const json::Value* spec = find(pod, "spec");
  if (!old) {
    if (!spec) return errors.required("spec.containers");
    return validate_pod_spec(*spec, FieldPath("spec"), errors);
  }
  if (admission.subresource == "status") return check_pod_claim_statuses(pod, errors);
  const json::Value* before = find(*old, "spec");
  if (!spec || !before) return errors.required("spec.containers");
  if (same(spec, before)) return;
  validate_pod_spec(*spec, FieldPath("spec"), errors);
  if (admission.subresource == "ephemeralcontainers" || admission.subresource == "resize") return;
  json::Value reduced = clone(*spec, admission.arena);
  drop_mutable(reduced, *before, admission.arena);
  if (!same(&reduced, before))
    errors.forbidden(
        "spec",
        "pod updates may not change fields other than "
        "`spec.containers[*].image`,`spec.initContainers[*].image`,"
        "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)");
}

bool is_ready(const json::Value& status) {
  const json::Value* conditions = find(status, "conditions");
  if (!conditions) return false;
  for (const auto& condition : conditions->elements())
    if (text_at(condition, "type") == "Ready") return text_at(condition, "status") == "True";
  return false;
}

std::string claims_of(const json::Value& pod) {
  std::string claims;
  const json::Value* volumes = find(pod, "spec", "volumes");
  if (!volumes) return claims;
  for (const json::Value& volume : volumes->elements()) {
    if (const std::string_view name = text_at(volume, "persistentVolumeClaim", "claimName"); !name.empty())
      fmt::format_to(std::back_inserter(claims), "{},", name);
    else if (find(volume, "ephemeral"))
      fmt::format_to(std::back_inserter(claims), "{}-{}+,", text_at(pod, "metadata", "name"),
                     text_at(volume, "name"));
  }
  return claims;
}

FieldValues fields(const json::Value& pod) {
  FieldValues values;
  const json::Value* spec = find(pod, "spec");
  const json::Value* status = find(pod, "status");
  auto add = [&](std::string_view name, const json::Value* holder, const char* field) {
    std::string_view value = holder ? text_at(*holder, field) : std::string_view{};
    if (!value.empty()) values.emplace_back(name, value);
  };
  add("spec.nodeName", spec, "nodeName");
  add("status.phase", status, "phase");
  add("spec.schedulerName", spec, "schedulerName");
  add("spec.restartPolicy", spec, "restartPolicy");
  add("spec.serviceAccountName", spec, "serviceAccountName");
  add("status.podIP", status, "podIP");
  add("status.nominatedNodeName", status, "nominatedNodeName");
  if (status && is_ready(*status)) values.emplace_back(kReadyField, "true");
  if (std::string claims = claims_of(pod); !claims.empty())
    values.emplace_back(kClaimsField, std::move(claims));
  if (std::string claims = device_claims_of(pod); !claims.empty())
    values.emplace_back(kDeviceClaimsField, std::move(claims));
  values.emplace_back("spec.hostNetwork", spec && true_at(*spec, "hostNetwork") ? "true" : "false");
  return values;
}

}  // namespace

KindRules pod_rules() { return {prepare_create, defaults, admit, validate, fields}; }

}  // namespace koord::sandbox
