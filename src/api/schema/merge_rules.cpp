#include "merge_rules.hpp"

#include <algorithm>

namespace koord::api {
namespace {

using enum MergeRule::Kind;

// The built-in kinds that are patched strategically, by group and kind, and their structure below.
struct KindRow {
  std::string_view group;
  std::string_view kind;
  std::string_view type;
};

// Kinds without a rule beyond their metadata share "Object"; the ones with conditions and nothing else
// share "WithConditions".
constexpr KindRow kKinds[] = {
    {"", "Binding", "Object"},
    {"", "ComponentStatus", "ComponentStatus"},
    {"", "ConfigMap", "Object"},
    {"", "Endpoints", "Object"},
    {"", "Event", "Object"},
    {"", "LimitRange", "Object"},
    {"", "Namespace", "WithConditions"},
    {"", "Node", "Node"},
    {"", "PersistentVolume", "Object"},
    {"", "PersistentVolumeClaim", "WithConditions"},
    {"", "Pod", "Pod"},
    {"", "PodTemplate", "PodTemplate"},
    {"", "ReplicationController", "Workload"},
    {"", "ResourceQuota", "Object"},
    {"", "Secret", "Object"},
    {"", "Service", "Service"},
    {"", "ServiceAccount", "ServiceAccount"},
    {"admissionregistration.k8s.io", "MutatingWebhookConfiguration", "WebhookConfiguration"},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicy", "AdmissionPolicy"},
    {"admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", "Object"},
    {"admissionregistration.k8s.io", "ValidatingWebhookConfiguration", "WebhookConfiguration"},
    {"apiextensions.k8s.io", "CustomResourceDefinition", "Object"},
    {"apiregistration.k8s.io", "APIService", "WithConditions"},
    {"apps", "ControllerRevision", "Object"},
    {"apps", "DaemonSet", "Workload"},
    {"apps", "Deployment", "Deployment"},
    {"apps", "ReplicaSet", "Workload"},
    {"apps", "StatefulSet", "Workload"},
    {"authentication.k8s.io", "TokenReview", "Object"},
    {"authorization.k8s.io", "SubjectAccessReview", "Object"},
    {"autoscaling", "HorizontalPodAutoscaler", "WithConditions"},
    {"autoscaling", "Scale", "Object"},
    {"batch", "CronJob", "CronJob"},
    {"batch", "Job", "Workload"},
    {"certificates.k8s.io", "CertificateSigningRequest", "Object"},
    {"coordination.k8s.io", "Lease", "Object"},
    {"discovery.k8s.io", "EndpointSlice", "Object"},
    {"events.k8s.io", "Event", "Object"},
    {"flowcontrol.apiserver.k8s.io", "FlowSchema", "WithConditions"},
    {"flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", "WithConditions"},
    {"networking.k8s.io", "Ingress", "Object"},
    {"networking.k8s.io", "IngressClass", "Object"},
    {"networking.k8s.io", "NetworkPolicy", "Object"},
    {"node.k8s.io", "RuntimeClass", "Object"},
    {"policy", "PodDisruptionBudget", "PodDisruptionBudget"},
    {"rbac.authorization.k8s.io", "ClusterRole", "Object"},
    {"rbac.authorization.k8s.io", "ClusterRoleBinding", "Object"},
    {"rbac.authorization.k8s.io", "Role", "Object"},
    {"rbac.authorization.k8s.io", "RoleBinding", "Object"},
    {"resource.k8s.io", "DeviceClass", "Object"},
    {"resource.k8s.io", "ResourceClaim", "ResourceClaim"},
    {"resource.k8s.io", "ResourceClaimTemplate", "Object"},
    {"resource.k8s.io", "ResourceSlice", "Object"},
    {"scheduling.k8s.io", "PriorityClass", "Object"},
    {"storage.k8s.io", "CSIDriver", "Object"},
    {"storage.k8s.io", "CSINode", "CsiNode"},
    {"storage.k8s.io", "CSIStorageCapacity", "Object"},
    {"storage.k8s.io", "StorageClass", "Object"},
    {"storage.k8s.io", "VolumeAttachment", "Object"},
};

constexpr MergeRule kMetadata = {"", "metadata", structure, "", "ObjectMeta"};  // of every kind

constexpr MergeRule kRules[] = {
    {"ObjectMeta", "finalizers", set, "", ""},
    {"ObjectMeta", "ownerReferences", by_key, "uid", ""},

    {"AdmissionPolicy", "spec", structure, "", "AdmissionPolicySpec"},
    {"AdmissionPolicySpec", "matchConditions", by_key, "name", ""},
    {"AdmissionPolicySpec", "variables", by_key, "name", ""},
    {"ComponentStatus", "conditions", by_key, "type", ""},
    {"Container", "env", by_key, "name", ""},
    {"Container", "ports", by_key, "containerPort", ""},
    {"Container", "volumeDevices", by_key, "devicePath", ""},
    {"Container", "volumeMounts", by_key, "mountPath", ""},
    {"ContainerStatus", "allocatedResourcesStatus", by_key, "name", ""},
    {"ContainerStatus", "volumeMounts", by_key, "mountPath", ""},
    {"CronJob", "spec", structure, "", "CronJobSpec"},
    {"CronJobSpec", "jobTemplate", structure, "", "JobTemplate"},
    {"CsiNode", "spec", structure, "", "CsiNodeSpec"},
    {"CsiNodeSpec", "drivers", by_key, "name", ""},
    {"Deployment", "spec", structure, "", "WorkloadSpec"},
    {"Deployment", "status", structure, "", "ConditionsStatus"},
    {"JobTemplate", "metadata", structure, "", "ObjectMeta"},
    {"JobTemplate", "spec", structure, "", "WorkloadSpec"},
    {"Node", "spec", structure, "", "NodeSpec"},
    {"Node", "status", structure, "", "NodeStatus"},
    {"NodeSpec", "podCIDRs", set, "", ""},
    {"NodeStatus", "addresses", by_key, "type", ""},
    {"NodeStatus", "conditions", by_key, "type", ""},
    {"Pod", "spec", structure, "", "PodSpec"},
    {"Pod", "status", structure, "", "PodStatus"},
    {"PodDisruptionBudget", "spec", structure, "", "PodDisruptionBudgetSpec"},
    {"PodDisruptionBudget", "status", structure, "", "ConditionsStatus"},
    {"PodDisruptionBudgetSpec", "selector", replace_map, "", ""},
    {"PodSpec", "containers", by_key, "name", "Container"},
    {"PodSpec", "ephemeralContainers", by_key, "name", "Container"},
    {"PodSpec", "hostAliases", by_key, "ip", ""},
    {"PodSpec", "imagePullSecrets", by_key, "name", ""},
    {"PodSpec", "initContainers", by_key, "name", "Container"},
    {"PodSpec", "resourceClaims", by_key, "name", ""},
    {"PodSpec", "schedulingGates", by_key, "name", ""},
    {"PodSpec", "topologySpreadConstraints", by_key, "topologyKey", ""},
    {"PodSpec", "volumes", by_key, "name", ""},
    {"PodStatus", "conditions", by_key, "type", ""},
    {"PodStatus", "hostIPs", by_key, "ip", ""},
    {"PodStatus", "podIPs", by_key, "ip", ""},
    {"PodStatus", "resourceClaimStatuses", by_key, "name", ""},
    {"PodTemplate", "template", structure, "", "PodTemplateSpec"},
    {"PodTemplateSpec", "metadata", structure, "", "ObjectMeta"},
    {"PodTemplateSpec", "spec", structure, "", "PodSpec"},
    {"ResourceClaim", "status", structure, "", "ResourceClaimStatus"},
    {"ResourceClaimStatus", "reservedFor", by_key, "uid", ""},
    {"Service", "spec", structure, "", "ServiceSpec"},
    {"Service", "status", structure, "", "ConditionsStatus"},
    {"ServiceAccount", "secrets", by_key, "name", ""},
    {"ServiceSpec", "ports", by_key, "port", ""},
    {"Webhook", "matchConditions", by_key, "name", ""},
    {"WebhookConfiguration", "webhooks", by_key, "name", "Webhook"},
    {"WithConditions", "status", structure, "", "ConditionsStatus"},
    {"ConditionsStatus", "conditions", by_key, "type", ""},
    {"Workload", "spec", structure, "", "WorkloadSpec"},
    {"Workload", "status", structure, "", "ConditionsStatus"},
    {"WorkloadSpec", "template", structure, "", "PodTemplateSpec"},
};

}  // namespace

std::string_view merge_type(std::string_view group, std::string_view kind) {
  const auto* row =
      std::ranges::find_if(kKinds, [&](const KindRow& r) { return r.group == group && r.kind == kind; });
  return row == std::end(kKinds) ? std::string_view() : row->type;
}

const MergeRule* find_merge_rule(std::string_view owner, std::string_view field) {
  if (owner.empty()) return nullptr;
  const auto* row =
      std::ranges::find_if(kRules, [&](const MergeRule& r) { return r.owner == owner && r.field == field; });
  if (row != std::end(kRules)) return row;
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
