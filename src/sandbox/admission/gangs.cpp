// Kubernetes' own gangs: Workloads as 1.35 has them, PodGroups as 1.37 has them; defaults and validation.
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

// ---- PodGroup (scheduling.k8s.io/v1beta1)
void pod_group_create(json::Value& group, Admission&) { json::remove(group, "status"); }

void pod_group_defaults(json::Value& group, json::Arena& arena) {
  json::Value* spec = find(group, "spec");
  if (!spec || !spec->is_object() || find(*spec, "disruptionMode")) return;
  object_at(object_at(*spec, "disruptionMode", arena), "single", arena);
}

void validate_union(const json::Value* value, std::initializer_list<const char*> members, std::string path,
                    std::string_view names, StatusCauses& errors) {
  std::size_t count = 0;
  const std::string there = value ? set_members(*value, members, count) : std::string();
  if (count == 0)
    errors.invalid(std::move(path), "", fmt::format("must specify one of: {}", names));
  else if (count > 1)
    errors.invalid(std::move(path), fmt::format("{{{}}}", there),
                   fmt::format("must specify exactly one of: {}", names));
}

void pod_group_validate(const json::Value& object, const json::Value* old, Admission& admission,
                        StatusCauses& errors) {
  if (admission.subresource == "status") return;
  const json::Value* policy = find(object, "spec", "schedulingPolicy");
  validate_union(policy, {"basic", "gang"}, "spec.schedulingPolicy", "`basic`, `gang`", errors);
  const json::Value* gang = policy ? find(*policy, "gang") : nullptr;
  if (gang)
    if (const auto least = int_at(*gang, "minCount").value_or(0); least < 1)
      errors.invalid_raw("spec.schedulingPolicy.gang.minCount", fmt::to_string(least),
                         "must be greater than or equal to 1");
  validate_union(find(object, "spec", "disruptionMode"), {"single", "all"}, "spec.disruptionMode",
                 "`single`, `all`", errors);
  if (const json::Value* keys = find(object, "spec", "schedulingConstraints", "topology")) {
    const FieldPath spec_at("spec"), constraints_at = spec_at.field("schedulingConstraints"),
                                     keys_at = constraints_at.field("topology");
    if (keys->size() > 1)
      errors.invalid_raw(keys_at.text(), fmt::to_string(keys->size()), "must have at most 1 item");
    for (std::size_t i = 0; i < keys->elements().size(); ++i) {
      const std::string_view key = text_at((*keys)[i], "key");
      const FieldPath at = keys_at.at(i);
      if (key.empty())
        errors.required(at.field("key").text());
      else
        add_errors(api::check_qualified_name(key), at.field("key").text(), key, errors);
    }
  }
  if (!old) return;
  // The number of a gang may be changed, and nothing else.
  const json::Value* before = find(*old, "spec", "schedulingPolicy");
  const bool was_gang = before && find(*before, "gang");
  if (was_gang != (gang != nullptr))
    errors.invalid_raw("spec.schedulingPolicy.gang", gang ? json::to_text(*gang) : "null",
                       gang ? "field cannot be set once created" : "field cannot be cleared once set");
  for (const char* field : {"workloadRef", "schedulingConstraints", "disruptionMode", "priorityClassName"})
    immutable(find(object, "spec", field), find(*old, "spec", field), fmt::format("spec.{}", field), errors);
}

}  // namespace

KindRules gang_workload_rules() { return {nullptr, nullptr, nullptr, workload_validate, nullptr}; }
KindRules gang_pod_group_rules() {
  return {pod_group_create, pod_group_defaults, nullptr, pod_group_validate, nullptr};
}

}  // namespace koord::sandbox
