#include "sandbox/admission/devices/claim_spec.hpp"

#include <fmt/format.h>

#include "sandbox/admission/devices/checks.hpp"
#include "sandbox/admission/devices/selectors.hpp"

namespace koord::sandbox {
namespace {

constexpr const char* kAdminLabel = "resource.kubernetes.io/admin-access";

void default_request(json::Value& request, json::Arena& arena) {
  if (!request.is_object()) return;
  default_text(request, "allocationMode", "ExactCount", arena);
  // What is no number is refused later, as it is.
  const json::Value* count = find(request, "count");
  if (text_at(request, "allocationMode") == "ExactCount" &&
      (!count || count->is_null() || count->to_int() == 0))
    set_int(request, "count", 1, arena);
  default_tolerations(request, arena);
}

void check_mode(std::string_view mode, std::int64_t count, const FieldPath& path, StatusCauses& errors) {
  const FieldPath count_at = path.field("count");
  if (mode == "All") {
    if (count != 0)
      errors.invalid_raw(count_at.text(), fmt::to_string(count),
                         "must not be specified when allocationMode is 'All'");
  } else if (mode == "ExactCount") {
    if (count <= 0) errors.invalid_raw(count_at.text(), fmt::to_string(count), "must be greater than zero");
  } else {
    errors.unsupported(path.field("allocationMode").text(), mode, {"All", "ExactCount"});
  }
}

/// What exact requests and subrequests have in common.
template <class Request>
void check_request(const Request& request, const FieldPath& path, SelectorChecks& selectors,
                   StatusCauses& errors) {
  const FieldPath class_at = path.field("deviceClassName"), tolerations = path.field("tolerations");
  if (request.device_class_name.empty())
    errors.required(class_at.text());
  else
    check_subdomain(request.device_class_name, class_at, errors);
  selectors.check(request.selectors, path.field("selectors"));
  check_mode(request.allocation_mode, request.count, path, errors);
  for (std::size_t i = 0; i < request.tolerations.size(); ++i)
    check_toleration(request.tolerations[i], tolerations.at(i), errors);
}

void check_alternatives(const api::DeviceRequest& request, const FieldPath& path, SelectorChecks& selectors,
                        StatusCauses& errors) {
  check_label(request.name, path.field("name"), errors);
  if (!request.exactly && request.first_available.empty())
    return errors.required(path.text(), "exactly one of `exactly` or `firstAvailable` is required");
  if (request.exactly && !request.first_available.empty())
    return errors.invalid_raw(
        path.text(), "null",
        "exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set");
  if (request.exactly) return check_request(*request.exactly, path.field("exactly"), selectors, errors);
  check_set(
      request.first_available, kMostSubrequests, path.field("firstAvailable"), errors,
      [&](const api::DeviceSubRequest& each, const FieldPath& at) {
        check_label(each.name, at.field("name"), errors);
        check_request(each, at, selectors, errors);
      },
      [](const api::DeviceSubRequest& each) { return each.name.view(); });
}

void check_constraint(const api::DeviceConstraint& constraint, const FieldPath& path,
                      const RequestNames& names, StatusCauses& errors) {
  check_request_refs(constraint.requests, path.field("requests"), names, errors);
  if (constraint.match_attribute)
    check_fully_qualified(*constraint.match_attribute, path.field("matchAttribute"), errors);
  else if (constraint.distinct_attribute)
    check_fully_qualified(*constraint.distinct_attribute, path.field("distinctAttribute"), errors);
  else  // the words are kube-apiserver's
    errors.required(
        path.text(),
        R"(exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields )"
        "are set");
}

}  // namespace

void default_tolerations(json::Value& holder, json::Arena& arena) {
  if (json::Value* list = find(holder, "tolerations"))
    for (json::Value& each : list->elements())
      if (each.is_object()) default_text(each, "operator", "Equal", arena);
}

void default_claim_spec(json::Value& spec, json::Arena& arena) {
  json::Value* requests = find(spec, "devices", "requests");
  if (!requests) return;
  for (json::Value& request : requests->elements()) {
    if (json::Value* exactly = find(request, "exactly")) default_request(*exactly, arena);
    if (json::Value* list = find(request, "firstAvailable"))
      for (json::Value& each : list->elements()) default_request(each, arena);
  }
}

void check_claim_spec(const api::ResourceClaimSpec& spec, const FieldPath& path, StatusCauses& errors) {
  const FieldPath devices = path.field("devices");
  const RequestNames names(spec.devices);
  SelectorChecks selectors(errors);
  check_set(
      spec.devices.requests, kMostRequests, devices.field("requests"), errors,
      [&](const api::DeviceRequest& each, const FieldPath& at) {
        check_alternatives(each, at, selectors, errors);
      },
      [](const api::DeviceRequest& each) { return each.name.view(); });
  check_list(spec.devices.constraints, kMostConstraints, devices.field("constraints"), errors,
             [&](const api::DeviceConstraint& each, const FieldPath& at) {
               check_constraint(each, at, names, errors);
             });
  check_list(spec.devices.config, kMostConfigs, devices.field("config"), errors,
             [&](const api::DeviceClaimConfiguration& each, const FieldPath& at) {
               check_request_refs(each.requests, at.field("requests"), names, errors);
               check_configuration(each.configuration, at, errors);
             });
}

void check_admin_namespace(std::string_view ns, const FieldPath& path, const Registry& registry,
                           StatusCauses& errors) {
  const ObjectPtr space = registry.get("", "namespaces").objects->get("", ns);
  const std::string* label = space ? space->label(kAdminLabel) : nullptr;
  if (!label || *label != "true")
    errors.forbidden(
        path.text(),
        fmt::format("admin access to devices requires the `{}: true` label on the containing namespace",
                    kAdminLabel));
}

void check_admin_access(const api::ResourceClaimSpec& spec, std::string_view ns, const Registry& registry,
                        StatusCauses& errors) {
  const FieldPath root("spec"), devices = root.field("devices"), requests = devices.field("requests");
  for (std::size_t i = 0; i < spec.devices.requests.size(); ++i) {
    const auto& exactly = spec.devices.requests[i].exactly;
    if (!exactly || !exactly->admin_access.value_or(false)) continue;
    const FieldPath at = requests.at(i);
    return check_admin_namespace(ns, at.field("adminAccess"), registry, errors);  // the first one counts
  }
}

RequestNames::RequestNames(const api::DeviceClaim& claim) {
  for (const api::DeviceRequest& request : claim.requests) {
    // Of several of one name, which are an error elsewhere, the last one counts.
    std::unordered_set<std::string_view>& ways = names_[request.name];
    ways.clear();
    for (const api::DeviceSubRequest& each : request.first_available) ways.insert(each.name);
  }
}

bool RequestNames::has(std::string_view name) const {
  const std::size_t slash = name.find('/');
  const auto found = names_.find(name.substr(0, slash));
  if (found == names_.end()) return false;
  return slash == std::string_view::npos || found->second.contains(name.substr(slash + 1));
}

void RequestNames::check(std::string_view name, const FieldPath& path, StatusCauses& errors) const {
  constexpr std::string_view kWrong =
      "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
  const std::size_t slash = name.find('/');
  const std::string_view rest = slash == std::string_view::npos ? "" : name.substr(slash + 1);
  if (rest.find('/') != std::string_view::npos) return errors.invalid(path.text(), name, kWrong);
  check_label(name.substr(0, slash), path, errors);
  if (slash != std::string_view::npos) check_label(rest, path, errors);
  if (!has(name)) errors.invalid(path.text(), name, kWrong);
}

void check_request_refs(const api::List<Symbol>& requests, const FieldPath& path, const RequestNames& names,
                        StatusCauses& errors) {
  check_set(
      requests, kMostRequests, path, errors,
      [&](const Symbol& name, const FieldPath& at) { names.check(name, at, errors); },
      [](const Symbol& name) { return name.view(); });
}

}  // namespace koord::sandbox
