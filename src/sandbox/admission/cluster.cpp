// Nodes, namespaces, disruption budgets, priority classes, leases, events, and small kinds: defaults and
// validation.
#include <fmt/format.h>

#include <set>
#include <utility>

#include "koord/base/base64.hpp"
#include "koord/json/index.hpp"
#include "koord/json/writer.hpp"
#include "sandbox/admission/metadata.hpp"
#include "sandbox/admission/rules.hpp"
#include "sandbox/crd/registrar.hpp"

namespace koord::sandbox {
namespace {

// ---- Node
void node_create(json::Value&, Admission&) {}  // a node brings its status along

void node_defaults(json::Value& node, json::Arena& arena) {
  object_at(node, "spec", arena);
  json::Value& status = object_at(node, "status", arena);
  if (const json::Value* capacity = find(status, "capacity"); capacity && !find(status, "allocatable"))
    set(status, "allocatable", clone(*capacity, arena), arena);
  if (json::Value* taints = find(node, "spec", "taints"); taints && taints->is_array() && taints->empty())
    json::remove(*find(node, "spec"), "taints");
}

void node_validate(const json::Value& node, const json::Value* old, Admission&, StatusCauses& errors) {
  const json::Value* taints = find(node, "spec", "taints");
  std::set<std::pair<std::string_view, std::string_view>> seen;
  const FieldPath path("metadata"), list_at = path.field("taints");
  for (std::size_t i = 0; taints && i < taints->elements().size(); ++i) {
    const json::Value& taint = (*taints)[i];
    const FieldPath item_at = list_at.at(i);
    const auto at = [&](std::string_view field) { return item_at.field(field).text(); };
    std::string_view key = text_at(taint, "key"), effect = text_at(taint, "effect");
    add_errors(api::check_qualified_name(key), at("key"), key, errors);
    add_errors(api::check_label_value(text_at(taint, "value")), at("value"), text_at(taint, "value"), errors);
    if (effect.empty())
      errors.required(at("effect"));
    else if (effect != "NoSchedule" && effect != "PreferNoSchedule" && effect != "NoExecute")
      errors.unsupported(at("effect"), effect, {"NoSchedule", "PreferNoSchedule", "NoExecute"});
    if (!seen.emplace(key, effect).second) errors.duplicate(item_at.text(), json::to_text(taint));
  }
  if (!old) return;
  std::string_view before = text_at(*old, "spec", "providerID"), after = text_at(node, "spec", "providerID");
  if (!before.empty() && before != after)
    errors.forbidden("spec.providerID", "node updates may not change providerID except from \"\" to valid");
}

FieldValues node_fields(const json::Value& node) {
  return {{"spec.unschedulable", true_at(node, "spec", "unschedulable") ? "true" : "false"}};
}

// ---- Namespace
void namespace_create(json::Value& space, Admission& admission) {
  json::Arena& arena = admission.arena;
  json::Value& finalizers = array_at(object_at(space, "spec", arena), "finalizers", arena);
  if (finalizers.empty()) finalizers.push_back(json::make_const("kubernetes"), arena);
  json::Value status = json::Value::object();
  set(status, "phase", json::make_const("Active"), arena);
  set(space, "status", std::move(status), arena);
}

void namespace_defaults(json::Value& space, json::Arena& arena) {
  json::Value& meta = object_at(space, "metadata", arena);
  set_text(object_at(meta, "labels", arena), "kubernetes.io/metadata.name", text_at(meta, "name"), arena);
}

FieldValues namespace_fields(const json::Value& space) {
  return {{"status.phase", std::string(text_at(space, "status", "phase"))}};
}

// ---- PodDisruptionBudget
void disruption_validate(const json::Value& object, const json::Value*, Admission& admission,
                         StatusCauses& errors) {
  const json::Value* spec = find(object, "spec");
  if (admission.subresource == "status" || !spec) return;
  const json::Value* least = find(*spec, "minAvailable");
  const json::Value* most = find(*spec, "maxUnavailable");
  if (least && most)
    errors.invalid_raw("spec", json::to_text(*spec), "minAvailable and maxUnavailable cannot be both set");
  const auto amount = [&](const json::Value* value, std::string field) {
    if (!value) return;
    if (value->is_int() && *value->to_int() < 0)
      return errors.invalid_raw(std::move(field), json::to_text(*value),
                                "must be greater than or equal to 0");
    if (!value->is_string()) return;
    const std::string_view text = value->text();
    if (text.size() < 2 || text.find_first_not_of("0123456789") != text.size() - 1 || text.back() != '%')
      errors.invalid(
          std::move(field), text,
          "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
          "'93%', regex used for validation is '[0-9]+%')");
    else if (text.size() > 4 || std::stoi(std::string(text)) > 100)
      errors.invalid(std::move(field), text, "must not be greater than 100%");
  };
  amount(least, "spec.minAvailable");
  amount(most, "spec.maxUnavailable");
  const std::string_view unhealthy = text_at(*spec, "unhealthyPodEvictionPolicy");
  if (!unhealthy.empty() && unhealthy != "IfHealthyBudget" && unhealthy != "AlwaysAllow")
    errors.unsupported("spec.unhealthyPodEvictionPolicy", unhealthy, {"AlwaysAllow", "IfHealthyBudget"});
}

// ---- PriorityClass
void priority_defaults(json::Value& object, json::Arena& arena) {
  default_text(object, "preemptionPolicy", "PreemptLowerPriority", arena);
}

void priority_validate(const json::Value& object, const json::Value* old, Admission&, StatusCauses& errors) {
  std::string_view name = text_at(object, "metadata", "name");
  auto value = int_at(object, "value").value_or(0);
  if (name.starts_with("system-")) {
    if (name != "system-cluster-critical" && name != "system-node-critical")
      errors.forbidden(
          "metadata.name",
          fmt::format("priority class names with '{}' prefix are reserved for system use only. error: {}",
                      "system-", fmt::format("{} is not a known system priority class", name)));
  } else if (value > 1'000'000'000) {
    errors.forbidden("value", "maximum allowed value of a user defined priority is 1000000000");
  }
  std::string_view policy = text_at(object, "preemptionPolicy");
  if (policy != "Never" && policy != "PreemptLowerPriority")
    errors.unsupported("preemptionPolicy", policy, {"Never", "PreemptLowerPriority"});
  if (!old) return;
  if (int_at(*old, "value").value_or(0) != value)
    errors.forbidden("value", "may not be changed in an update.");
  if (text_at(*old, "preemptionPolicy") != policy)
    errors.invalid("preemptionPolicy", policy, "field is immutable");
}

// Only a global default has a field: admission finds it without parsing.
FieldValues priority_fields(const json::Value& object) {
  if (!true_at(object, "globalDefault")) return {};
  return {{"value", fmt::to_string(int_at(object, "value").value_or(0))}};
}

// ---- Lease
void lease_validate(const json::Value& lease, const json::Value*, Admission&, StatusCauses& errors) {
  for (const char* field : {"leaseDurationSeconds", "leaseTransitions"}) {
    auto value = int_at(lease, "spec", field);
    bool positive = std::string_view(field) == "leaseDurationSeconds";
    if (value && (positive ? *value <= 0 : *value < 0))
      errors.invalid_raw(fmt::format("spec.{}", field), fmt::to_string(*value),
                         positive ? "must be greater than 0" : "must be greater than or equal to 0");
  }
}

// ---- Event
void event_validate(const json::Value& event, const json::Value*, Admission&, StatusCauses& errors) {
  std::string_view ns = text_at(event, "metadata", "namespace"),
                   about = text_at(event, "involvedObject", "namespace");
  if (about.empty()
          ? ns != "default" && ns != "kube-system" && !text_at(event, "involvedObject", "kind").empty() &&
                text_at(event, "involvedObject", "kind") != "Node"
          : ns != about)
    errors.invalid("involvedObject.namespace", about, "does not match event.namespace");
}

FieldValues event_fields(const json::Value& event) {
  FieldValues values;
  auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) values.emplace_back(name, value);
  };
  add("involvedObject.kind", text_at(event, "involvedObject", "kind"));
  add("involvedObject.namespace", text_at(event, "involvedObject", "namespace"));
  add("involvedObject.name", text_at(event, "involvedObject", "name"));
  add("involvedObject.uid", text_at(event, "involvedObject", "uid"));
  add("involvedObject.apiVersion", text_at(event, "involvedObject", "apiVersion"));
  add("involvedObject.resourceVersion", text_at(event, "involvedObject", "resourceVersion"));
  add("involvedObject.fieldPath", text_at(event, "involvedObject", "fieldPath"));
  add("reason", text_at(event, "reason"));
  std::string_view reporter = text_at(event, "reportingComponent");
  add("reportingComponent", reporter);
  std::string_view source = text_at(event, "source", "component");
  add("source", source.empty() ? reporter : source);
  add("type", text_at(event, "type"));
  return values;
}

// ---- Secret, ConfigMap
void secret_defaults(json::Value& secret, json::Arena& arena) {
  default_text(secret, "type", "Opaque", arena);
  const json::Value* plain = find(secret, "stringData");
  if (!plain || !plain->is_object()) return;
  json::Value encoded = json::Value::object();
  for (const auto& entry : plain->members())
    if (entry.value.is_string())
      encoded.append(entry.key(), make_text(encode_base64(entry.value.text()), arena), arena);
  json::add_members(object_at(secret, "data", arena), encoded, true, arena);
  json::remove(secret, "stringData");
}

void data_validate(const json::Value& object, const json::Value* old, Admission&, StatusCauses& errors) {
  constexpr std::size_t kMax = std::size_t{1024} * 1024;
  std::size_t total = 0;
  for (const char* part : {"data", "binaryData"})
    if (const json::Value* data = find(object, part); data && data->is_object())
      for (const auto& entry : data->members())
        total += entry.value.is_string() ? entry.value.text().size() : 0;
  if (total > kMax) errors.too_long("data", kMax);
  if (old && true_at(*old, "immutable") && !same(find(object, "data"), find(*old, "data")))
    errors.forbidden("data", "field is immutable when `immutable` is set");
}

FieldValues secret_fields(const json::Value& secret) {
  return {{"type", std::string(text_at(secret, "type"))}};
}

// ---- Service
void service_defaults(json::Value& service, json::Arena& arena) {
  json::Value* spec = find(service, "spec");
  if (!spec || !spec->is_object()) return;
  default_text(*spec, "type", "ClusterIP", arena);
  default_text(*spec, "sessionAffinity", "None", arena);
  default_text(*spec, "internalTrafficPolicy", "Cluster", arena);
  default_text(*spec, "ipFamilyPolicy", "SingleStack", arena);
  if (json::Value* ports = find(*spec, "ports"); ports && ports->is_array())
    for (auto& port : ports->elements()) {
      default_text(port, "protocol", "TCP", arena);
      if (const json::Value* number = find(port, "port"))
        set_default(port, "targetPort", clone(*number, arena), arena);
    }
  if (!text_at(*spec, "clusterIP").empty() || text_at(*spec, "type") == "ExternalName") return;
  // Nothing is routed to it: the name decides, so that an update finds the same.
  std::size_t hash = std::hash<std::string_view>()(text_at(service, "metadata", "uid"));
  std::string address = fmt::format("10.96.{}.{}", hash >> 8 & 255, 1 + hash % 254);
  set_text(*spec, "clusterIP", address, arena);
  json::Value& list = array_at(*spec, "clusterIPs", arena);
  list.set_array();
  list.push_back(make_text(address, arena), arena);
}

}  // namespace

KindRules node_rules() { return {node_create, node_defaults, nullptr, node_validate, node_fields}; }
KindRules namespace_rules() {
  return {namespace_create, namespace_defaults, nullptr, nullptr, namespace_fields};
}
KindRules priority_class_rules() {
  return {nullptr, priority_defaults, nullptr, priority_validate, priority_fields};
}
KindRules lease_rules() { return {nullptr, nullptr, nullptr, lease_validate, nullptr}; }
KindRules event_rules() { return {nullptr, nullptr, nullptr, event_validate, event_fields}; }

KindRules builtin_rules(std::string_view group, std::string_view resource) {
  struct Row {
    std::string_view resource;
    KindRules rules;
  };
  static const Row kRows[] = {
      {"pods", pod_rules()},
      {"nodes", node_rules()},
      {"namespaces", namespace_rules()},
      {"events", event_rules()},
      {"leases", lease_rules()},
      {"priorityclasses", priority_class_rules()},
      {"workloads", gang_workload_rules()},
      {"podgroups", gang_pod_group_rules()},
      {"resourceclaims", device_claim_rules()},
      {"resourceclaimtemplates", device_claim_template_rules()},
      {"deviceclasses", device_class_rules()},
      {"resourceslices", resource_slice_rules()},
      {"deployments", deployment_rules()},
      {"replicasets", replica_set_rules()},
      {"statefulsets", stateful_set_rules()},
      {"jobs", job_rules()},
      {"persistentvolumeclaims", claim_rules()},
      {"persistentvolumes", volume_rules()},
      {"storageclasses", storage_class_rules()},
      {"csidrivers", csi_driver_rules()},
      {"poddisruptionbudgets", {nullptr, nullptr, nullptr, disruption_validate, nullptr}},
      {"customresourcedefinitions", crd_rules()},
      {"mutatingwebhookconfigurations", webhook_rules(true)},
      {"validatingwebhookconfigurations", webhook_rules(false)},
      {"secrets", {nullptr, secret_defaults, nullptr, data_validate, secret_fields}},
      {"configmaps", {nullptr, nullptr, nullptr, data_validate, nullptr}},
      {"services", {nullptr, service_defaults, nullptr, nullptr, nullptr}},
  };
  for (const Row& row : kRows)
    if (row.resource == resource) return row.rules;
  (void)group;
  return {};
}

}  // namespace koord::sandbox
