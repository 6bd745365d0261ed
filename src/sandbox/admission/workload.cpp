// Deployments, ReplicaSets and StatefulSets: defaults and validation.
#include <fmt/format.h>

#include "koord/json/writer.hpp"
#include "sandbox/admission/rules.hpp"
#include "sandbox/select/selection.hpp"

namespace koord::sandbox {
namespace {

void template_defaults(json::Value& spec, json::Arena& arena) {
  default_int(spec, "replicas", 1, arena);
  if (json::Value* pod = find(spec, "template", "spec")) default_pod_spec(*pod, arena);
  if (json::Value* part = find(spec, "template"); part && part->is_object())
    object_at(*part, "metadata", arena);
}

void replica_set_defaults(json::Value& object, json::Arena& arena) {
  if (json::Value* spec = find(object, "spec"); spec && spec->is_object()) template_defaults(*spec, arena);
}

void deployment_defaults(json::Value& object, json::Arena& arena) {
  json::Value* spec = find(object, "spec");
  if (!spec || !spec->is_object()) return;
  template_defaults(*spec, arena);
  json::Value& strategy = object_at(*spec, "strategy", arena);
  default_text(strategy, "type", "RollingUpdate", arena);
  if (text_at(strategy, "type") == "RollingUpdate") {
    json::Value& rolling = object_at(strategy, "rollingUpdate", arena);
    set_default(rolling, "maxUnavailable", json::make_const("25%"), arena);
    set_default(rolling, "maxSurge", json::make_const("25%"), arena);
  }
  default_int(*spec, "revisionHistoryLimit", 10, arena);
  default_int(*spec, "progressDeadlineSeconds", 600, arena);
}

void at_least_0(const json::Value* value, const char* field, StatusCauses& errors) {
  if (value && value->to_int().value_or(0) < 0)
    errors.invalid_raw(field, json::to_text(*value), "must be greater than or equal to 0");
}

// Replicas, selector and template; `workload` as messages name the kind.
void validate_spec(const json::Value* spec, std::string_view workload, StatusCauses& errors) {
  if (!spec) return errors.required("spec.selector");
  at_least_0(find(*spec, "replicas"), "spec.replicas", errors);
  const json::Value* selector = find(*spec, "selector");
  bool empty = !selector ||
               (is_empty(find(*selector, "matchLabels")) && is_empty(find(*selector, "matchExpressions")));
  if (!selector)
    errors.required("spec.selector");
  else if (empty)
    errors.invalid_raw("spec.selector", json::to_text(*selector),
                       fmt::format("empty selector is invalid for {}", workload));
  const json::Value* part = find(*spec, "template");
  if (!part) return errors.required("spec.template");
  if (!empty) {
    std::vector<std::pair<std::string, std::string>> labels;
    if (const json::Value* map = find(*part, "metadata", "labels"); map && map->is_object())
      for (const auto& label : map->members())
        if (label.value.is_string()) labels.emplace_back(label.key(), label.value.text());
    std::sort(labels.begin(), labels.end());
    auto selection = Selection::from_json(selector);
    if (!selection)
      errors.invalid_raw("spec.selector", json::to_text(*selector), "invalid label selector");
    else if (!selection->matches_labels(labels)) {
      const json::Value* map = find(*part, "metadata", "labels");
      errors.invalid_raw("spec.template.metadata.labels", map ? json::to_text(*map) : "null",
                         "`selector` does not match template `labels`");
    }
  }
  if (const json::Value* pod = find(*part, "spec"))
    validate_pod_spec(*pod, FieldPath("spec.template.spec"), errors);
  else
    errors.required("spec.template.spec.containers");
  if (std::string_view restart = text_at(*part, "spec", "restartPolicy");
      !restart.empty() && restart != "Always")
    errors.unsupported("spec.template.spec.restartPolicy", restart, {"Always"});
}

void validate(const json::Value& object, const json::Value* old, Admission& admission, StatusCauses& errors) {
  if (admission.subresource == "status") return;
  validate_spec(find(object, "spec"), "deployment", errors);
  const json::Value* selector = find(object, "spec", "selector");
  if (old && selector && !same(selector, find(*old, "spec", "selector")))
    errors.invalid_raw("spec.selector", json::to_text(*selector), "field is immutable");
}

void stateful_set_defaults(json::Value& object, json::Arena& arena) {
  json::Value* spec = find(object, "spec");
  if (!spec || !spec->is_object()) return;
  template_defaults(*spec, arena);
  default_text(*spec, "podManagementPolicy", "OrderedReady", arena);
  json::Value& strategy = object_at(*spec, "updateStrategy", arena);
  default_text(strategy, "type", "RollingUpdate", arena);
  if (text_at(strategy, "type") == "RollingUpdate")
    default_int(object_at(strategy, "rollingUpdate", arena), "partition", 0, arena);
  default_int(*spec, "revisionHistoryLimit", 10, arena);
  json::Value& retention = object_at(*spec, "persistentVolumeClaimRetentionPolicy", arena);
  default_text(retention, "whenDeleted", "Retain", arena);
  default_text(retention, "whenScaled", "Retain", arena);
  if (json::Value* claims = find(*spec, "volumeClaimTemplates"); claims && claims->is_array())
    for (json::Value& claim : claims->elements()) {
      if (!claim.is_object()) continue;
      default_text(claim, "apiVersion", "v1", arena);
      default_text(claim, "kind", "PersistentVolumeClaim", arena);
      default_text(object_at(claim, "spec", arena), "volumeMode", "Filesystem", arena);
      default_text(object_at(claim, "status", arena), "phase", "Pending", arena);
    }
}

// What an update may change of the spec is as it was.
json::Value without_mutable(const json::Value& spec, const json::Value& old, json::Arena& arena) {
  json::Value reduced = clone(spec, arena);
  for (const char* field : {"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
                            "persistentVolumeClaimRetentionPolicy", "minReadySeconds"})
    if (const json::Value* value = find(old, field))
      set(reduced, field, clone(*value, arena), arena);
    else
      json::remove(reduced, field);
  return reduced;
}

void stateful_set_validate(const json::Value& object, const json::Value* old, Admission& admission,
                           StatusCauses& errors) {
  if (admission.subresource == "status") return;
  const json::Value* spec = find(object, "spec");
  validate_spec(spec, "statefulset", errors);
  if (!spec || !spec->is_object()) return;  // an error already
  const std::string_view order = text_at(*spec, "podManagementPolicy");
  if (order != "OrderedReady" && order != "Parallel")
    errors.invalid("spec.podManagementPolicy", order, "must be 'OrderedReady' or 'Parallel'");
  const std::string_view strategy = text_at(*spec, "updateStrategy", "type");
  if (strategy != "RollingUpdate" && strategy != "OnDelete")
    errors.invalid_raw("spec.updateStrategy", json::to_text(*find(*spec, "updateStrategy")),
                       "must be 'RollingUpdate' or 'OnDelete'");
  if (strategy == "OnDelete")
    if (const json::Value* rolling = find(*spec, "updateStrategy", "rollingUpdate"))
      errors.invalid_raw("spec.updateStrategy.rollingUpdate", json::to_text(*rolling),
                         "only allowed for updateStrategy 'RollingUpdate'");
  at_least_0(find(*spec, "updateStrategy", "rollingUpdate", "partition"),
             "spec.updateStrategy.rollingUpdate.partition", errors);
  at_least_0(find(*spec, "minReadySeconds"), "spec.minReadySeconds", errors);
  at_least_0(find(*spec, "ordinals", "start"), "spec.ordinals.start", errors);
  for (const char* when : {"whenDeleted", "whenScaled"}) {
    const std::string_view what = text_at(*spec, "persistentVolumeClaimRetentionPolicy", when);
    if (what != "Retain" && what != "Delete")
      errors.unsupported(fmt::format("spec.persistentVolumeClaimRetentionPolicy.{}", when), what,
                         {"Delete", "Retain"});
  }
  const json::Value* claims = find(*spec, "volumeClaimTemplates");
  for (std::size_t i = 0; !old && claims && i < claims->elements().size(); ++i) {
    const FieldPath root("spec.volumeClaimTemplates"), item = root.at(i);
    validate_claim_spec(find((*claims)[i], "spec"), item.field("spec"), errors);
  }
  const json::Value* before = old ? find(*old, "spec") : nullptr;
  if (!before) return;
  const json::Value reduced = without_mutable(*spec, *before, admission.arena);
  if (!same(&reduced, before))
    errors.forbidden("spec",
                     "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
                     "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
                     "'minReadySeconds' are forbidden");
}

FieldValues replica_set_fields(const json::Value& object) {
  return {{"status.replicas", fmt::to_string(int_at(object, "status", "replicas").value_or(0))}};
}

}  // namespace

KindRules deployment_rules() { return {nullptr, deployment_defaults, nullptr, validate, nullptr}; }
KindRules replica_set_rules() {
  return {nullptr, replica_set_defaults, nullptr, validate, replica_set_fields};
}

KindRules stateful_set_rules() {
  return {nullptr, stateful_set_defaults, nullptr, stateful_set_validate, nullptr};
}

}  // namespace koord::sandbox
