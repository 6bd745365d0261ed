// The built-in kinds of Kubernetes 1.35 that the sandbox serves, as one table.
#include "sandbox/builtin/builtin_kinds.hpp"

#include <fmt/format.h>

#include "sandbox/admission/rules.hpp"
#include "sandbox/columns/columns.hpp"

namespace koord::sandbox {
namespace {

struct Row {
  std::string_view group, version, resource, singular, kind;
  bool namespaced;
  std::vector<std::string> short_names, categories;
  bool status = false, scale = false, generation = false;
  NameRule names = NameRule::subdomain;
};

const bool kNs = true, kCluster = false, kStatus = true, kScale = true, kGen = true;

// clang-format off
const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
  {"", "v1", "configmaps", "configmap", "ConfigMap", kNs, {"cm"}, {}},
  {"", "v1", "endpoints", "endpoints", "Endpoints", kNs, {"ep"}, {}},
  {"", "v1", "events", "event", "Event", kNs, {"ev"}, {}},
  {"", "v1", "limitranges", "limitrange", "LimitRange", kNs, {"limits"}, {}},
  {"", "v1", "namespaces", "namespace", "Namespace", kCluster, {"ns"}, {}, kStatus, false, false, NameRule::label},
  {"", "v1", "nodes", "node", "Node", kCluster, {"no"}, {}, kStatus},
  {"", "v1", "persistentvolumeclaims", "persistentvolumeclaim", "PersistentVolumeClaim", kNs, {"pvc"}, {}, kStatus},
  {"", "v1", "persistentvolumes", "persistentvolume", "PersistentVolume", kCluster, {"pv"}, {}, kStatus},
  {"", "v1", "pods", "pod", "Pod", kNs, {"po"}, {"all"}, kStatus, false, kGen},
  {"", "v1", "podtemplates", "podtemplate", "PodTemplate", kNs, {}, {}},
  {"", "v1", "replicationcontrollers", "replicationcontroller", "ReplicationController", kNs, {"rc"}, {"all"}, kStatus, kScale, kGen},
  {"", "v1", "resourcequotas", "resourcequota", "ResourceQuota", kNs, {"quota"}, {}, kStatus},
  {"", "v1", "secrets", "secret", "Secret", kNs, {}, {}},
  {"", "v1", "serviceaccounts", "serviceaccount", "ServiceAccount", kNs, {"sa"}, {}},
  {"", "v1", "services", "service", "Service", kNs, {"svc"}, {"all"}, kStatus, false, false, NameRule::dns1035},
  {"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", "mutatingwebhookconfiguration", "MutatingWebhookConfiguration", kCluster, {}, {"api-extensions"}, false, false, kGen},
  {"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "validatingwebhookconfiguration", "ValidatingWebhookConfiguration", kCluster, {}, {"api-extensions"}, false, false, kGen},
  {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "customresourcedefinition", "CustomResourceDefinition", kCluster, {"crd", "crds"}, {"api-extensions"}, kStatus, false, kGen},
  {"apps", "v1", "controllerrevisions", "controllerrevision", "ControllerRevision", kNs, {}, {}},
  {"apps", "v1", "daemonsets", "daemonset", "DaemonSet", kNs, {"ds"}, {"all"}, kStatus, false, kGen},
  {"apps", "v1", "deployments", "deployment", "Deployment", kNs, {"deploy"}, {"all"}, kStatus, kScale, kGen},
  {"apps", "v1", "replicasets", "replicaset", "ReplicaSet", kNs, {"rs"}, {"all"}, kStatus, kScale, kGen},
  {"apps", "v1", "statefulsets", "statefulset", "StatefulSet", kNs, {"sts"}, {"all"}, kStatus, kScale, kGen},
  {"autoscaling", "v2", "horizontalpodautoscalers", "horizontalpodautoscaler", "HorizontalPodAutoscaler", kNs, {"hpa"}, {"all"}, kStatus},
  {"batch", "v1", "cronjobs", "cronjob", "CronJob", kNs, {"cj"}, {"all"}, kStatus, false, kGen},
  {"batch", "v1", "jobs", "job", "Job", kNs, {}, {"all"}, kStatus, false, kGen},
  {"coordination.k8s.io", "v1", "leases", "lease", "Lease", kNs, {}, {}},
  {"discovery.k8s.io", "v1", "endpointslices", "endpointslice", "EndpointSlice", kNs, {}, {}, false, false, kGen},
  {"events.k8s.io", "v1", "events", "event", "Event", kNs, {"ev"}, {}},
  {"networking.k8s.io", "v1", "ingressclasses", "ingressclass", "IngressClass", kCluster, {}, {}, false, false, kGen},
  {"networking.k8s.io", "v1", "ingresses", "ingress", "Ingress", kNs, {"ing"}, {}, kStatus, false, kGen},
  {"networking.k8s.io", "v1", "networkpolicies", "networkpolicy", "NetworkPolicy", kNs, {"netpol"}, {}, false, false, kGen},
  {"node.k8s.io", "v1", "runtimeclasses", "runtimeclass", "RuntimeClass", kCluster, {}, {}},
  {"policy", "v1", "poddisruptionbudgets", "poddisruptionbudget", "PodDisruptionBudget", kNs, {"pdb"}, {}, kStatus, false, kGen},
  {"rbac.authorization.k8s.io", "v1", "clusterrolebindings", "clusterrolebinding", "ClusterRoleBinding", kCluster, {}, {}, false, false, false, NameRule::path_segment},
  {"rbac.authorization.k8s.io", "v1", "clusterroles", "clusterrole", "ClusterRole", kCluster, {}, {}, false, false, false, NameRule::path_segment},
  {"rbac.authorization.k8s.io", "v1", "rolebindings", "rolebinding", "RoleBinding", kNs, {}, {}, false, false, false, NameRule::path_segment},
  {"rbac.authorization.k8s.io", "v1", "roles", "role", "Role", kNs, {}, {}, false, false, false, NameRule::path_segment},
  {"resource.k8s.io", "v1", "deviceclasses", "deviceclass", "DeviceClass", kCluster, {}, {}, false, false, kGen},
  {"resource.k8s.io", "v1", "resourceclaims", "resourceclaim", "ResourceClaim", kNs, {}, {}, kStatus},
  {"resource.k8s.io", "v1", "resourceclaimtemplates", "resourceclaimtemplate", "ResourceClaimTemplate", kNs, {}, {}},
  {"resource.k8s.io", "v1", "resourceslices", "resourceslice", "ResourceSlice", kCluster, {}, {}, false, false, kGen},
  // Kubernetes' own gangs, as 1.37 and as 1.35 have them: both, where a real server has one behind its gates.
  {"scheduling.k8s.io", "v1beta1", "podgroups", "podgroup", "PodGroup", kNs, {}, {}, kStatus, false, kGen, NameRule::label},
  {"scheduling.k8s.io", "v1alpha1", "workloads", "workload", "Workload", kNs, {}, {}, false, false, kGen},
  {"scheduling.k8s.io", "v1", "priorityclasses", "priorityclass", "PriorityClass", kCluster, {"pc"}, {}, false, false, kGen},
  {"storage.k8s.io", "v1", "csidrivers", "csidriver", "CSIDriver", kCluster, {}, {}},
  {"storage.k8s.io", "v1", "csinodes", "csinode", "CSINode", kCluster, {}, {}},
  {"storage.k8s.io", "v1", "csistoragecapacities", "csistoragecapacity", "CSIStorageCapacity", kNs, {}, {}},
  {"storage.k8s.io", "v1", "storageclasses", "storageclass", "StorageClass", kCluster, {"sc"}, {}},
  {"storage.k8s.io", "v1", "volumeattachments", "volumeattachment", "VolumeAttachment", kCluster, {}, {}, kStatus},
  };
  return kRows;
}
// clang-format on

// Asked and answered at once, never stored.
struct Review {
  std::string_view group, resource, singular, kind;
  bool namespaced;
  std::string_view version = "v1";
  std::vector<std::string> verbs = {"create"};
};
const std::vector<Review>& reviews() {
  static const std::vector<Review> kRows = {
      {"authentication.k8s.io", "selfsubjectreviews", "selfsubjectreview", "SelfSubjectReview", false},
      {"authentication.k8s.io", "tokenreviews", "tokenreview", "TokenReview", false},
      {"authorization.k8s.io", "localsubjectaccessreviews", "localsubjectaccessreview",
       "LocalSubjectAccessReview", true},
      {"authorization.k8s.io", "selfsubjectaccessreviews", "selfsubjectaccessreview",
       "SelfSubjectAccessReview", false},
      {"authorization.k8s.io", "selfsubjectrulesreviews", "selfsubjectrulesreview", "SelfSubjectRulesReview",
       false},
      {"authorization.k8s.io", "subjectaccessreviews", "subjectaccessreview", "SubjectAccessReview", false},
      {kMetricsGroup, "nodes", "", "NodeMetrics", false, "v1beta1", {"get", "list"}},
      {kMetricsGroup, "pods", "", "PodMetrics", true, "v1beta1", {"get", "list"}},
  };
  return kRows;
}

struct Rename {
  std::string_view stored, shown;
};
constexpr Rename kEventNames[] = {{"involvedObject", "regarding"},
                                  {"message", "note"},
                                  {"reportingComponent", "reportingController"},
                                  {"source", "deprecatedSource"},
                                  {"firstTimestamp", "deprecatedFirstTimestamp"},
                                  {"lastTimestamp", "deprecatedLastTimestamp"},
                                  {"count", "deprecatedCount"}};

void rename_members(json::Value& object, json::Arena& arena, bool to_stored) {
  if (!object.is_object()) return;
  for (auto& member : object.members())
    for (const Rename& rename : kEventNames)
      if (member.key() == (to_stored ? rename.shown : rename.stored)) {
        member.name = json::make_const(to_stored ? rename.stored : rename.shown);
        break;
      }
  set(object, "apiVersion", json::make_const(to_stored ? "v1" : "events.k8s.io/v1"), arena);
}

}  // namespace

void add_builtin_kinds(Registry& registry) {
  for (const Row& row : rows()) {
    Kind kind;
    kind.group = row.group;
    kind.version = row.version;
    kind.resource = row.resource;
    kind.singular = row.singular;
    kind.kind = row.kind;
    kind.namespaced = row.namespaced;
    kind.short_names = row.short_names;
    kind.categories = row.categories;
    kind.status = row.status;
    kind.scale = row.scale;
    kind.counts_generation = row.generation;
    kind.names = row.names;
    kind.verbs = {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
    if (kind.resource == "namespaces") std::erase(kind.verbs, "deletecollection");
    // Both groups of Event show the same objects.
    bool other_events = kind.group == "events.k8s.io";
    kind.objects = &registry.store().collection(
        kind.group.empty() || other_events ? kind.resource : fmt::format("{}.{}", kind.resource, kind.group));
    if (other_events) {
      kind.to_stored = [](json::Value& object, json::Arena& arena) { rename_members(object, arena, true); };
      kind.from_stored = [](json::Value& object, json::Arena& arena) {
        rename_members(object, arena, false);
      };
    }
    kind.rules = builtin_rules(kind.group, kind.resource);
    add_builtin_columns(kind);
    registry.add(std::move(kind));
  }
  for (const Review& review : reviews()) {
    Kind kind;
    kind.group = review.group;
    kind.version = review.version;
    kind.resource = review.resource;
    kind.singular = review.singular;
    kind.kind = review.kind;
    kind.namespaced = review.namespaced;
    kind.verbs = review.verbs;
    registry.add(std::move(kind));
  }
}

}  // namespace koord::sandbox
