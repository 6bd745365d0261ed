// Merge rules: those of the schemas' rows, and a table for what koord does not describe.
#include "merge_rules.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

#include "koord/api/kinds/crd.hpp"
#include "koord/api/schema/table.hpp"

namespace koord::api {
namespace {

using enum MergeRule::Kind;

// The built-in kinds that koord does not describe and that are patched strategically, by group and kind, and
// their structure below.
struct KindRow {
  std::string_view group;
  std::string_view kind;
  std::string_view type;
};

// Kinds without a rule beyond their metadata share "Object"; the ones with conditions and nothing else
// share "WithConditions".
constexpr KindRow kKinds[] = {
    {"", "ComponentStatus", "ComponentStatus"},
    {"", "Endpoints", "Object"},
    {"", "Event", "Object"},
    {"", "LimitRange", "Object"},
    {"", "PodTemplate", "PodTemplate"},
    {"", "ResourceQuota", "Object"},
    {"", "ServiceAccount", "ServiceAccount"},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicy", "AdmissionPolicy"},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", "Object"},
    {"apiregistration.k8s.io", "APIService", "WithConditions"},
    {"apps", "ControllerRevision", "Object"},
    {"apps", "DaemonSet", "Workload"},
    {"autoscaling", "HorizontalPodAutoscaler", "WithConditions"},
    {"autoscaling", "Scale", "Object"},
    {"batch", "CronJob", "CronJob"},
    {"batch", "Job", "Workload"},
    {"certificates.k8s.io", "CertificateSigningRequest", "Object"},
    {"discovery.k8s.io", "EndpointSlice", "Object"},
    {"flowcontrol.apiserver.k8s.io", "FlowSchema", "WithConditions"},
    {"flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", "WithConditions"},
    {"networking.k8s.io", "Ingress", "Object"},
    {"networking.k8s.io", "IngressClass", "Object"},
    {"networking.k8s.io", "NetworkPolicy", "Object"},
    {"node.k8s.io", "RuntimeClass", "Object"},
    {"rbac.authorization.k8s.io", "ClusterRole", "Object"},
    {"rbac.authorization.k8s.io", "ClusterRoleBinding", "Object"},
    {"rbac.authorization.k8s.io", "Role", "Object"},
    {"rbac.authorization.k8s.io", "RoleBinding", "Object"},
    // A custom resource: API servers merge it as maps alone, ClusterColocationProfiles by its pod's lists.
    {"scheduling.koordinator.sh", "Reservation", "Reservation"},
};

constexpr MergeRule kMetadata = {"", "metadata", structure, "", "ObjectMeta"};  // of every kind

// Fields that koord does not describe, of structures that it describes and of others; and described ones that
// are replaced whole.
constexpr MergeRule kExtraRules[] = {
    {"AdmissionPolicy", "spec", structure, "", "AdmissionPolicySpec"},
    {"AdmissionPolicySpec", "matchConditions", by_key, "name", ""},
    {"AdmissionPolicySpec", "variables", by_key, "name", ""},
    {"ComponentStatus", "conditions", by_key, "type", ""},
    {"ConditionsStatus", "conditions", by_key, "type", ""},
    {"Container", "env", by_key, "name", ""},
    {"Container", "volumeDevices", by_key, "devicePath", ""},
    {"Container", "volumeMounts", by_key, "mountPath", ""},
    {"CronJob", "spec", structure, "", "CronJobSpec"},
    {"CronJobSpec", "jobTemplate", structure, "", "JobTemplate"},
    {"DeploymentSpec", "template", structure, "", "PodTemplateSpec"},
    {"JobTemplate", "metadata", structure, "", "ObjectMeta"},
    {"JobTemplate", "spec", structure, "", "WorkloadSpec"},
    {"NamespaceStatus", "conditions", by_key, "type", ""},
    {"PodDisruptionBudgetSpec", "selector", replace_map, "", ""},
    {"PodSpec", "hostAliases", by_key, "ip", ""},
    {"PodSpec", "imagePullSecrets", by_key, "name", ""},
    {"PodStatus", "hostIPs", by_key, "ip", ""},
    {"PodTemplate", "template", structure, "", "PodTemplateSpec"},
    {"PodTemplateSpec", "metadata", structure, "", "ObjectMeta"},
    {"PodTemplateSpec", "spec", structure, "", "PodSpec"},
    {"ReplicaSetSpec", "template", structure, "", "PodTemplateSpec"},
    {"ReplicaSetStatus", "conditions", by_key, "type", ""},
    {"ReplicationController", "status", structure, "", "ConditionsStatus"},
    {"ReplicationControllerSpec", "template", structure, "", "PodTemplateSpec"},
    {"Reservation", "spec", structure, "", "ReservationSpec"},
    {"ReservationSpec", "template", structure, "", "PodTemplateSpec"},
    {"Service", "status", structure, "", "ConditionsStatus"},
    {"ServiceAccount", "secrets", by_key, "name", ""},
    {"ServiceSpec", "ports", by_key, "port", ""},
    {"StatefulSet", "status", structure, "", "ConditionsStatus"},
    {"StatefulSetSpec", "template", structure, "", "PodTemplateSpec"},
    {"WithConditions", "status", structure, "", "ConditionsStatus"},
    {"Workload", "spec", structure, "", "WorkloadSpec"},
    {"Workload", "status", structure, "", "ConditionsStatus"},
    {"WorkloadSpec", "template", structure, "", "PodTemplateSpec"},
};

auto place(const MergeRule& rule) { return std::tie(rule.owner, rule.field); }

bool said_otherwise(std::string_view owner, std::string_view field) {
  return std::ranges::any_of(
      kExtraRules, [&](const MergeRule& rule) { return rule.owner == owner && rule.field == field; });
}

// The rules of a structure's rows and of what is below it.
void add_rules(std::vector<MergeRule>& out, std::vector<const Schema*>& seen, const Schema& schema) {
  if (std::ranges::find(seen, &schema) != seen.end()) return;
  seen.push_back(&schema);
  for (const Field& field : schema.fields()) {
    const Type* type = field.type;
    if (type->kind == TypeKind::optional) type = type->element;
    const bool list = type->kind == TypeKind::list;
    const Type& inner = list ? *type->element : *type;
    const std::string_view below =
        inner.kind == TypeKind::structure ? inner.schema().name() : std::string_view();
    if (list && field.has(Field::kSetList)) {
      out.push_back({schema.name(), field.name, set, {}, {}});
    } else if (list && !field.merge_key_name.empty()) {
      out.push_back({schema.name(), field.name, by_key, field.merge_key_name, below});
    } else if (!list && !below.empty() && !said_otherwise(schema.name(), field.name)) {
      out.push_back({schema.name(), field.name, structure, {}, below});
    } else {
      continue;  // replaced whole, and so is what is below
    }
    if (!below.empty()) add_rules(out, seen, inner.schema());
  }
}

}  // namespace

std::span<const MergeRule> extra_merge_rules() { return kExtraRules; }

std::span<const MergeRule> merge_rules() {
  static const std::vector<MergeRule> kAll = [] {
    std::vector<MergeRule> all(std::begin(kExtraRules), std::end(kExtraRules));
    std::vector<const Schema*> seen;
    for (const Schema* kind : builtin_kinds()) add_rules(all, seen, *kind);
    std::ranges::sort(all, {}, place);
    return all;
  }();
  return kAll;
}

std::string_view merge_type(std::string_view group, std::string_view kind) {
  for (const Schema* schema : builtin_kinds())
    if (schema->kind()->group == group && schema->kind()->kind == kind) return schema->name();
  const auto* row =
      std::ranges::find_if(kKinds, [&](const KindRow& r) { return r.group == group && r.kind == kind; });
  return row == std::end(kKinds) ? std::string_view() : row->type;
}

const MergeRule* find_merge_rule(std::string_view owner, std::string_view field) {
  if (owner.empty()) return nullptr;
  const auto rules = merge_rules();
  const auto row = std::ranges::lower_bound(rules, std::tie(owner, field), {}, place);
  if (row != rules.end() && row->owner == owner && row->field == field) return &*row;
  const bool is_kind = std::ranges::any_of(kKinds, [&](const KindRow& r) { return r.type == owner; });
  return is_kind && field == "metadata" ? &kMetadata : nullptr;
}

ListRule list_rule(std::string_view group, std::string_view kind, std::string_view path) {
  std::string_view owner = merge_type(group, kind);
  const MergeRule* rule = nullptr;
  while (!path.empty()) {
    const size_t dot = path.find('.');
    rule = find_merge_rule(owner, path.substr(0, dot));
    owner = rule ? rule->type : std::string_view();
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  if (!rule) return {};
  if (rule->kind == by_key) return {ListRule::Merge::by_key, rule->key};
  return {rule->kind == set ? ListRule::Merge::set : ListRule::Merge::atomic, {}};
}

}  // namespace koord::api
