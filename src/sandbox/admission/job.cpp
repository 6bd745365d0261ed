// Jobs: defaults, the selector that the server makes, validation.
#include <fmt/format.h>

#include "koord/json/index.hpp"
#include "koord/json/writer.hpp"
#include "sandbox/admission/rules.hpp"
#include "sandbox/select/selection.hpp"

namespace koord::sandbox {
namespace {

// The pods of a job are told by its uid.
void prepare_create(json::Value& job, Admission& admission) {
  json::Arena& arena = admission.arena;
  set(job, "status", json::Value::object(), arena);
  json::Value* spec = find(job, "spec");
  json::Value* part = spec ? find(*spec, "template") : nullptr;
  if (!part || !part->is_object() || true_at(*spec, "manualSelector")) return;
  const std::string uid(text_at(job, "metadata", "uid")), name(text_at(job, "metadata", "name"));
  json::Value& labels = object_at(object_at(*part, "metadata", arena), "labels", arena);
  for (const char* key : {"batch.kubernetes.io/controller-uid", "controller-uid"})
    set_text(labels, key, uid, arena);
  for (const char* key : {"batch.kubernetes.io/job-name", "job-name"}) set_text(labels, key, name, arena);
  json::Value& selector = object_at(*spec, "selector", arena);
  set_text(object_at(selector, "matchLabels", arena), "batch.kubernetes.io/controller-uid", uid, arena);
}

void defaults(json::Value& job, json::Arena& arena) {
  json::Value* spec = find(job, "spec");
  if (!spec || !spec->is_object()) return;
  // Without both it is one pod that has to succeed; parallel workers say when all is done.
  const json::Value* parallelism = find(*spec, "parallelism");
  if (!find(*spec, "completions") && (!parallelism || parallelism->is_null()))
    default_int(*spec, "completions", 1, arena);
  default_int(*spec, "parallelism", 1, arena);
  const bool indexed = text_at(*spec, "completionMode") == "Indexed";
  default_int(*spec, "backoffLimit", indexed && find(*spec, "backoffLimitPerIndex") ? INT32_MAX : 6, arena);
  default_text(*spec, "completionMode", "NonIndexed", arena);
  set_default(*spec, "suspend", json::Value(false), arena);
  set_default(*spec, "manualSelector", json::Value(false), arena);
  default_text(*spec, "podReplacementPolicy", "TerminatingOrFailed", arena);
  if (json::Value* part = find(*spec, "template"); part && part->is_object()) {
    object_at(*part, "metadata", arena);
    if (json::Value* pod = find(*part, "spec")) default_pod_spec(*pod, arena);
  }
}

void validate(const json::Value& job, const json::Value* old, Admission& admission, StatusCauses& errors) {
  if (admission.subresource == "status") return;
  const json::Value* spec = find(job, "spec");
  if (!spec) return errors.required("spec.template.spec.containers");
  for (const char* field :
       {"parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"})
    if (const auto value = int_at(*spec, field); value && *value < 0)
      errors.invalid_raw(fmt::format("spec.{}", field), fmt::to_string(*value),
                         "must be greater than or equal to 0");
  const std::string_view mode = text_at(*spec, "completionMode");
  if (mode != "NonIndexed" && mode != "Indexed")
    errors.unsupported("spec.completionMode", mode, {"Indexed", "NonIndexed"});
  if (mode == "Indexed" && !int_at(*spec, "completions"))
    errors.required("spec.completions", "when completion mode is Indexed");
  const json::Value* part = find(*spec, "template");
  const json::Value* pod = part ? find(*part, "spec") : nullptr;
  if (!pod) return errors.required("spec.template.spec.containers");
  validate_pod_spec(*pod, FieldPath("spec.template.spec"), errors);
  if (const std::string_view restart = text_at(*pod, "restartPolicy");
      restart != "OnFailure" && restart != "Never")
    errors.required("spec.template.spec.restartPolicy", R"(valid values: "OnFailure", "Never")");
  if (!old) return;
  const auto fixed = [&](const char* field) {
    const json::Value *before = find(*old, "spec", field), *after = find(*spec, field);
    if (!same(before, after))
      errors.invalid_raw(fmt::format("spec.{}", field), after ? json::to_text(*after) : "null",
                         "field is immutable");
  };
  if (mode == "NonIndexed") fixed("completions");
  for (const char* field : {"selector", "template", "completionMode"}) fixed(field);
}

FieldValues fields(const json::Value& job) {
  return {{"status.successful", fmt::to_string(int_at(job, "status", "succeeded").value_or(0))}};
}

}  // namespace

KindRules job_rules() { return {prepare_create, defaults, nullptr, validate, fields}; }

}  // namespace koord::sandbox
