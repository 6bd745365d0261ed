// OpenAPI documents: every kind with an open schema, custom ones with theirs.
#include "sandbox/api/openapi.hpp"

#include <fmt/format.h>

#include "koord/api/schema/crd.hpp"
#include "koord/api/types/apiextensions_v1/custom_resource_definition.hpp"
#include "koord/api/types/apps_v1/deployment.hpp"
#include "koord/api/types/apps_v1/replica_set.hpp"
#include "koord/api/types/coordination_v1/lease.hpp"
#include "koord/api/types/core_v1/config_map.hpp"
#include "koord/api/types/core_v1/namespace.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/core_v1/secret.hpp"
#include "koord/api/types/scheduling_v1/priority_class.hpp"
#include "sandbox/api/discovery.hpp"
#include "sandbox/crd/schema.hpp"

namespace koord::sandbox {
namespace {

std::string definition_name(const Kind& kind) {
  // "io.k8s.api.core.v1.Pod"; of custom kinds the reversed group.
  if (!kind.custom) {
    std::string group = kind.group.empty() ? "core" : kind.group.substr(0, kind.group.find('.'));
    return fmt::format("io.k8s.api.{}.{}.{}", group, kind.version, kind.kind);
  }
  std::string reversed, rest = kind.group;
  for (std::size_t dot; !rest.empty();) {
    dot = rest.rfind('.');
    reversed += (dot == std::string::npos ? rest : rest.substr(dot + 1)) + ".";
    rest = dot == std::string::npos ? "" : rest.substr(0, dot);
  }
  return reversed + kind.version + "." + kind.kind;
}

std::string gvk(const Kind& kind) {
  return fmt::format(R"({{"group":"{}","version":"{}","kind":"{}"}})", kind.group, kind.version, kind.kind);
}

const api::Schema* described(const Kind& kind) {
  static const api::Schema* const kDescribed[] = {
      &api::schema<api::Pod>(),           &api::schema<api::Node>(),       &api::schema<api::Namespace>(),
      &api::schema<api::ConfigMap>(),     &api::schema<api::Secret>(),     &api::schema<api::Lease>(),
      &api::schema<api::PriorityClass>(), &api::schema<api::ReplicaSet>(), &api::schema<api::Deployment>()};
  if (kind.custom) return nullptr;
  for (const api::Schema* schema : kDescribed)
    if (schema->kind() && schema->kind()->group == kind.group && schema->kind()->kind == kind.kind)
      return schema;
  return nullptr;
}

// The described fields; nothing else is refused.
std::string kind_schema(const Kind& kind) {
  if (const api::Schema* schema = described(kind)) {
    std::string text = api::openapi_schema(*schema, true);
    text.pop_back();
    return text + ",\"x-kubernetes-group-version-kind\":[" + gvk(kind) + "]}";
  }
  std::string properties =
      R"("apiVersion":{"type":"string","description":"APIVersion defines the versioned schema of this representation of an object."},)"
      R"("kind":{"type":"string","description":"Kind is a string value representing the REST resource this object represents."},)"
      R"("metadata":{"type":"object","description":"Standard object's metadata.","x-kubernetes-preserve-unknown-fields":true})";
  std::string description = kind.kind;
  if (kind.schema) {
    if (const Json* members = find(kind.schema->json(), "properties"); members && members->IsObject())
      for (const auto& member : members->GetObject()) {
        std::string_view name = view(member.name);
        if (name != "apiVersion" && name != "kind" && name != "metadata")
          properties += "," + quote_json(name) + ":" + write_json(member.value);
      }
    if (std::string_view text = text_at(kind.schema->json(), "description"); !text.empty())
      description = text;
  } else {
    properties +=
        R"(,"spec":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true})";
  }
  return fmt::format(
      R"({{"type":"object","description":{},"properties":{{{}}},"x-kubernetes-preserve-unknown-fields":true,"x-kubernetes-group-version-kind":[{}]}})",
      quote_json(description), properties, gvk(kind));
}

std::string collection_path(const Kind& kind) {
  return fmt::format("{}{}{}/{}", kind.group.empty() ? "/api/" : "/apis/" + kind.group + "/", kind.version,
                     kind.namespaced ? "/namespaces/{namespace}" : "", kind.resource);
}

// kubectl looks here whether the server validates fields (the query parameter), and which patches there are.
// The strategic one is left out on purpose: kubectl then computes it from its own types, which know more than
// this schema.
std::string operations(const Kind& kind, bool v3) {
  const char* parameters =
      v3 ? R"([{"name":"fieldValidation","in":"query","schema":{"type":"string"}},{"name":"dryRun","in":"query","schema":{"type":"string"}}])"
         : R"([{"name":"fieldValidation","in":"query","type":"string"},{"name":"dryRun","in":"query","type":"string"}])";
  std::string body =
      v3 ? R"("requestBody":{"content":{"application/apply-patch+yaml":{},"application/json-patch+json":{},"application/merge-patch+json":{}}},)"
         : R"("consumes":["application/json-patch+json","application/merge-patch+json","application/apply-patch+yaml"],)";
  auto operation = [&](const char* method, const char* action, bool with_body) {
    return fmt::format(
        R"("{}":{{"operationId":"{}{}","x-kubernetes-action":"{}","x-kubernetes-group-version-kind":{},{}"parameters":{},"responses":{{"200":{{"description":"OK"}}}}}})",
        method, action, definition_name(kind), action, gvk(kind), with_body ? body : "", parameters);
  };
  return fmt::format(R"("{0}":{{{1},{2}}},"{0}/{{name}}":{{{3},{4},{5}}})", collection_path(kind),
                     operation("get", "list", false), operation("post", "post", false),
                     operation("get", "get", false), operation("put", "put", false),
                     operation("patch", "patch", true));
}

}  // namespace

std::string openapi_v2_json(const Registry& registry) {
  std::string paths, definitions;
  for (const auto& kind : registry.all()) {
    if (!kind->objects) continue;
    paths += (paths.empty() ? "" : ",") + operations(*kind, false);
    definitions += fmt::format("{}\"{}\":{}", definitions.empty() ? "" : ",", definition_name(*kind),
                               kind_schema(*kind));
  }
  return R"({"swagger":"2.0","info":{"title":"Kubernetes","version":"v1.35.4"},"paths":{)" + paths +
         R"(},"definitions":{)" + definitions + "}}";
}

std::string empty_openapi_v2_protobuf() {
  // openapi.v2.Document: swagger = 1, info = 2 {title = 1, version = 2}, paths = 8 {}.
  using namespace std::string_literals;
  return "\x0a\x03"
         "2.0"
         "\x12\x10"
         "\x0a\x05"
         "koord"
         "\x12\x07"
         "v1.35.4"
         "\x42\x00"s;
}

std::string openapi_v3_index_json(const Registry& registry) {
  std::string paths;
  for (const GroupVersions& group : groups_of(registry))
    for (const std::string& version : group.versions) {
      std::string path =
          group.group.empty() ? "api/" + version : fmt::format("apis/{}/{}", group.group, version);
      paths += fmt::format(R"({}"{}":{{"serverRelativeURL":"/openapi/v3/{}?hash={}"}})",
                           paths.empty() ? "" : ",", path, path, registry.revision());
    }
  return R"({"paths":{)" + paths + "}}";
}

std::optional<std::string> openapi_v3_json(const Registry& registry, std::string_view path) {
  std::string paths, schemas;
  for (const auto& kind : registry.all()) {
    std::string own =
        kind->group.empty() ? "api/" + kind->version : fmt::format("apis/{}/{}", kind->group, kind->version);
    if (own != path || !kind->objects) continue;
    paths += (paths.empty() ? "" : ",") + operations(*kind, true);
    schemas +=
        fmt::format("{}\"{}\":{}", schemas.empty() ? "" : ",", definition_name(*kind), kind_schema(*kind));
  }
  if (schemas.empty()) return std::nullopt;
  return R"({"openapi":"3.0.0","info":{"title":"Kubernetes","version":"v1.35.4"},"paths":{)" + paths +
         R"(},"components":{"schemas":{)" + schemas + "}}}";
}

}  // namespace koord::sandbox
