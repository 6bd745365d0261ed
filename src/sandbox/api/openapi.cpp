// OpenAPI documents: every kind with an open schema, custom ones with theirs.
#include "sandbox/api/openapi.hpp"

#include <fmt/format.h>

#include <iterator>

#include "koord/api/kinds/crd.hpp"
#include "koord/api/schema/kind.hpp"
#include "koord/json/writer.hpp"
#include "sandbox/api/discovery.hpp"
#include "sandbox/crd/schema.hpp"

namespace koord::sandbox {
namespace {

constexpr std::string_view kPreserve = "x-kubernetes-preserve-unknown-fields";

std::string definition_name(const Kind& kind) {
  // "io.k8s.api.core.v1.Pod"; of custom kinds the reversed group.
  if (!kind.custom) {
    std::string group = kind.group.empty() ? "core" : kind.group.substr(0, kind.group.find('.'));
    return fmt::format("io.k8s.api.{}.{}.{}", group, kind.version, kind.kind);
  }
  std::string reversed;
  for (std::string_view rest = kind.group; !rest.empty();) {
    const std::size_t dot = rest.rfind('.');
    fmt::format_to(std::back_inserter(reversed), "{}.", rest.substr(dot + 1));
    rest = dot == std::string_view::npos ? std::string_view{} : rest.substr(0, dot);
  }
  return fmt::format("{}{}.{}", reversed, kind.version, kind.kind);
}

void put_gvk(json::Writer& out, const Kind& kind) {
  out.begin_object().member("group", kind.group).member("version", kind.version).member("kind", kind.kind);
  out.end_object();
}

const api::Schema* described(const Kind& kind) {
  if (kind.custom) return nullptr;
  for (const api::Schema* schema : api::builtin_kinds())
    if (api::kind_of(*schema).group == kind.group && api::kind_of(*schema).kind == kind.kind) return schema;
  return nullptr;
}

// The described fields; nothing else is refused.
void put_properties(json::Writer& out, const Kind& kind) {
  out.key("properties").begin_object();
  const auto text = [&](const char* name, const char* description) {
    out.key(name).begin_object().member("type", "string").member("description", description).end_object();
  };
  const auto open = [&](const char* name) {
    out.key(name).begin_object().member("type", "object").member(kPreserve, true).end_object();
  };
  text("apiVersion", "APIVersion defines the versioned schema of this representation of an object.");
  text("kind", "Kind is a string value representing the REST resource this object represents.");
  out.key("metadata").begin_object().member("type", "object");
  out.member("description", "Standard object's metadata.").member(kPreserve, true).end_object();
  if (!kind.schema) {
    open("spec");
    open("status");
  } else if (const json::Value* members = find(kind.schema->json(), "properties")) {
    for (const auto& member : members->members())
      if (member.key() != "apiVersion" && member.key() != "kind" && member.key() != "metadata")
        out.member(member.key(), member.value);
  }
  out.end_object();
}

void put_schema(json::Writer& out, const Kind& kind) {
  out.begin_object();
  if (const api::Schema* schema = described(kind)) {
    json::Document fields;
    (void)fields.read(api::openapi_schema(*schema, true));
    for (const json::Member& member : fields.members()) out.member(member.key(), member.value);
  } else {
    const std::string_view text =
        kind.schema ? text_at(kind.schema->json(), "description") : std::string_view{};
    out.member("type", "object").member("description", text.empty() ? kind.kind : text);
    put_properties(out, kind);
    out.member(kPreserve, true);
  }
  out.key("x-kubernetes-group-version-kind").begin_array();
  put_gvk(out, kind);
  out.end_array().end_object();
}

std::string group_path(const Kind& kind) {
  return kind.group.empty() ? fmt::format("api/{}", kind.version)
                            : fmt::format("apis/{}/{}", kind.group, kind.version);
}

// kubectl looks here whether the server validates fields (the query parameter), and which patches there are.
// The strategic one is left out on purpose: kubectl then computes it from its own types, which know more than
// this schema.
void put_operations(json::Writer& out, const Kind& kind, bool v3) {
  constexpr std::string_view kPatches[] = {"application/apply-patch+yaml", "application/json-patch+json",
                                           "application/merge-patch+json"};
  const std::string path = fmt::format("/{}{}/{}", group_path(kind),
                                       kind.namespaced ? "/namespaces/{namespace}" : "", kind.resource);
  const auto parameter = [&](const char* name) {
    out.begin_object().member("name", name).member("in", "query");
    if (v3)
      out.key("schema").begin_object().member("type", "string").end_object();
    else
      out.member("type", "string");
    out.end_object();
  };
  const auto body = [&] {
    if (v3) {
      out.key("requestBody").begin_object().key("content").begin_object();
      for (const std::string_view type : kPatches) out.key(type).begin_object().end_object();
      out.end_object().end_object();
    } else {
      out.key("consumes").begin_array();
      for (const std::string_view type : kPatches) out.value(type);
      out.end_array();
    }
  };
  const auto operation = [&](const char* method, const char* action) {
    out.key(method).begin_object().member("operationId", fmt::format("{}{}", action, definition_name(kind)));
    out.member("x-kubernetes-action", action).key("x-kubernetes-group-version-kind");
    put_gvk(out, kind);
    if (std::string_view(method) == "patch") body();
    out.key("parameters").begin_array();
    parameter("fieldValidation");
    parameter("dryRun");
    out.end_array().key("responses").begin_object().key("200").begin_object().member("description", "OK");
    out.end_object().end_object().end_object();
  };
  out.key(path).begin_object();
  operation("get", "list");
  operation("post", "post");
  out.end_object().key(fmt::format("{}/{{name}}", path)).begin_object();
  operation("get", "get");
  operation("put", "put");
  operation("patch", "patch");
  out.end_object();
}

/// A document of the kinds that `shown` is true for; false if there are none.
template <class Shown>
bool put_document(json::Writer& out, const Registry& registry, bool v3, const Shown& shown) {
  bool any = false;
  out.key("info").begin_object().member("title", "Kubernetes").member("version", "v1.35.4").end_object();
  out.key("paths").begin_object();
  for (const auto& kind : registry.all())
    if (kind->objects && shown(*kind)) {
      put_operations(out, *kind, v3);
      any = true;
    }
  out.end_object();
  if (v3) out.key("components").begin_object();
  out.key(v3 ? "schemas" : "definitions").begin_object();
  for (const auto& kind : registry.all())
    if (kind->objects && shown(*kind)) {
      out.key(definition_name(*kind));
      put_schema(out, *kind);
    }
  out.end_object();
  if (v3) out.end_object();
  return any;
}

}  // namespace

std::string openapi_v2_json(const Registry& registry) {
  std::string out;
  json::Writer json(out);
  json.begin_object().member("swagger", "2.0");
  put_document(json, registry, false, [](const Kind&) { return true; });
  json.end_object();
  return out;
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
  std::string out;
  json::Writer json(out);
  json.begin_object().key("paths").begin_object();
  for (const GroupVersions& group : groups_of(registry))
    for (const auto& version : group.versions) {
      const std::string path = group_path(*version.kinds.front());
      json.key(path).begin_object();
      json.member("serverRelativeURL", fmt::format("/openapi/v3/{}?hash={}", path, registry.revision()));
      json.end_object();
    }
  json.end_object().end_object();
  return out;
}

std::optional<std::string> openapi_v3_json(const Registry& registry, std::string_view path) {
  std::string out;
  json::Writer json(out);
  json.begin_object().member("openapi", "3.0.0");
  if (!put_document(json, registry, true, [&](const Kind& kind) { return group_path(kind) == path; }))
    return std::nullopt;
  json.end_object();
  return out;
}

}  // namespace koord::sandbox
