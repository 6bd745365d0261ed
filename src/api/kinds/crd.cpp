// CustomResourceDefinitions from the schema tables.
#include "koord/api/kinds/crd.hpp"

#include <fmt/format.h>

#include "koord/api/types/admissionregistration_v1/webhook_configuration.hpp"
#include "koord/api/types/apiextensions_v1/custom_resource_definition.hpp"
#include "koord/api/types/apps_v1/deployment.hpp"
#include "koord/api/types/apps_v1/replica_set.hpp"
#include "koord/api/types/apps_v1/stateful_set.hpp"
#include "koord/api/types/authentication_v1/token_review.hpp"
#include "koord/api/types/authorization_v1/subject_access_review.hpp"
#include "koord/api/types/config_v1alpha1/cluster_colocation_profile.hpp"
#include "koord/api/types/coordination_v1/lease.hpp"
#include "koord/api/types/core_v1/binding.hpp"
#include "koord/api/types/core_v1/config_map.hpp"
#include "koord/api/types/core_v1/namespace.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/persistent_volume.hpp"
#include "koord/api/types/core_v1/persistent_volume_claim.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/core_v1/replication_controller.hpp"
#include "koord/api/types/core_v1/secret.hpp"
#include "koord/api/types/core_v1/service.hpp"
#include "koord/api/types/events_v1/event.hpp"
#include "koord/api/types/kube_scheduling_v1alpha1/workload.hpp"
#include "koord/api/types/kube_scheduling_v1alpha2/pod_group.hpp"
#include "koord/api/types/kube_scheduling_v1beta1/pod_group.hpp"
#include "koord/api/types/policy_v1/pod_disruption_budget.hpp"
#include "koord/api/types/quota_v1alpha1/elastic_quota_profile.hpp"
#include "koord/api/types/resource_v1/device_class.hpp"
#include "koord/api/types/resource_v1/resource_claim_template.hpp"
#include "koord/api/types/resource_v1/resource_slice.hpp"
#include "koord/api/types/scheduling_v1/priority_class.hpp"
#include "koord/api/types/scheduling_v1alpha1/cluster_network_topology.hpp"
#include "koord/api/types/scheduling_v1alpha1/device.hpp"
#include "koord/api/types/scheduling_v1alpha1/drain_node_group.hpp"
#include "koord/api/types/scheduling_v1alpha1/pod_migration_job.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/elastic_quota.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/pod_group.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/api/types/storage_v1/csi_driver.hpp"
#include "koord/api/types/storage_v1/csi_node.hpp"
#include "koord/api/types/storage_v1/csi_storage_capacity.hpp"
#include "koord/api/types/storage_v1/storage_class.hpp"
#include "koord/api/types/storage_v1/volume_attachment.hpp"
#include "koord/api/types/topology_v1alpha1/node_resource_topology.hpp"
#include "koord/json/writer.hpp"
#include "koord/json/yaml.hpp"
#include "openapi.hpp"

namespace koord::api {

using json::Value;

namespace {

Value names_of(std::span<const std::string_view> names, json::Arena& arena) {
  Value out = Value::array();
  for (const std::string_view name : names) out.push_back(make_text(name, arena), arena);
  return out;
}

Value column(const PrinterColumn& from, json::Arena& arena) {
  Value out = Value::object();
  set_text(out, "name", from.name, arena);
  set_text(out, "type", from.type, arena);
  set_text(out, "jsonPath", from.json_path, arena);
  if (!from.description.empty()) set_text(out, "description", from.description, arena);
  if (!from.format.empty()) set_text(out, "format", from.format, arena);
  if (from.priority != 0) set(out, "priority", Value(from.priority), arena);
  return out;
}

Value version_of(const Schema& schema, bool storage, json::Arena& arena) {
  const Kind& kind = *schema.kind();
  Value version = Value::object();
  set_text(version, "name", kind.version, arena);
  set(version, "served", Value(true), arena);
  set(version, "storage", Value(storage), arena);
  if (!kind.columns.empty()) {
    Value columns = Value::array();
    for (const PrinterColumn& c : kind.columns) columns.push_back(column(c, arena), arena);
    set(version, "additionalPrinterColumns", std::move(columns), arena);
  }
  if (kind.has_status) set(object_at(version, "subresources", arena), "status", Value::object(), arena);
  set(object_at(version, "schema", arena), "openAPIV3Schema", openapi(schema, OpenApiFor::crd, false, arena),
      arena);
  return version;
}

Value manifest(const Schema& schema, json::Arena& arena) {
  const Kind& kind = *schema.kind();
  Value names = Value::object();
  set_text(names, "kind", kind.kind, arena);
  set_text(names, "listKind", fmt::format("{}List", kind.kind), arena);
  set_text(names, "plural", kind.plural, arena);
  set_text(names, "singular", kind.singular(), arena);
  if (!kind.short_names.empty()) set(names, "shortNames", names_of(kind.short_names, arena), arena);
  if (!kind.categories.empty()) set(names, "categories", names_of(kind.categories, arena), arena);

  Value out = Value::object();
  set(out, "apiVersion", json::make_const("apiextensions.k8s.io/v1"), arena);
  set(out, "kind", json::make_const("CustomResourceDefinition"), arena);
  Value& metadata = object_at(out, "metadata", arena);
  if (!kind.approval.empty())
    set_text(object_at(metadata, "annotations", arena), "api-approved.kubernetes.io", kind.approval, arena);
  set_text(metadata, "name", fmt::format("{}.{}", kind.plural, kind.group), arena);
  Value& spec = object_at(out, "spec", arena);
  set_text(spec, "group", kind.group, arena);
  set(spec, "names", std::move(names), arena);
  set(spec, "scope", json::make_const(kind.namespaced ? "Namespaced" : "Cluster"), arena);
  Value& versions = array_at(spec, "versions", arena);
  versions.push_back(version_of(schema, kind.storage == nullptr, arena), arena);
  if (kind.storage != nullptr) versions.push_back(version_of(kind.storage(), true, arena), arena);
  return out;
}

}  // namespace

std::span<const Schema* const> builtin_kinds() {
  static const Schema* const kAll[] = {&schema<Binding>(),
                                       &schema<ConfigMap>(),
                                       &schema<CsiDriver>(),
                                       &schema<CsiNode>(),
                                       &schema<CsiStorageCapacity>(),
                                       &schema<CustomResourceDefinition>(),
                                       &schema<Deployment>(),
                                       &schema<DeviceClass>(),
                                       &schema<EarlyKubePodGroup>(),
                                       &schema<Event>(),
                                       &schema<KubePodGroup>(),
                                       &schema<Lease>(),
                                       &schema<MutatingWebhookConfiguration>(),
                                       &schema<Namespace>(),
                                       &schema<Node>(),
                                       &schema<PersistentVolume>(),
                                       &schema<PersistentVolumeClaim>(),
                                       &schema<Pod>(),
                                       &schema<PodDisruptionBudget>(),
                                       &schema<PriorityClass>(),
                                       &schema<ReplicaSet>(),
                                       &schema<ReplicationController>(),
                                       &schema<ResourceClaim>(),
                                       &schema<ResourceClaimTemplate>(),
                                       &schema<ResourceSlice>(),
                                       &schema<Secret>(),
                                       &schema<Service>(),
                                       &schema<StatefulSet>(),
                                       &schema<StorageClass>(),
                                       &schema<SubjectAccessReview>(),
                                       &schema<TokenReview>(),
                                       &schema<ValidatingWebhookConfiguration>(),
                                       &schema<VolumeAttachment>(),
                                       &schema<Workload>()};
  return kAll;
}

std::span<const Schema* const> custom_resources() {
  static const Schema* const kAll[] = {&schema<ClusterColocationProfile>(),
                                       &schema<ClusterNetworkTopology>(),
                                       &schema<Device>(),
                                       &schema<DrainNode>(),
                                       &schema<DrainNodeGroup>(),
                                       &schema<PodMigrationJob>(),
                                       &schema<Reservation>(),
                                       &schema<ElasticQuota>(),
                                       &schema<ElasticQuotaProfile>(),
                                       &schema<PodGroup>(),
                                       &schema<NodeMetric>(),
                                       &schema<NodeSlo>(),
                                       &schema<NodeResourceTopology>()};
  return kAll;
}

std::string crd_manifest_json(const Schema& schema) {
  json::Arena arena;
  return json::to_text(manifest(schema, arena));
}

std::string crd_manifest_yaml(const Schema& schema) {
  json::Arena arena;
  return json::to_yaml(manifest(schema, arena));
}

}  // namespace koord::api
