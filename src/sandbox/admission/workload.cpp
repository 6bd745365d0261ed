// Deployments and ReplicaSets: defaults and validation.
#include <fmt/format.h>

#include "sandbox/admission/rules.hpp"
#include "sandbox/select/selection.hpp"

namespace koord::sandbox {
namespace {

void template_defaults(Json& spec, JsonAlloc& alloc) {
  default_int(spec, "replicas", 1, alloc);
  if (Json* pod = find(spec, "template", "spec")) default_pod_spec(*pod, alloc);
  if (Json* part = find(spec, "template"); part && part->IsObject()) object_at(*part, "metadata", alloc);
}

void replica_set_defaults(Json& object, JsonAlloc& alloc) {
  if (Json* spec = find(object, "spec"); spec && spec->IsObject()) template_defaults(*spec, alloc);
}

void deployment_defaults(Json& object, JsonAlloc& alloc) {
  Json* spec = find(object, "spec");
  if (!spec || !spec->IsObject()) return;
  template_defaults(*spec, alloc);
  Json& strategy = object_at(*spec, "strategy", alloc);
  default_text(strategy, "type", "RollingUpdate", alloc);
  if (text_at(strategy, "type") == "RollingUpdate") {
    Json& rolling = object_at(strategy, "rollingUpdate", alloc);
    set_default(rolling, "maxUnavailable", make_const("25%"), alloc);
    set_default(rolling, "maxSurge", make_const("25%"), alloc);
  }
  default_int(*spec, "revisionHistoryLimit", 10, alloc);
  default_int(*spec, "progressDeadlineSeconds", 600, alloc);
}

void validate(const Json& object, const Json* old, Admission& admission, FieldErrors& errors) {
  if (admission.subresource == "status") return;
  const Json* spec = find(object, "spec");
  if (!spec) return errors.required("spec.selector");
  if (auto replicas = int_at(*spec, "replicas"); replicas && *replicas < 0)
    errors.invalid_raw("spec.replicas", std::to_string(*replicas), "must be greater than or equal to 0");
  const Json* selector = find(*spec, "selector");
  bool empty = !selector ||
               (is_empty(find(*selector, "matchLabels")) && is_empty(find(*selector, "matchExpressions")));
  if (!selector)
    errors.required("spec.selector");
  else if (empty)
    errors.invalid_raw("spec.selector", write_json(*selector), "empty selector is invalid for deployment");
  const Json* part = find(*spec, "template");
  if (!part) return errors.required("spec.template");
  if (!empty) {
    std::vector<std::pair<std::string, std::string>> labels;
    if (const Json* map = find(*part, "metadata", "labels"); map && map->IsObject())
      for (const auto& label : map->GetObject())
        if (label.value.IsString()) labels.emplace_back(view(label.name), view(label.value));
    std::sort(labels.begin(), labels.end());
    auto selection = Selection::from_json(selector);
    if (!selection)
      errors.invalid_raw("spec.selector", write_json(*selector), "invalid label selector");
    else if (!selection->matches_labels(labels)) {
      const Json* map = find(*part, "metadata", "labels");
      errors.invalid_raw("spec.template.metadata.labels", map ? write_json(*map) : "null",
                         "`selector` does not match template `labels`");
    }
  }
  if (const Json* pod = find(*part, "spec"))
    validate_pod_spec(*pod, "spec.template.spec", errors);
  else
    errors.required("spec.template.spec.containers");
  if (std::string_view restart = text_at(*part, "spec", "restartPolicy");
      !restart.empty() && restart != "Always")
    errors.unsupported("spec.template.spec.restartPolicy", restart, {"Always"});
  if (old && selector && !same(selector, find(*old, "spec", "selector")))
    errors.invalid_raw("spec.selector", write_json(*selector), "field is immutable");
}

FieldValues replica_set_fields(const Json& object) {
  return {{"status.replicas", std::to_string(int_at(object, "status", "replicas").value_or(0))}};
}

}  // namespace

KindRules deployment_rules() { return {nullptr, deployment_defaults, nullptr, validate, nullptr}; }
KindRules replica_set_rules() {
  return {nullptr, replica_set_defaults, nullptr, validate, replica_set_fields};
}

}  // namespace koord::sandbox
