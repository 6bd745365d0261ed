// Kubernetes' own gangs as 1.35 has them, Workloads: validation.
#include <fmt/format.h>

#include <set>

#include "koord/json/writer.hpp"
#include "sandbox/admission/metadata.hpp"
#include "sandbox/admission/rules.hpp"

namespace koord::sandbox {
namespace {

constexpr std::size_t kMostGroups = 8;
constexpr std::string_view kImmutable = "field is immutable";

void immutable(const json::Value* now, const json::Value* before, std::string path, StatusCauses& errors) {
  if (!same(now, before)) errors.invalid_raw(std::move(path), now ? json::to_text(*now) : "null", kImmutable);
}

/// Which of the members of a union there are, as messages name them.
std::string set_members(const json::Value& value, std::initializer_list<const char*> members,
                        std::size_t& count) {
  std::string out;
  count = 0;
  for (const char* member : members)
    if (find(value, member)) fmt::format_to(std::back_inserter(out), "{}`{}`", count++ ? ", " : "", member);
  return out;
}

// ---- Workload (scheduling.k8s.io/v1alpha1)
void validate_policy(const json::Value* policy, const FieldPath& path, StatusCauses& errors) {
  constexpr std::string_view kOne = "exactly one of `basic`, `gang` is required";
  std::size_t count = 0;
  const std::string there = policy ? set_members(*policy, {"basic", "gang"}, count) : std::string();
  if (count == 0) return errors.required(path.text(), kOne);
  if (count > 1)
    return errors.invalid(path.text(), fmt::format("{{{}}}", there),
                          fmt::format("{}, but multiple fields are set", kOne));
  const json::Value* gang = find(*policy, "gang");
  if (!gang) return;
  if (const auto least = int_at(*gang, "minCount").value_or(0); least <= 0)
    errors.invalid_raw(path.field("gang").field("minCount").text(), fmt::to_string(least),
                       "must be greater than zero");
}

void validate_controller(const json::Value& ref, const FieldPath& path, StatusCauses& errors) {
  if (const std::string_view group = text_at(ref, "apiGroup"); !group.empty())
    add_errors(api::check_dns1123_subdomain(group), path.field("apiGroup").text(), group, errors);
  for (const char* field : {"kind", "name"}) {
    const std::string_view value = text_at(ref, field);
    if (value.empty())
      errors.required(path.field(field).text());
    else
      add_errors(api::check_path_segment(value), path.field(field).text(), value, errors);
  }
}

void workload_validate(const json::Value& object, const json::Value* old, Admission&, StatusCauses& errors) {
  const FieldPath spec_at("spec"), groups_at = spec_at.field("podGroups");
  const json::Value* controller = find(object, "spec", "controllerRef");
  const json::Value* groups = find(object, "spec", "podGroups");
  if (controller) validate_controller(*controller, spec_at.field("controllerRef"), errors);
  if (is_empty(groups)) {
    errors.required(groups_at.text(), "must have at least one item");
  } else if (groups->size() > kMostGroups) {
    errors.invalid_raw(groups_at.text(), fmt::to_string(groups->size()),
                       fmt::format("must have at most {} items", kMostGroups));
  } else {
    std::set<std::string_view> names;
    for (std::size_t i = 0; i < groups->elements().size(); ++i) {
      const json::Value& group = (*groups)[i];
      const FieldPath at = groups_at.at(i);
      const std::string_view name = text_at(group, "name");
      add_errors(api::check_dns1123_label(name), at.field("name").text(), name, errors);
      if (!names.insert(name).second) errors.duplicate(at.field("name").text(), name);
      validate_policy(find(group, "policy"), at.field("policy"), errors);
    }
  }
  if (!old) return;
  // The paths are Kubernetes', which lack "spec." there.
  if (const json::Value* before = find(*old, "spec", "controllerRef"))
    immutable(controller, before, "controllerRef", errors);
  immutable(groups, find(*old, "spec", "podGroups"), "podGroups", errors);
}

}  // namespace

KindRules gang_workload_rules() { return {nullptr, nullptr, nullptr, workload_validate, nullptr}; }

}  // namespace koord::sandbox
