// The rules of the built-in kinds: Kubernetes' defaults, admission and validation that koord's users meet.
#pragma once

#include "sandbox/base/field_path.hpp"
#include "sandbox/kinds/kind.hpp"

namespace koord::sandbox {

/// Empty rules for kinds that need none.
KindRules builtin_rules(std::string_view group, std::string_view resource);

KindRules pod_rules();
KindRules node_rules();
KindRules namespace_rules();
KindRules event_rules();
KindRules lease_rules();
KindRules priority_class_rules();
/// Of Kubernetes' own gangs: 1.35's Workload, 1.37's PodGroup.
KindRules gang_workload_rules();
KindRules gang_pod_group_rules();
KindRules deployment_rules();
KindRules replica_set_rules();
KindRules stateful_set_rules();
KindRules job_rules();
KindRules claim_rules();
KindRules volume_rules();
KindRules storage_class_rules();
KindRules csi_driver_rules();
/// The kinds of resource.k8s.io: claims for devices, their templates, classes and slices.
KindRules device_claim_rules();
KindRules device_claim_template_rules();
KindRules device_class_rules();
KindRules resource_slice_rules();
/// Of webhook configurations: validating ones, or mutating ones.
KindRules webhook_rules(bool mutating);

/// Defaults of a pod's spec, also inside of a template.
void default_pod_spec(json::Value& spec, json::Arena& arena);
/// Required fields and values of a pod's spec. `path` is "spec" or "spec.template.spec".
void validate_pod_spec(const json::Value& spec, const FieldPath& path, StatusCauses& errors);
/// Names and amounts of a container's resources, or of a whole pod's.
void validate_resources(const json::Value& resources, const FieldPath& path, bool of_pod,
                        StatusCauses& errors);
/// Whether it is a resource of somebody else's, counted in whole numbers ("example.com/gpu").
bool is_extended_resource(std::string_view name);
/// Required fields and values of a claim's spec (null: absent), also inside of a template.
void validate_claim_spec(const json::Value* spec, const FieldPath& path, StatusCauses& errors);
/// The newest of the classes that say that they are the default, of several as old the first by name; empty
/// if none does.
std::string default_storage_class(const Registry& registry);
/// Guaranteed, Burstable or BestEffort.
std::string_view qos_class(const json::Value& spec);

}  // namespace koord::sandbox
