// A pod's spec: defaults, validation, QoS class. Also used for the templates of workloads.
#include <fmt/format.h>

#include <set>

#include "koord/api/values/quantity.hpp"
#include "sandbox/admission/metadata.hpp"
#include "sandbox/admission/rules.hpp"

namespace koord::sandbox {
namespace {

constexpr const char* kContainerLists[] = {"initContainers", "containers", "ephemeralContainers"};

template <class Fn>
void each(Json* list, Fn fn) {
  if (list && list->IsArray())
    for (auto& item : list->GetArray())
      if (item.IsObject()) fn(item);
}

void default_probe(Json* probe, JsonAlloc& alloc) {
  if (!probe || !probe->IsObject()) return;
  default_int(*probe, "timeoutSeconds", 1, alloc);
  default_int(*probe, "periodSeconds", 10, alloc);
  default_int(*probe, "successThreshold", 1, alloc);
  default_int(*probe, "failureThreshold", 3, alloc);
  if (Json* http = find(*probe, "httpGet")) {
    default_text(*http, "path", "/", alloc);
    default_text(*http, "scheme", "HTTP", alloc);
  }
}

void default_container(Json& container, bool host_network, JsonAlloc& alloc) {
  std::string_view image = text_at(container, "image");
  std::size_t slash = image.rfind('/');
  std::string_view last = image.substr(slash == std::string_view::npos ? 0 : slash + 1);
  std::size_t colon = last.rfind(':');
  bool latest = last.find('@') == std::string_view::npos &&
                (colon == std::string_view::npos || last.substr(colon + 1) == "latest");
  default_text(container, "imagePullPolicy", latest ? "Always" : "IfNotPresent", alloc);
  default_text(container, "terminationMessagePath", "/dev/termination-log", alloc);
  default_text(container, "terminationMessagePolicy", "File", alloc);
  Json& resources = set_default(container, "resources", Json(rapidjson::kObjectType), alloc);
  // What is limited and not requested is requested as limited.
  if (Json* limits = find(resources, "limits"); limits && limits->IsObject() && limits->MemberCount() > 0) {
    Json copy = clone(*limits, alloc);
    Json& requests = object_at(resources, "requests", alloc);
    for (auto& limit : copy.GetObject())
      if (!find(requests, view(limit.name))) set(requests, view(limit.name), std::move(limit.value), alloc);
  }
  each(find(container, "ports"), [&](Json& port) {
    default_text(port, "protocol", "TCP", alloc);
    if (host_network)
      if (auto number = int_at(port, "containerPort")) default_int(port, "hostPort", *number, alloc);
  });
  each(find(container, "env"), [&](Json& variable) {
    if (Json* field = find(variable, "valueFrom", "fieldRef"); field && field->IsObject())
      default_text(*field, "apiVersion", "v1", alloc);
  });
  for (const char* probe : {"livenessProbe", "readinessProbe", "startupProbe"})
    default_probe(find(container, probe), alloc);
}

void default_volume(Json& volume, JsonAlloc& alloc) {
  if (volume.MemberCount() == 1) set(volume, "emptyDir", Json(rapidjson::kObjectType), alloc);
  for (const char* source : {"secret", "configMap", "downwardAPI", "projected"})
    if (Json* value = find(volume, source); value && value->IsObject())
      default_int(*value, "defaultMode", 420, alloc);
  if (Json* path = find(volume, "hostPath"); path && path->IsObject())
    set_default(*path, "type", make_const(""), alloc);
}

std::string at(std::string_view path, std::string_view list, rapidjson::SizeType index) {
  return fmt::format("{}.{}[{}]", path, list, index);
}

void validate_resources(const Json& resources, const std::string& path, FieldErrors& errors) {
  for (const char* part : {"limits", "requests"}) {
    const Json* list = find(resources, part);
    if (!list || !list->IsObject()) continue;
    for (const auto& entry : list->GetObject()) {
      std::string field = fmt::format("{}.{}[{}]", path, part, view(entry.name));
      std::string text = entry.value.IsString() ? std::string(view(entry.value)) : write_json(entry.value);
      auto amount = api::Quantity::parse(text);
      if (!amount) {
        errors.invalid(field, text, amount.error().message());
        continue;
      }
      if (amount->sign() < 0) errors.invalid(field, text, "must be greater than or equal to 0");
      std::string_view name = view(entry.name);
      if (name.find('/') == std::string_view::npos && name != "cpu" && name != "memory" &&
          name != "ephemeral-storage" && !name.starts_with("hugepages-"))
        errors.invalid(fmt::format("{}.{}", path, part), name,
                       "must be a standard resource type or fully qualified");
      const Json* limits = find(resources, "limits");
      const Json* limit = part[0] == 'r' && limits ? find(*limits, name) : nullptr;
      if (!limit) continue;
      std::string limit_text = limit->IsString() ? std::string(view(*limit)) : write_json(*limit);
      auto most = api::Quantity::parse(limit_text);
      if (!most) continue;
      bool may_burst = name == "cpu" || name == "memory" || name == "ephemeral-storage";
      if (!may_burst && *amount != *most)
        errors.invalid(path + ".requests", text,
                       fmt::format("must be equal to {} limit of {}", name, limit_text));
      else if (*amount > *most)
        errors.invalid(path + ".requests", text,
                       fmt::format("must be less than or equal to {} limit of {}", name, limit_text));
    }
  }
}

void validate_container(const Json& container, const std::string& path, std::set<std::string_view>& names,
                        FieldErrors& errors) {
  std::string_view name = text_at(container, "name");
  if (name.empty())
    errors.required(path + ".name");
  else if (!complain(api::check_dns1123_label(name), path + ".name", name, errors) &&
           !names.insert(name).second)
    errors.duplicate(path + ".name", name);
  if (text_at(container, "image").empty()) errors.required(path + ".image");
  if (const Json* resources = find(container, "resources"))
    validate_resources(*resources, path + ".resources", errors);
  std::string_view pull = text_at(container, "imagePullPolicy");
  if (!pull.empty() && pull != "Always" && pull != "IfNotPresent" && pull != "Never")
    errors.unsupported(path + ".imagePullPolicy", pull, {"Always", "IfNotPresent", "Never"});
  const Json* ports = find(container, "ports");
  for (rapidjson::SizeType i = 0; ports && ports->IsArray() && i < ports->Size(); ++i) {
    std::string field = at(path, "ports", i);
    auto number = int_at((*ports)[i], "containerPort");
    if (!number)
      errors.required(field + ".containerPort");
    else if (*number < 1 || *number > 65535)
      errors.invalid_raw(field + ".containerPort", std::to_string(*number),
                         "must be between 1 and 65535, inclusive");
    if (auto host = int_at((*ports)[i], "hostPort"); host && *host != 0 && (*host < 1 || *host > 65535))
      errors.invalid_raw(field + ".hostPort", std::to_string(*host),
                         "must be between 1 and 65535, inclusive");
  }
}

void validate_tolerations(const Json* list, std::string_view path, FieldErrors& errors) {
  for (rapidjson::SizeType i = 0; list && list->IsArray() && i < list->Size(); ++i) {
    const Json& toleration = (*list)[i];
    std::string field = at(path, "tolerations", i);
    std::string_view op = text_at(toleration, "operator"), key = text_at(toleration, "key"),
                     effect = text_at(toleration, "effect");
    if (!key.empty()) complain(api::check_qualified_name(key), field + ".key", key, errors);
    if (key.empty() && op != "Exists")
      errors.invalid(
          field + ".operator", op,
          "operator must be Exists when `key` is empty, which means \"match all values and all keys\"");
    if (!op.empty() && op != "Exists" && op != "Equal" && op != "Lt" && op != "Gt")
      errors.unsupported(field + ".operator", op, {"Equal", "Exists"});
    if (op == "Exists" && !text_at(toleration, "value").empty())
      errors.invalid(field + ".operator", text_at(toleration, "value"),
                     "value must be empty when `operator` is 'Exists'");
    if (!effect.empty() && effect != "NoSchedule" && effect != "PreferNoSchedule" && effect != "NoExecute")
      errors.unsupported(field + ".effect", effect, {"NoSchedule", "PreferNoSchedule", "NoExecute"});
    if (find(toleration, "tolerationSeconds") && effect != "NoExecute")
      errors.invalid(field + ".effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
  }
}

}  // namespace

void default_pod_spec(Json& spec, JsonAlloc& alloc) {
  if (!spec.IsObject()) return;
  bool host_network = true_at(spec, "hostNetwork");
  for (const char* list : kContainerLists)
    each(find(spec, list), [&](Json& container) { default_container(container, host_network, alloc); });
  default_text(spec, "restartPolicy", "Always", alloc);
  default_int(spec, "terminationGracePeriodSeconds", 30, alloc);
  default_text(spec, "dnsPolicy", "ClusterFirst", alloc);
  set_default(spec, "securityContext", Json(rapidjson::kObjectType), alloc);
  default_text(spec, "schedulerName", "default-scheduler", alloc);
  each(find(spec, "volumes"), [&](Json& volume) { default_volume(volume, alloc); });
}

void validate_pod_spec(const Json& spec, std::string_view path, FieldErrors& errors) {
  std::set<std::string_view> names;
  for (const char* list : kContainerLists) {
    const Json* containers = find(spec, list);
    if (std::string_view(list) == "containers" && is_empty(containers))
      errors.required(fmt::format("{}.containers", path));
    for (rapidjson::SizeType i = 0; containers && containers->IsArray() && i < containers->Size(); ++i)
      validate_container((*containers)[i], at(path, list, i), names, errors);
  }
  if (const Json* resources = find(spec, "resources"))
    validate_resources(*resources, fmt::format("{}.resources", path), errors);
  std::string_view restart = text_at(spec, "restartPolicy");
  if (restart != "Always" && restart != "OnFailure" && restart != "Never")
    errors.unsupported(fmt::format("{}.restartPolicy", path), restart, {"Always", "OnFailure", "Never"});
  std::string_view dns = text_at(spec, "dnsPolicy");
  if (dns != "ClusterFirst" && dns != "ClusterFirstWithHostNet" && dns != "Default" && dns != "None")
    errors.unsupported(fmt::format("{}.dnsPolicy", path), dns,
                       {"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"});
  validate_labels(find(spec, "nodeSelector"), fmt::format("{}.nodeSelector", path), errors);
  validate_tolerations(find(spec, "tolerations"), path, errors);
  if (std::string_view node = text_at(spec, "nodeName"); !node.empty())
    complain(api::check_dns1123_subdomain(node), fmt::format("{}.nodeName", path), node, errors);
  if (auto grace = int_at(spec, "terminationGracePeriodSeconds"); grace && *grace < 0)
    errors.invalid_raw(fmt::format("{}.terminationGracePeriodSeconds", path), std::to_string(*grace),
                       "must be greater than or equal to 0");
}

std::string_view qos_class(const Json& spec) {
  bool any = false, guaranteed = true;
  auto look = [&](const Json& holder) {
    const Json* requests = find(holder, "resources", "requests");
    const Json* limits = find(holder, "resources", "limits");
    for (const char* name : {"cpu", "memory"}) {
      auto amount = [&](const Json* list) -> std::optional<api::Quantity> {
        const Json* value = list ? find(*list, name) : nullptr;
        if (!value) return std::nullopt;
        auto parsed =
            api::Quantity::parse(value->IsString() ? std::string(view(*value)) : write_json(*value));
        if (!parsed || parsed->is_zero()) return std::nullopt;
        return *parsed;
      };
      auto request = amount(requests), limit = amount(limits);
      if (request || limit) any = true;
      if (!limit || (request && *request != *limit)) guaranteed = false;
    }
  };
  if (const Json* whole = find(spec, "resources");
      whole && !(is_empty(find(*whole, "requests")) && is_empty(find(*whole, "limits")))) {
    look(spec);
  } else {
    for (const char* list : {"initContainers", "containers"})
      if (const Json* containers = find(spec, list); containers && containers->IsArray())
        for (const auto& container : containers->GetArray()) look(container);
  }
  return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

}  // namespace koord::sandbox
