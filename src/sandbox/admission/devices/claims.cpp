// ResourceClaims and the templates that pods' claims are made of: what kube-apiserver sets and refuses.
#include <fmt/format.h>

#include "koord/api/types/resource_v1/resource_claim_template.hpp"
#include "sandbox/admission/devices/checks.hpp"
#include "sandbox/admission/devices/claim_spec.hpp"
#include "sandbox/admission/devices/claim_status.hpp"
#include "sandbox/admission/rules.hpp"
#include "sandbox/kinds/device_claims.hpp"

namespace koord::sandbox {
namespace {

void immutable(const json::Value& object, const json::Value& old, StatusCauses& errors) {
  const json::Value* spec = find(object, "spec");
  if (!same(spec, find(old, "spec")))
    errors.invalid_raw("spec", spec ? json::to_text(*spec) : "null", "field is immutable");
}

// ---- ResourceClaim
void claim_create(json::Value& claim, Admission& admission) {
  object_at(claim, "status", admission.arena).set_object();
}

void claim_defaults(json::Value& claim, json::Arena& arena) {
  if (json::Value* spec = find(claim, "spec")) default_claim_spec(*spec, arena);
  if (json::Value* results = find(claim, "status", "allocation", "devices", "results"))
    for (json::Value& each : results->elements()) default_tolerations(each, arena);
}

Outcome<void> claim_admit(json::Value& claim, const json::Value* old, Admission& admission) {
  KOORD_PASS(read_as<api::ResourceClaim>(claim, admission.kind));
  if (old && admission.subresource == "status") drop_statuses_of_gone_devices(claim, *old);
  return {};
}

void claim_validate(const json::Value& object, const json::Value* old, Admission& admission,
                    StatusCauses& errors) {
  const auto claim = read_as<api::ResourceClaim>(object, admission.kind);
  if (!claim) return errors.internal("", claim.error().message);  // refused before
  if (!old) {
    check_admin_access(claim->spec, claim->metadata.namespace_, admission.registry, errors);
    return check_claim_spec(claim->spec, FieldPath("spec"), errors);
  }
  if (admission.subresource != "status") return immutable(object, *old, errors);
  const auto before = read_as<api::ResourceClaim>(*old, admission.kind);
  if (before) check_claim_status(*claim, *before, admission.registry, errors);
}

// ---- ResourceClaimTemplate
void template_defaults(json::Value& object, json::Arena& arena) {
  if (json::Value* spec = find(object, "spec", "spec")) default_claim_spec(*spec, arena);
}

Outcome<void> template_admit(json::Value& object, const json::Value*, Admission& admission) {
  KOORD_PASS(read_as<api::ResourceClaimTemplate>(object, admission.kind));
  return {};
}

void check_annotations(const api::SymbolMap& annotations, const FieldPath& path, StatusCauses& errors) {
  constexpr std::size_t kMost = std::size_t{256} * 1024;
  std::size_t total = 0;
  for (const auto& [key, value] : annotations) {
    std::string lower(key.view());
    for (char& c : lower)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    add_errors(api::check_qualified_name(lower), path.text(), key, errors);
    total += key.size() + value.size();
  }
  if (total > kMost) errors.too_long(path.text(), kMost);
}

void template_validate(const json::Value& object, const json::Value* old, Admission& admission,
                       StatusCauses& errors) {
  const auto made = read_as<api::ResourceClaimTemplate>(object, admission.kind);
  if (!made) return errors.internal("", made.error().message);  // refused before
  const FieldPath spec("spec"), metadata = spec.field("metadata");
  if (!old) check_admin_access(made->spec.spec, made->metadata.namespace_, admission.registry, errors);
  check_annotations(made->spec.metadata.annotations, metadata.field("annotations"), errors);
  validate_labels(find(object, "spec", "metadata", "labels"), metadata.field("labels").text(), errors);
  // All else that metadata may have is forbidden, in the order of Go's struct; an empty list, too.
  for (const char* field : {"name", "generateName", "namespace", "selfLink", "uid", "resourceVersion",
                            "generation", "creationTimestamp", "deletionTimestamp",
                            "deletionGracePeriodSeconds", "ownerReferences", "finalizers", "managedFields"})
    if (const json::Value* value = find(object, "spec", "metadata", field);
        value && (value->is_array() || (!is_empty(value) && value->to_int() != 0)))
      errors.forbidden(metadata.field(std::string_view(field) == "uid" ? "uID" : field).text(),
                       "cannot be set");
  check_claim_spec(made->spec.spec, spec.field("spec"), errors);
  if (old) immutable(object, *old, errors);
}

}  // namespace

KindRules device_claim_rules() {
  return {claim_create, claim_defaults, claim_admit, claim_validate, device_claim_fields};
}
KindRules device_claim_template_rules() {
  return {nullptr, template_defaults, template_admit, template_validate, nullptr};
}

}  // namespace koord::sandbox
