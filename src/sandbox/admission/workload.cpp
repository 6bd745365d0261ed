// Deployments and ReplicaSets: defaults and validation.
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

void validate(const json::Value& object, const json::Value* old, Admission& admission, StatusCauses& errors) {
  if (admission.subresource == "status") return;
  const json::Value* spec = find(object, "spec");
  if (!spec) return errors.required("spec.selector");
  if (auto replicas = int_at(*spec, "replicas"); replicas && *replicas < 0)
    errors.invalid_raw("spec.replicas", fmt::to_string(*replicas), "must be greater than or equal to 0");
  const json::Value* selector = find(*spec, "selector");
  bool empty = !selector ||
               (is_empty(find(*selector, "matchLabels")) && is_empty(find(*selector, "matchExpressions")));
  if (!selector)
    errors.required("spec.selector");
  else if (empty)
    errors.invalid_raw("spec.selector", json::to_text(*selector), "empty selector is invalid for deployment");
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
  if (old && selector && !same(selector, find(*old, "spec", "selector")))
    errors.invalid_raw("spec.selector", json::to_text(*selector), "field is immutable");
}

FieldValues replica_set_fields(const json::Value& object) {
  return {{"status.replicas", fmt::to_string(int_at(object, "status", "replicas").value_or(0))}};
}

}  // namespace

KindRules deployment_rules() { return {nullptr, deployment_defaults, nullptr, validate, nullptr}; }
KindRules replica_set_rules() {
  return {nullptr, replica_set_defaults, nullptr, validate, replica_set_fields};
}

}  // namespace koord::sandbox
