// DeviceClasses: what kube-apiserver refuses.
#include "koord/api/types/resource_v1/device_class.hpp"

#include "sandbox/admission/devices/checks.hpp"
#include "sandbox/admission/devices/selectors.hpp"
#include "sandbox/admission/rules.hpp"

namespace koord::sandbox {
namespace {

Outcome<void> admit(json::Value& object, const json::Value*, Admission& admission) {
  KOORD_PASS(read_as<api::DeviceClass>(object, admission.kind));
  return {};
}

void validate(const json::Value& object, const json::Value*, Admission& admission, StatusCauses& errors) {
  const auto made = read_as<api::DeviceClass>(object, admission.kind);
  if (!made) return errors.internal("", made.error().message);  // refused before
  const FieldPath spec("spec");
  SelectorChecks(errors).check(made->spec.selectors, spec.field("selectors"));
  check_list(made->spec.config, kMostConfigs, spec.field("config"), errors,
             [&](const api::DeviceClassConfiguration& each, const FieldPath& at) {
               check_configuration(each.configuration, at, errors);
             });
  if (const auto& name = made->spec.extended_resource_name; name && !is_extended_resource(*name))
    errors.invalid(spec.field("extendedResourceName").text(), *name,
                   "must be a valid extended resource name");
}

}  // namespace

KindRules device_class_rules() { return {nullptr, nullptr, admit, validate, nullptr}; }

}  // namespace koord::sandbox
