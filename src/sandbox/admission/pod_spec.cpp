// A pod's spec: defaults, validation, QoS class. Also used for the templates of workloads.
#include <fmt/format.h>

#include <set>

#include "koord/api/values/quantity.hpp"
#include "koord/json/index.hpp"
#include "koord/json/writer.hpp"
#include "sandbox/admission/metadata.hpp"
#include "sandbox/admission/pod_device_claims.hpp"
#include "sandbox/admission/rules.hpp"

namespace koord::sandbox {
namespace {

// In the order in which kube-apiserver judges them: a name that two lists have is the later list's mistake.
constexpr const char* kContainerLists[] = {"containers", "initContainers", "ephemeralContainers"};

template <class Fn>
void each(json::Value* list, Fn fn) {
  if (list && list->is_array())
    for (auto& item : list->elements())
      if (item.is_object()) fn(item);
}

void default_probe(json::Value* probe, json::Arena& arena) {
  if (!probe || !probe->is_object()) return;
  default_int(*probe, "timeoutSeconds", 1, arena);
  default_int(*probe, "periodSeconds", 10, arena);
  default_int(*probe, "successThreshold", 1, arena);
  default_int(*probe, "failureThreshold", 3, arena);
  if (json::Value* http = find(*probe, "httpGet")) {
    default_text(*http, "path", "/", arena);
    default_text(*http, "scheme", "HTTP", arena);
  }
}

void default_container(json::Value& container, bool host_network, json::Arena& arena) {
  std::string_view image = text_at(container, "image");
  std::size_t slash = image.rfind('/');
  std::string_view last = image.substr(slash == std::string_view::npos ? 0 : slash + 1);
  std::size_t colon = last.rfind(':');
  bool latest = last.find('@') == std::string_view::npos &&
                (colon == std::string_view::npos || last.substr(colon + 1) == "latest");
  default_text(container, "imagePullPolicy", latest ? "Always" : "IfNotPresent", arena);
  default_text(container, "terminationMessagePath", "/dev/termination-log", arena);
  default_text(container, "terminationMessagePolicy", "File", arena);
  json::Value& resources = set_default(container, "resources", json::Value::object(), arena);
  // What is limited and not requested is requested as limited.
  if (json::Value* limits = find(resources, "limits"); limits && limits->is_object() && !limits->empty()) {
    const json::Value copy = clone(*limits, arena);  // adding requests may move the limits
    json::add_members(object_at(resources, "requests", arena), copy, false, arena);
  }
  each(find(container, "ports"), [&](json::Value& port) {
    default_text(port, "protocol", "TCP", arena);
    if (host_network)
      if (auto number = int_at(port, "containerPort")) default_int(port, "hostPort", *number, arena);
  });
  each(find(container, "env"), [&](json::Value& variable) {
    if (json::Value* field = find(variable, "valueFrom", "fieldRef"); field && field->is_object())
      default_text(*field, "apiVersion", "v1", arena);
  });
  for (const char* probe : {"livenessProbe", "readinessProbe", "startupProbe"})
    default_probe(find(container, probe), arena);
}

void default_volume(json::Value& volume, json::Arena& arena) {
  if (volume.size() == 1) set(volume, "emptyDir", json::Value::object(), arena);
  for (const char* source : {"secret", "configMap", "downwardAPI", "projected"})
    if (json::Value* value = find(volume, source); value && value->is_object())
      default_int(*value, "defaultMode", 420, arena);
  if (json::Value* path = find(volume, "hostPath"); path && path->is_object())
    set_default(*path, "type", json::make_const(""), arena);
}

// A quantity as it stands in a document.
std::string quantity_text(const json::Value& value) {
  return value.is_string() ? std::string(value.text()) : json::to_text(value);
}

void validate_container(const json::Value& container, const FieldPath& path, bool regular,
                        std::set<std::string_view>& names, const PodClaimNames& claims,
                        StatusCauses& errors) {
  const auto at = [&](std::string_view field) { return path.field(field).text(); };
  std::string_view name = text_at(container, "name");
  if (name.empty())
    errors.required(at("name"));
  else
    add_errors(api::check_dns1123_label(name), at("name"), name, errors);
  if (names.contains(name))
    errors.duplicate(at("name"), name);
  else if (regular || !name.empty())  // a name that is missing twice is twice the same in `containers` alone
    names.insert(name);
  if (text_at(container, "image").empty()) errors.required(at("image"));
  if (const json::Value* resources = find(container, "resources")) {
    const FieldPath resources_at = path.field("resources");
    validate_resources(*resources, resources_at, false, errors);
    claims.check_uses(*resources, resources_at.field("claims"), errors);
  }
  std::string_view pull = text_at(container, "imagePullPolicy");
  if (!pull.empty() && pull != "Always" && pull != "IfNotPresent" && pull != "Never")
    errors.unsupported(at("imagePullPolicy"), pull, {"Always", "IfNotPresent", "Never"});
  const json::Value* ports = find(container, "ports");
  const FieldPath ports_at = path.field("ports");
  constexpr std::string_view kRange = "must be between 1 and 65535, inclusive";
  for (std::size_t i = 0; ports && i < ports->elements().size(); ++i) {
    const FieldPath port_at = ports_at.at(i);
    auto number = int_at((*ports)[i], "containerPort");
    if (!number)
      errors.required(port_at.field("containerPort").text());
    else if (*number < 1 || *number > 65535)
      errors.invalid_raw(port_at.field("containerPort").text(), fmt::to_string(*number), kRange);
    if (auto host = int_at((*ports)[i], "hostPort"); host && *host != 0 && (*host < 1 || *host > 65535))
      errors.invalid_raw(port_at.field("hostPort").text(), fmt::to_string(*host), kRange);
  }
}

void validate_tolerations(const json::Value* list, const FieldPath& path, StatusCauses& errors) {
  for (std::size_t i = 0; list && i < list->elements().size(); ++i) {
    const json::Value& toleration = (*list)[i];
    const FieldPath item_at = path.at(i);
    const auto at = [&](std::string_view field) { return item_at.field(field).text(); };
    std::string_view op = text_at(toleration, "operator"), key = text_at(toleration, "key"),
                     effect = text_at(toleration, "effect");
    if (!key.empty()) add_errors(api::check_qualified_name(key), at("key"), key, errors);
    if (key.empty() && op != "Exists")
      errors.invalid(
          at("operator"), op,
          "operator must be Exists when `key` is empty, which means \"match all values and all keys\"");
    if (!op.empty() && op != "Exists" && op != "Equal" && op != "Lt" && op != "Gt")
      errors.unsupported(at("operator"), op, {"Equal", "Exists"});
    if (op == "Exists" && !text_at(toleration, "value").empty())
      errors.invalid(at("operator"), text_at(toleration, "value"),
                     "value must be empty when `operator` is 'Exists'");
    if (!effect.empty() && effect != "NoSchedule" && effect != "PreferNoSchedule" && effect != "NoExecute")
      errors.unsupported(at("effect"), effect, {"NoSchedule", "PreferNoSchedule", "NoExecute"});
    if (find(toleration, "tolerationSeconds") && effect != "NoExecute")
      errors.invalid(at("effect"), effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
  }
}

// Of Kubernetes' own gangs: a Workload's group, or a PodGroup.
void validate_gang(const json::Value& spec, const FieldPath& path, StatusCauses& errors) {
  if (const json::Value* ref = find(spec, "workloadRef")) {
    const FieldPath at = path.field("workloadRef");
    const auto check = [&](const char* field, auto&& rule) {
      const std::string_view name = text_at(*ref, field);
      add_errors(rule(name), at.field(field).text(), name, errors);
    };
    check("name", &api::check_dns1123_subdomain);
    check("podGroup", &api::check_dns1123_label);
    if (!text_at(*ref, "podGroupReplicaKey").empty()) check("podGroupReplicaKey", &api::check_dns1123_label);
  }
  if (const json::Value* group = find(spec, "schedulingGroup")) {
    const FieldPath at = path.field("schedulingGroup");
    const std::string name_at = at.field("podGroupName").text();
    const std::string_view name = text_at(*group, "podGroupName");
    if (name.empty())
      errors.required(name_at);
    else
      add_errors(api::check_dns1123_label(name), name_at, name, errors);
  }
}

}  // namespace

void default_pod_spec(json::Value& spec, json::Arena& arena) {
  if (!spec.is_object()) return;
  bool host_network = true_at(spec, "hostNetwork");
  for (const char* list : kContainerLists)
    each(find(spec, list),
         [&](json::Value& container) { default_container(container, host_network, arena); });
  default_text(spec, "restartPolicy", "Always", arena);
  default_int(spec, "terminationGracePeriodSeconds", 30, arena);
  default_text(spec, "dnsPolicy", "ClusterFirst", arena);
  set_default(spec, "securityContext", json::Value::object(), arena);
  default_text(spec, "schedulerName", "default-scheduler", arena);
  each(find(spec, "volumes"), [&](json::Value& volume) { default_volume(volume, arena); });
}

void validate_pod_spec(const json::Value& spec, const FieldPath& path, StatusCauses& errors) {
  const auto at = [&](std::string_view field) { return path.field(field).text(); };
  const PodClaimNames claims(find(spec, "resourceClaims"), path.field("resourceClaims"), errors);
  std::set<std::string_view> names;
  for (const char* list : kContainerLists) {
    const json::Value* containers = find(spec, list);
    const bool regular = std::string_view(list) == "containers";
    if (regular && is_empty(containers)) errors.required(at("containers"));
    const FieldPath list_at = path.field(list);
    for (std::size_t i = 0; containers && i < containers->elements().size(); ++i)
      validate_container((*containers)[i], list_at.at(i), regular, names, claims, errors);
  }
  if (const json::Value* resources = find(spec, "resources")) {
    const FieldPath resources_at = path.field("resources"), claims_at = resources_at.field("claims");
    if (const json::Value* list = find(*resources, "claims"); list && !list->is_null())
      errors.forbidden(claims_at.text(), "claims may not be set for Resources at pod-level");
    validate_resources(*resources, resources_at, true, errors);
    claims.check_uses(*resources, claims_at, errors);
  }
  std::string_view restart = text_at(spec, "restartPolicy");
  if (restart != "Always" && restart != "OnFailure" && restart != "Never")
    errors.unsupported(at("restartPolicy"), restart, {"Always", "OnFailure", "Never"});
  std::string_view dns = text_at(spec, "dnsPolicy");
  if (dns != "ClusterFirst" && dns != "ClusterFirstWithHostNet" && dns != "Default" && dns != "None")
    errors.unsupported(at("dnsPolicy"), dns, {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"});
  validate_labels(find(spec, "nodeSelector"), at("nodeSelector"), errors);
  validate_tolerations(find(spec, "tolerations"), path.field("tolerations"), errors);
  if (std::string_view node = text_at(spec, "nodeName"); !node.empty())
    add_errors(api::check_dns1123_subdomain(node), at("nodeName"), node, errors);
  validate_gang(spec, path, errors);
  if (auto grace = int_at(spec, "terminationGracePeriodSeconds"); grace && *grace < 0)
    errors.invalid_raw(at("terminationGracePeriodSeconds"), fmt::to_string(*grace),
                       "must be greater than or equal to 0");
}

std::string_view qos_class(const json::Value& spec) {
  bool any = false, guaranteed = true;
  auto look = [&](const json::Value& holder) {
    const json::Value* requests = find(holder, "resources", "requests");
    const json::Value* limits = find(holder, "resources", "limits");
    for (const char* name : {"cpu", "memory"}) {
      auto amount = [&](const json::Value* list) -> std::optional<api::Quantity> {
        const json::Value* value = list ? find(*list, name) : nullptr;
        if (!value) return std::nullopt;
        auto parsed = api::Quantity::parse(quantity_text(*value));
        if (!parsed || parsed->is_zero()) return std::nullopt;
        return *parsed;
      };
      auto request = amount(requests), limit = amount(limits);
      if (request || limit) any = true;
      if (!limit || (request && *request != *limit)) guaranteed = false;
    }
  };
  if (const json::Value* whole = find(spec, "resources");
      whole && !(is_empty(find(*whole, "requests")) && is_empty(find(*whole, "limits")))) {
    look(spec);
  } else {
    for (const char* list : {"initContainers", "containers"})
      if (const json::Value* containers = find(spec, list); containers && containers->is_array())
        for (const auto& container : containers->elements()) look(container);
  }
  return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

}  // namespace koord::sandbox
