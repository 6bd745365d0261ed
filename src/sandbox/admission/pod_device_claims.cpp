#include "sandbox/admission/pod_device_claims.hpp"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "koord/json/writer.hpp"
#include "sandbox/admission/metadata.hpp"

namespace koord::sandbox {
namespace {

const json::Value* given(const json::Value& object, std::string_view key) {
  const json::Value* value = find(object, key);
  return value && !value->is_null() ? value : nullptr;
}

void check_label(std::string_view name, const FieldPath& path, StatusCauses& errors) {
  add_errors(api::check_dns1123_label(name), path.text(), name, errors);
}

void check_subdomain(std::string_view name, const FieldPath& path, StatusCauses& errors) {
  add_errors(api::check_dns1123_subdomain(name), path.text(), name, errors);
}

// As kube-apiserver shows an element of spec.resourceClaims.
std::string shown(const json::Value& claim) {
  std::string out;
  json::Writer json(out);
  json.begin_object().member("Name", text_at(claim, "name"));
  for (const auto& [field, name] : {std::pair("resourceClaimName", "ResourceClaimName"),
                                    {"resourceClaimTemplateName", "ResourceClaimTemplateName"}}) {
    const json::Value* value = given(claim, field);
    json.key(name);
    if (value)
      json.value(value->text());
    else
      json.null();
  }
  json.end_object();
  return out;
}

void check_source(const json::Value& claim, const FieldPath& path, StatusCauses& errors) {
  const json::Value *name = given(claim, "resourceClaimName"),
                    *of = given(claim, "resourceClaimTemplateName");
  if (name && of)
    errors.invalid_raw(path.text(), shown(claim),
                       "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified");
  if (!name && !of)
    errors.invalid_raw(path.text(), shown(claim),
                       "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
  if (name) check_subdomain(name->text(), path.field("resourceClaimName"), errors);
  if (of) check_subdomain(of->text(), path.field("resourceClaimTemplateName"), errors);
}

}  // namespace

PodClaimNames::PodClaimNames(const json::Value* list, const FieldPath& path, StatusCauses& errors) {
  for (std::size_t i = 0; list && i < list->elements().size(); ++i) {
    const json::Value& claim = (*list)[i];
    const FieldPath at = path.at(i), name_at = at.field("name");
    const std::string_view name = text_at(claim, "name");
    if (name.empty())
      errors.required(name_at.text());
    else if (!names_.insert(name).second)
      errors.duplicate(name_at.text(), name);
    else
      check_label(name, name_at, errors);
    check_source(claim, at, errors);
  }
}

std::string PodClaimNames::explanation() const {
  std::string out = "must be one of the names in pod.spec.resourceClaims";
  if (names_.empty()) return out.append(" which is empty");
  std::set<std::string_view> sorted(names_.begin(), names_.end());
  std::string_view separator = ": ";
  for (const std::string_view name : sorted) {
    if (out.size() > StatusCauses::kMostShown) break;
    fmt::format_to(std::back_inserter(out), "{}{}", separator, name);
    separator = ", ";
  }
  return out;
}

void PodClaimNames::check_uses(const json::Value& resources, const FieldPath& path,
                               StatusCauses& errors) const {
  const json::Value* list = find(resources, "claims");
  std::set<std::string> used;  // "NAME" or "NAME/REQUEST"
  for (std::size_t i = 0; list && i < list->elements().size(); ++i) {
    const FieldPath at = path.at(i);
    const std::string name(text_at((*list)[i], "name"));
    const std::string_view request = text_at((*list)[i], "request");
    if (name.empty()) {
      errors.required(at.text());
      continue;
    }
    if (used.contains(name)) {  // with all of its requests
      errors.duplicate(at.text(), name);
    } else {
      std::string key = name;
      if (!request.empty()) {
        check_label(request, at.field("request"), errors);
        fmt::format_to(std::back_inserter(key), "/{}", request);
      }
      const std::string part = fmt::format("{}/", name);
      if (used.contains(key))
        errors.duplicate(at.text(), key);
      else if (request.empty())  // an error for each of its requests that are used already
        for (auto it = used.lower_bound(part); it != used.end() && it->starts_with(part); ++it)
          errors.duplicate(at.text(), name);
      used.insert(std::move(key));
    }
    if (!names_.contains(name) && !errors.skip()) errors.not_found(at.text(), name, explanation());
  }
}

void check_pod_claim_statuses(const json::Value& pod, StatusCauses& errors) {
  const json::Value* statuses = find(pod, "status", "resourceClaimStatuses");
  if (is_empty(statuses)) return;
  std::unordered_set<std::string_view> names, seen;
  if (const json::Value* claims = find(pod, "spec", "resourceClaims"))
    for (const json::Value& each : claims->elements()) names.insert(text_at(each, "name"));
  const FieldPath status("status"), path = status.field("resourceClaimStatuses");
  for (std::size_t i = 0; i < statuses->elements().size(); ++i) {
    const json::Value& each = (*statuses)[i];
    const FieldPath at = path.at(i), name_at = at.field("name");
    const std::string_view name = text_at(each, "name");
    if (!names.contains(name))
      errors.invalid(name_at.text(), name, "must match the name of an entry in `spec.resourceClaims`");
    if (!seen.insert(name).second) errors.duplicate(name_at.text(), name);
    if (const json::Value* claim = given(each, "resourceClaimName"))
      check_subdomain(claim->text(), name_at, errors);
  }
}

}  // namespace koord::sandbox
