// Discovery documents, made from the table of kinds.
#include "sandbox/api/discovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "koord/json/writer.hpp"

namespace koord::sandbox {
namespace {

void strings(json::Writer& out, std::string_view name, const std::vector<std::string>& list) {
  out.key(name).begin_array();
  for (const std::string& text : list) out.value(text);
  out.end_array();
}
void strings_if(json::Writer& out, std::string_view name, const std::vector<std::string>& list) {
  if (!list.empty()) strings(out, name, list);
}

void group_object(json::Writer& out, const GroupVersions& group, bool with_type) {
  const auto one = [&](const std::string& version) {
    out.begin_object().member("groupVersion", fmt::format("{}/{}", group.group, version));
    out.member("version", version).end_object();
  };
  out.begin_object();
  if (with_type) out.member("kind", "APIGroup").member("apiVersion", "v1");
  out.member("name", group.group).key("versions").begin_array();
  for (const auto& version : group.versions) one(version.name);
  out.end_array().key("preferredVersion");
  one(group.versions.front().name);
  out.end_object();
}

void plain_resource(json::Writer& out, const Kind& kind) {
  out.begin_object().member("name", kind.resource).member("singularName", kind.singular);
  out.member("namespaced", kind.namespaced).member("kind", kind.kind);
  strings(out, "verbs", kind.verbs);
  strings_if(out, "shortNames", kind.short_names);
  strings_if(out, "categories", kind.categories);
  out.end_object();
  for (const Subresource& sub : subresources_of(kind)) {
    out.begin_object()
        .member("name", fmt::format("{}/{}", kind.resource, sub.name))
        .member("singularName", "");
    out.member("namespaced", kind.namespaced);
    if (sub.version != kind.version || sub.group != kind.group)
      out.member("group", sub.group).member("version", sub.version);
    out.member("kind", sub.kind);
    strings(out, "verbs", sub.verbs);
    out.end_object();
  }
}

void response_kind(json::Writer& out, std::string_view group, std::string_view version,
                   std::string_view kind) {
  out.key("responseKind").begin_object();
  out.member("group", group).member("version", version).member("kind", kind).end_object();
}

void aggregated_resource(json::Writer& out, const Kind& kind) {
  out.begin_object().member("resource", kind.resource);
  response_kind(out, kind.group, kind.version, kind.kind);
  out.member("scope", kind.namespaced ? "Namespaced" : "Cluster").member("singularResource", kind.singular);
  strings(out, "verbs", kind.verbs);
  strings_if(out, "shortNames", kind.short_names);
  strings_if(out, "categories", kind.categories);
  if (const auto subs = subresources_of(kind); !subs.empty()) {
    out.key("subresources").begin_array();
    for (const Subresource& sub : subs) {
      out.begin_object().member("subresource", sub.name);
      response_kind(out, sub.group, sub.version, sub.kind);
      strings(out, "verbs", sub.verbs);
      out.end_object();
    }
    out.end_array();
  }
  out.end_object();
}

}  // namespace

std::vector<Subresource> subresources_of(const Kind& kind) {
  std::vector<Subresource> subs;
  if (kind.resource == "pods" && kind.group.empty()) {
    subs.push_back({"binding", "", "v1", "Binding", {"create"}});
    subs.push_back({"ephemeralcontainers", "", "v1", "Pod", {"get", "patch", "update"}});
    subs.push_back({"eviction", "policy", "v1", "Eviction", {"create"}});
    subs.push_back({"log", "", "v1", "Pod", {"get"}});
    subs.push_back({"resize", "", "v1", "Pod", {"get", "patch", "update"}});
  }
  if (kind.resource == "namespaces" && kind.group.empty())
    subs.push_back({"finalize", "", "v1", "Namespace", {"update"}});
  if (kind.scale) subs.push_back({"scale", "autoscaling", "v1", "Scale", {"get", "patch", "update"}});
  if (kind.status)
    subs.push_back({"status", kind.group, kind.version, kind.kind, {"get", "patch", "update"}});
  return subs;
}

std::string version_json() {
  return R"({"major":"1","minor":"35","emulationMajor":"1","emulationMinor":"35","minCompatibilityMajor":"1","minCompatibilityMinor":"34","gitVersion":"v1.35.4+koord-sandbox","gitCommit":"","gitTreeState":"clean","buildDate":"2026-01-01T00:00:00Z","goVersion":"","compiler":"clang","platform":"linux/amd64"})";
}

std::string api_versions_json(std::string_view server_address) {
  std::string out;
  json::Writer json(out);
  json.begin_object().member("kind", "APIVersions").key("versions").begin_array().value("v1").end_array();
  json.key("serverAddressByClientCIDRs").begin_array().begin_object();
  json.member("clientCIDR", "0.0.0.0/0").member("serverAddress", server_address);
  json.end_object().end_array().end_object();
  return out;
}

std::vector<GroupVersions> groups_of(const Registry& registry) {
  std::vector<GroupVersions> groups;
  std::map<std::string_view, std::size_t> known;
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> versions;
  for (const auto& kind : registry.all()) {
    const auto [group, new_group] = known.try_emplace(kind->group, groups.size());
    if (new_group) groups.push_back({kind->group, {}});
    auto& list = groups[group->second].versions;
    const auto [version, added] = versions.try_emplace({kind->group, kind->version}, list.size());
    if (added) list.push_back({kind->version, {}});
    list[version->second].kinds.push_back(kind);
  }
  // Stable versions come before alpha and beta, the latest first.
  for (GroupVersions& group : groups) {
    const auto alpha = std::stable_partition(
        group.versions.begin(), group.versions.end(),
        [](const auto& version) { return version.name.find_first_of("ab") == std::string::npos; });
    std::reverse(group.versions.begin(), alpha);
  }
  return groups;
}

std::string group_list_json(const Registry& registry) {
  std::string out;
  json::Writer json(out);
  json.begin_object().member("kind", "APIGroupList").member("apiVersion", "v1").key("groups").begin_array();
  for (const GroupVersions& group : groups_of(registry))
    if (!group.group.empty()) group_object(json, group, false);
  json.end_array().end_object();
  return out;
}

std::optional<std::string> group_json(const Registry& registry, std::string_view name) {
  while (!name.empty() && name.back() == '/') name.remove_suffix(1);
  if (name.empty()) return std::nullopt;
  for (const GroupVersions& group : groups_of(registry)) {
    if (group.group != name) continue;
    std::string out;
    json::Writer json(out);
    group_object(json, group, true);
    return out;
  }
  return std::nullopt;
}

std::optional<std::string> resource_list_json(const Registry& registry, std::string_view group,
                                              std::string_view version) {
  std::string out;
  json::Writer json(out);
  json.begin_object().member("kind", "APIResourceList").member("apiVersion", "v1");
  json.member("groupVersion", fmt::format("{}{}{}", group, group.empty() ? "" : "/", version));
  json.key("resources").begin_array();
  bool any = false;
  for (const auto& kind : registry.all()) {
    if (kind->group != group || kind->version != version) continue;
    plain_resource(json, *kind);
    any = true;
  }
  if (!any) return std::nullopt;
  if (group.empty())
    json.raw(
        R"({"name":"bindings","singularName":"binding","namespaced":true,"kind":"Binding","verbs":["create"]})");
  json.end_array().end_object();
  return out;
}

std::string aggregated_discovery_json(const Registry& registry, bool core) {
  std::string out;
  json::Writer json(out);
  json.begin_object().member("kind", "APIGroupDiscoveryList").member("apiVersion", "apidiscovery.k8s.io/v2");
  json.key("metadata").begin_object().end_object().key("items").begin_array();
  for (const GroupVersions& group : groups_of(registry)) {
    if (group.group.empty() != core) continue;
    json.begin_object().key("metadata").begin_object().member_if("name", group.group);
    json.key("creationTimestamp").null().end_object().key("versions").begin_array();
    for (const auto& version : group.versions) {
      json.begin_object().member("version", version.name).key("resources").begin_array();
      for (const auto& kind : version.kinds) aggregated_resource(json, *kind);
      if (core)
        json.raw(
            R"({"resource":"bindings","responseKind":{"group":"","version":"v1","kind":"Binding"},"scope":"Namespaced","singularResource":"binding","verbs":["create"]})");
      json.end_array().member("freshness", "Current").end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
  return out;
}

}  // namespace koord::sandbox
