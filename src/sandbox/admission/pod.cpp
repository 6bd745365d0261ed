// Pods: what kube-apiserver sets, admits and refuses.
#include <fmt/format.h>

#include "koord/api/values/time.hpp"
#include "sandbox/admission/metadata.hpp"
#include "sandbox/admission/rules.hpp"

namespace koord::sandbox {
namespace {

void prepare_create(Json& pod, Admission& admission) {
  JsonAlloc& alloc = admission.alloc;
  Json status(rapidjson::kObjectType);
  set(status, "phase", make_const("Pending"), alloc);
  const Json* spec = find(pod, "spec");
  if (spec && !is_empty(find(*spec, "schedulingGates"))) {
    Json condition(rapidjson::kObjectType);
    set(condition, "type", make_const("PodScheduled"), alloc);
    set(condition, "status", make_const("False"), alloc);
    set(condition, "lastProbeTime", Json(), alloc);
    set_text(condition, "lastTransitionTime", api::Time(admission.now).to_string(), alloc);
    set(condition, "reason", make_const("SchedulingGated"), alloc);
    set(condition, "message", make_const("Scheduling is blocked due to non-empty scheduling gates"), alloc);
    array_at(status, "conditions", alloc).PushBack(condition, alloc);
  }
  set(pod, "status", std::move(status), alloc);
}

void defaults(Json& pod, JsonAlloc& alloc) {
  Json* spec = find(pod, "spec");
  if (!spec || !spec->IsObject()) return;
  default_pod_spec(*spec, alloc);
  set_default(*spec, "enableServiceLinks", Json(true), alloc);
  Json& status = object_at(pod, "status", alloc);
  default_text(status, "phase", "Pending", alloc);
  if (!find(status, "qosClass")) set(status, "qosClass", make_const(qos_class(*spec)), alloc);
}

struct Priority {
  std::int64_t value = 0;
  std::string name, preemption = "PreemptLowerPriority";
};

Outcome<Priority> priority_of(std::string_view pod, std::string_view class_name, const Admission& admission) {
  const Collection& classes = *admission.registry.get("scheduling.k8s.io", "priorityclasses").objects;
  Priority result;
  auto read = [&](const Object& object) {
    JsonDoc doc;
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

void add_toleration(Json& spec, const char* key, JsonAlloc& alloc) {
  Json& list = array_at(spec, "tolerations", alloc);
  for (const auto& toleration : list.GetArray()) {
    std::string_view name = text_at(toleration, "key"), effect = text_at(toleration, "effect");
    if ((name == key || name.empty()) && (effect == "NoExecute" || effect.empty())) return;
  }
  Json toleration(rapidjson::kObjectType);
  set(toleration, "key", make_const(key), alloc);
  set(toleration, "operator", make_const("Exists"), alloc);
  set(toleration, "effect", make_const("NoExecute"), alloc);
  set_int(toleration, "tolerationSeconds", 300, alloc);
  list.PushBack(toleration, alloc);
}

Outcome<void> add_overhead(Json& spec, std::string_view pod, Admission& admission) {
  std::string_view name = text_at(spec, "runtimeClassName");
  if (name.empty()) return {};
  auto object = admission.registry.get("node.k8s.io", "runtimeclasses").objects->get("", name);
  if (!object)
    return forbidden({"", "pods"}, pod, fmt::format("pod rejected: RuntimeClass \"{}\" not found", name));
  JsonDoc runtime;
  load(*object, runtime);
  if (const Json* fixed = find(runtime, "overhead", "podFixed"))
    set(spec, "overhead", clone(*fixed, admission.alloc), admission.alloc);
  return {};
}

Outcome<void> admit(Json& pod, const Json* old, Admission& admission) {
  Json* spec = find(pod, "spec");
  if (!spec || !spec->IsObject()) return {};
  JsonAlloc& alloc = admission.alloc;
  if (old) {  // an update that leaves the computed fields out keeps them
    const Json* before = find(*old, "spec");
    for (const char* field : {"priority", "preemptionPolicy", "nodeName"})
      if (before && !find(*spec, field))
        if (const Json* value = find(*before, field)) set(*spec, field, clone(*value, alloc), alloc);
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
  set_int(*spec, "priority", priority->value, alloc);
  if (!priority->name.empty()) set_text(*spec, "priorityClassName", priority->name, alloc);
  default_text(*spec, "preemptionPolicy", priority->preemption == "Never" ? "Never" : "PreemptLowerPriority",
               alloc);
  add_toleration(*spec, "node.kubernetes.io/not-ready", alloc);
  add_toleration(*spec, "node.kubernetes.io/unreachable", alloc);
  return add_overhead(*spec, name, admission);
}

// What an update of the pod itself may change of its spec.
void drop_mutable(Json& spec, const Json& old, JsonAlloc& alloc) {
  for (const char* list : {"containers", "initContainers"}) {
    Json* containers = find(spec, list);
    const Json* before = find(old, list);
    if (!containers || !before || !containers->IsArray() || !before->IsArray() ||
        containers->Size() != before->Size())
      continue;
    for (rapidjson::SizeType i = 0; i < containers->Size(); ++i)
      if (const Json* image = find((*before)[i], "image"))
        set((*containers)[i], "image", clone(*image, alloc), alloc);
  }
  auto restore = [&](const char* field) {
    if (const Json* value = find(old, field))
      set(spec, field, clone(*value, alloc), alloc);
    else
      remove(spec, field);
  };
  restore("activeDeadlineSeconds");
  const Json* before = find(old, "tolerations");
  const Json* after = find(spec, "tolerations");
  auto holds = [](const Json& list, const Json& item) {
    for (const auto& each : list.GetArray())
      if (same(&each, &item)) return true;
    return false;
  };
  bool only_added = true;
  if (before && before->IsArray())
    for (const auto& item : before->GetArray())
      only_added = only_added && after && after->IsArray() && holds(*after, item);
  if (only_added) restore("tolerations");
  // A gated pod may lose gates and be narrowed to fewer nodes.
  if (!is_empty(find(old, "schedulingGates")))
    for (const char* field : {"schedulingGates", "nodeSelector", "affinity"}) restore(field);
}

void validate(const Json& pod, const Json* old, Admission& admission, FieldErrors& errors) {
  const Json* spec = find(pod, "spec");
  if (!old) {
    if (!spec) return errors.required("spec.containers");
    return validate_pod_spec(*spec, "spec", errors);
  }
  if (admission.subresource == "status") return;
  const Json* before = find(*old, "spec");
  if (!spec || !before) return errors.required("spec.containers");
  if (same(spec, before)) return;
  validate_pod_spec(*spec, "spec", errors);
  if (admission.subresource == "ephemeralcontainers" || admission.subresource == "resize") return;
  Json reduced = clone(*spec, admission.alloc);
  drop_mutable(reduced, *before, admission.alloc);
  if (!same(&reduced, before))
    errors.forbidden(
        "spec",
        "pod updates may not change fields other than "
        "`spec.containers[*].image`,`spec.initContainers[*].image`,"
        "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)");
}

FieldValues fields(const Json& pod) {
  FieldValues values;
  const Json* spec = find(pod, "spec");
  const Json* status = find(pod, "status");
  auto add = [&](std::string_view name, const Json* holder, const char* field) {
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
  values.emplace_back("spec.hostNetwork", spec && true_at(*spec, "hostNetwork") ? "true" : "false");
  return values;
}

}  // namespace

KindRules pod_rules() { return {prepare_create, defaults, admit, validate, fields}; }

}  // namespace koord::sandbox
