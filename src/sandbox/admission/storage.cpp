// Claims, volumes, storage classes, CSI drivers: defaults, the default class, protection, validation.
#include <fmt/format.h>

#include <algorithm>

#include "koord/api/values/quantity.hpp"
#include "koord/api/values/time.hpp"
#include "koord/json/writer.hpp"
#include "sandbox/admission/rules.hpp"

namespace koord::sandbox {
namespace {

constexpr const char* kBetaClass = "volume.beta.kubernetes.io/storage-class";
constexpr const char* kDefaultClass = "storageclass.kubernetes.io/is-default-class";
constexpr const char* kBetaDefaultClass = "storageclass.beta.kubernetes.io/is-default-class";

void add_finalizer(json::Value& object, const char* name, json::Arena& arena) {
  json::Value& list = array_at(object_at(object, "metadata", arena), "finalizers", arena);
  if (std::ranges::none_of(list.elements(), [&](const json::Value& each) { return each.text() == name; }))
    list.push_back(json::make_const(name), arena);
}

void validate_modes(const json::Value& spec, const FieldPath& path, std::string_view missing,
                    StatusCauses& errors) {
  const json::Value* modes = find(spec, "accessModes");
  if (is_empty(modes)) errors.required(path.field("accessModes").text(), missing);
  bool one_pod = false, others = false;
  if (modes)
    for (const json::Value& each : modes->elements()) {
      const std::string_view mode = each.text();
      one_pod = one_pod || mode == "ReadWriteOncePod";
      if (mode == "ReadOnlyMany" || mode == "ReadWriteMany" || mode == "ReadWriteOnce")
        others = true;
      else if (mode != "ReadWriteOncePod")
        errors.unsupported(path.field("accessModes").text(), mode,
                           {"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"});
    }
  if (one_pod && others)
    errors.forbidden(path.field("accessModes").text(),
                     "may not use ReadWriteOncePod with other access modes");
  if (const std::string_view mode = text_at(spec, "volumeMode");
      !mode.empty() && mode != "Block" && mode != "Filesystem")
    errors.unsupported(path.field("volumeMode").text(), mode, {"Block", "Filesystem"});
}

void validate_amount(const json::Value& value, const std::string& path, StatusCauses& errors) {
  const std::string text = value.is_string() ? std::string(value.text()) : json::to_text(value);
  const auto amount = api::Quantity::parse(text);
  if (!amount)
    errors.invalid(path, text, amount.error().message());
  else if (amount->sign() <= 0)
    errors.invalid(path, text, "must be greater than zero");
}

// ---- PersistentVolumeClaim
void claim_create(json::Value& claim, Admission& admission) {
  json::Value status = json::Value::object();
  set(status, "phase", json::make_const("Pending"), admission.arena);
  set(claim, "status", std::move(status), admission.arena);
}

void claim_defaults(json::Value& claim, json::Arena& arena) {
  if (json::Value* spec = find(claim, "spec"); spec && spec->is_object())
    default_text(*spec, "volumeMode", "Filesystem", arena);
  default_text(object_at(claim, "status", arena), "phase", "Pending", arena);
}

Outcome<void> claim_admit(json::Value& claim, const json::Value* old, Admission& admission) {
  if (old) return {};
  add_finalizer(claim, "kubernetes.io/pvc-protection", admission.arena);
  json::Value* spec = find(claim, "spec");
  const json::Value* given = spec ? find(*spec, "storageClassName") : nullptr;
  if (!spec || !spec->is_object() || (given && given->is_string()) ||
      find(claim, "metadata", "annotations", kBetaClass))
    return {};
  if (const std::string name = default_storage_class(admission.registry); !name.empty())
    set_text(*spec, "storageClassName", name, admission.arena);
  return {};
}

void claim_validate(const json::Value& claim, const json::Value* old, Admission& admission,
                    StatusCauses& errors) {
  if (admission.subresource == "status") return;
  const json::Value* spec = find(claim, "spec");
  validate_claim_spec(spec, FieldPath("spec"), errors);
  const json::Value* before = old ? find(*old, "spec") : nullptr;
  if (!spec || !before) return;
  // The volume and the class are chosen once; a bound claim may grow.
  json::Arena& arena = admission.arena;
  json::Value reduced = clone(*spec, arena);
  const auto restore = [&](const char* field) {
    if (const json::Value* value = find(*before, field))
      set(reduced, field, clone(*value, arena), arena);
    else
      json::remove(reduced, field);
  };
  if (text_at(*before, "volumeName").empty()) restore("volumeName");
  if (!find(*before, "storageClassName")) restore("storageClassName");
  if (text_at(claim, "status", "phase") == "Bound")
    for (const char* field : {"resources", "volumeAttributesClassName"}) restore(field);
  if (!same(&reduced, before))
    errors.forbidden("spec",
                     "spec is immutable after creation except resources.requests and "
                     "volumeAttributesClassName for bound claims");
}

FieldValues claim_fields(const json::Value& claim) {
  if (text_at(claim, "status", "phase") != "Bound") return {};
  return {{kBoundField, std::string(text_at(claim, "spec", "volumeName"))}};
}

// ---- PersistentVolume
constexpr const char* kSources[] = {"awsElasticBlockStore",
                                    "azureDisk",
                                    "azureFile",
                                    "cephfs",
                                    "cinder",
                                    "csi",
                                    "fc",
                                    "flexVolume",
                                    "flocker",
                                    "gcePersistentDisk",
                                    "glusterfs",
                                    "hostPath",
                                    "iscsi",
                                    "local",
                                    "nfs",
                                    "photonPersistentDisk",
                                    "portworxVolume",
                                    "quobyte",
                                    "rbd",
                                    "scaleIO",
                                    "storageos",
                                    "vsphereVolume"};

void volume_create(json::Value& volume, Admission& admission) {
  json::Value status = json::Value::object();
  set(status, "phase", json::make_const("Pending"), admission.arena);
  set_text(status, "lastPhaseTransitionTime", api::Time(admission.now).to_string(), admission.arena);
  set(volume, "status", std::move(status), admission.arena);
}

void volume_defaults(json::Value& volume, json::Arena& arena) {
  if (json::Value* spec = find(volume, "spec"); spec && spec->is_object()) {
    default_text(*spec, "persistentVolumeReclaimPolicy", "Retain", arena);
    default_text(*spec, "volumeMode", "Filesystem", arena);
    if (json::Value* host = find(*spec, "hostPath")) set_default(*host, "type", json::make_const(""), arena);
  }
  default_text(object_at(volume, "status", arena), "phase", "Pending", arena);
}

Outcome<void> volume_admit(json::Value& volume, const json::Value* old, Admission& admission) {
  if (!old) add_finalizer(volume, "kubernetes.io/pv-protection", admission.arena);
  return {};
}

void volume_validate(const json::Value& volume, const json::Value* old, Admission& admission,
                     StatusCauses& errors) {
  if (admission.subresource == "status") return;
  const json::Value* given = find(volume, "spec");
  const json::Value none;
  const json::Value& spec = given ? *given : none;
  const FieldPath path("spec");
  validate_modes(spec, path, "", errors);
  const json::Value* capacity = find(spec, "capacity");
  if (is_empty(capacity)) errors.required("spec.capacity");
  if (const json::Value* size = capacity ? find(*capacity, "storage") : nullptr)
    validate_amount(*size, "spec.capacity[storage]", errors);
  else
    errors.unsupported("spec.capacity", capacity ? json::to_text(*capacity) : "null", {"storage"});
  if (const std::string_view policy = text_at(spec, "persistentVolumeReclaimPolicy");
      policy != "Retain" && policy != "Delete" && policy != "Recycle")
    errors.unsupported("spec.persistentVolumeReclaimPolicy", policy, {"Delete", "Recycle", "Retain"});
  bool found = false;
  for (const char* source : kSources) {
    if (!find(spec, source)) continue;
    if (found) errors.forbidden(fmt::format("spec.{}", source), "may not specify more than 1 volume type");
    found = true;
  }
  if (!found) errors.required("spec", "must specify a volume type");
  if (find(spec, "local") && !find(spec, "nodeAffinity"))
    errors.required("spec.nodeAffinity", "Local volume requires node affinity");
  const json::Value* before = old ? find(*old, "spec") : nullptr;
  if (!before) return;
  if (std::ranges::any_of(
          kSources, [&](const char* source) { return !same(find(spec, source), find(*before, source)); }))
    errors.forbidden("spec.persistentvolumesource",
                     "spec.persistentvolumesource is immutable after creation");
  if (const std::string_view mode = text_at(spec, "volumeMode"); mode != text_at(*before, "volumeMode"))
    errors.invalid("volumeMode", mode, "field is immutable");
}

// ---- StorageClass
void class_defaults(json::Value& object, json::Arena& arena) {
  default_text(object, "reclaimPolicy", "Delete", arena);
  default_text(object, "volumeBindingMode", "Immediate", arena);
}

void class_validate(const json::Value& object, const json::Value* old, Admission&, StatusCauses& errors) {
  const std::string_view provisioner = text_at(object, "provisioner"),
                         policy = text_at(object, "reclaimPolicy"),
                         mode = text_at(object, "volumeBindingMode");
  if (provisioner.empty()) errors.required("provisioner");
  if (policy != "Delete" && policy != "Retain")
    errors.unsupported("reclaimPolicy", policy, {"Delete", "Retain"});
  if (mode != "Immediate" && mode != "WaitForFirstConsumer")
    errors.unsupported("volumeBindingMode", mode, {"Immediate", "WaitForFirstConsumer"});
  if (!old) return;
  for (const char* field : {"parameters", "provisioner", "reclaimPolicy"})
    if (!same(find(object, field), find(*old, field)))
      errors.forbidden(field, fmt::format("updates to {} are forbidden.", field));
  if (text_at(*old, "volumeBindingMode") != mode)
    errors.invalid("volumeBindingMode", mode, "field is immutable");
}

// Only a default class has a field, when it was made: admission finds it without parsing.
FieldValues class_fields(const json::Value& object) {
  for (const char* note : {kDefaultClass, kBetaDefaultClass})
    if (text_at(object, "metadata", "annotations", note) == "true")
      return {{"(default)", std::string(text_at(object, "metadata", "creationTimestamp"))}};
  return {};
}

// ---- CSIDriver
void driver_defaults(json::Value& object, json::Arena& arena) {
  json::Value& spec = object_at(object, "spec", arena);
  set_default(spec, "attachRequired", json::Value(true), arena);
  for (const char* field : {"podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount"})
    set_default(spec, field, json::Value(false), arena);
  default_text(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType", arena);
  if (json::Value& modes = array_at(spec, "volumeLifecycleModes", arena); modes.empty())
    modes.push_back(json::make_const("Persistent"), arena);
}

}  // namespace

void validate_claim_spec(const json::Value* given, const FieldPath& path, StatusCauses& errors) {
  const json::Value none;
  const json::Value& spec = given ? *given : none;
  validate_modes(spec, path, "at least 1 access mode is required", errors);
  const std::string at = fmt::format("{}[storage]", path.field("resources").text());
  if (const json::Value* size = find(spec, "resources", "requests", "storage"))
    validate_amount(*size, at, errors);
  else
    errors.required(at);
}

std::string default_storage_class(const Registry& registry) {
  std::string name, newest;
  for (const auto& [key, object] : registry.get("storage.k8s.io", "storageclasses").objects->objects()) {
    if (object->fields.empty()) continue;  // see class_fields
    const std::string& created = object->fields[0].second;
    if (!name.empty() && created <= newest) continue;
    name = object->name;
    newest = created;
  }
  return name;
}

KindRules claim_rules() { return {claim_create, claim_defaults, claim_admit, claim_validate, claim_fields}; }
KindRules volume_rules() { return {volume_create, volume_defaults, volume_admit, volume_validate, nullptr}; }
KindRules storage_class_rules() { return {nullptr, class_defaults, nullptr, class_validate, class_fields}; }
KindRules csi_driver_rules() { return {nullptr, driver_defaults, nullptr, nullptr, nullptr}; }

}  // namespace koord::sandbox
