// Discovery documents, made from the table of kinds.
#include "sandbox/api/discovery.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace koord::sandbox {
namespace {

std::string strings(const std::vector<std::string>& list) {
  std::string out = "[";
  for (const std::string& text : list) out += (out.size() > 1 ? "," : "") + quote_json(text);
  return out + "]";
}

std::string group_object(const GroupVersions& group, bool with_type) {
  std::string versions;
  auto one = [&](const std::string& version) {
    return fmt::format(R"({{"groupVersion":"{0}/{1}","version":"{1}"}})", group.group, version);
  };
  for (const std::string& version : group.versions) versions += (versions.empty() ? "" : ",") + one(version);
  return fmt::format(R"({{{}"name":"{}","versions":[{}],"preferredVersion":{}}})",
                     with_type ? R"("kind":"APIGroup","apiVersion":"v1",)" : "", group.group, versions,
                     one(group.versions.front()));
}

std::string plain_resource(const Kind& kind) {
  std::string out =
      fmt::format(R"({{"name":"{}","singularName":"{}","namespaced":{},"kind":"{}","verbs":{})",
                  kind.resource, kind.singular, kind.namespaced, kind.kind, strings(kind.verbs));
  if (!kind.short_names.empty()) out += ",\"shortNames\":" + strings(kind.short_names);
  if (!kind.categories.empty()) out += ",\"categories\":" + strings(kind.categories);
  out += "}";
  for (const Subresource& sub : subresources_of(kind)) {
    out += fmt::format(R"(,{{"name":"{}/{}","singularName":"","namespaced":{},)", kind.resource, sub.name,
                       kind.namespaced);
    if (sub.version != kind.version || sub.group != kind.group)
      out += fmt::format(R"("group":"{}","version":"{}",)", sub.group, sub.version);
    out += fmt::format(R"("kind":"{}","verbs":{}}})", sub.kind, strings(sub.verbs));
  }
  return out;
}

std::string aggregated_resource(const Kind& kind) {
  std::string out = fmt::format(
      R"({{"resource":"{}","responseKind":{{"group":"{}","version":"{}","kind":"{}"}},"scope":"{}","singularResource":"{}","verbs":{})",
      kind.resource, kind.group, kind.version, kind.kind, kind.namespaced ? "Namespaced" : "Cluster",
      kind.singular, strings(kind.verbs));
  if (!kind.short_names.empty()) out += ",\"shortNames\":" + strings(kind.short_names);
  if (!kind.categories.empty()) out += ",\"categories\":" + strings(kind.categories);
  std::string subs;
  for (const Subresource& sub : subresources_of(kind))
    subs += fmt::format(
        R"({}{{"subresource":"{}","responseKind":{{"group":"{}","version":"{}","kind":"{}"}},"verbs":{}}})",
        subs.empty() ? "" : ",", sub.name, sub.group, sub.version, sub.kind, strings(sub.verbs));
  if (!subs.empty()) out += ",\"subresources\":[" + subs + "]";
  return out + "}";
}

}  // namespace

std::vector<Subresource> subresources_of(const Kind& kind) {
  std::vector<Subresource> subs;
  if (kind.resource == "pods" && kind.group.empty()) {
    subs.push_back({"binding", "", "v1", "Binding", {"create"}});
    subs.push_back({"ephemeralcontainers", "", "v1", "Pod", {"get", "patch", "update"}});
    subs.push_back({"eviction", "policy", "v1", "Eviction", {"create"}});
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
  return fmt::format(
      R"({{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[{{"clientCIDR":"0.0.0.0/0","serverAddress":"{}"}}]}})",
      server_address);
}

std::vector<GroupVersions> groups_of(const Registry& registry) {
  std::vector<GroupVersions> groups;
  for (const auto& kind : registry.all()) {
    auto it =
        std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.group == kind->group; });
    if (it == groups.end()) {
      groups.push_back({kind->group, {kind->version}});
    } else if (std::find(it->versions.begin(), it->versions.end(), kind->version) == it->versions.end()) {
      // Stable versions come before alpha and beta.
      bool stable = kind->version.find_first_of("ab") == std::string::npos;
      it->versions.insert(stable ? it->versions.begin() : it->versions.end(), kind->version);
    }
  }
  return groups;
}

std::string group_list_json(const Registry& registry) {
  std::string list;
  for (const GroupVersions& group : groups_of(registry))
    if (!group.group.empty()) list += (list.empty() ? "" : ",") + group_object(group, false);
  return R"({"kind":"APIGroupList","apiVersion":"v1","groups":[)" + list + "]}";
}

std::optional<std::string> group_json(const Registry& registry, std::string_view name) {
  while (!name.empty() && name.back() == '/') name.remove_suffix(1);
  for (const GroupVersions& group : groups_of(registry))
    if (group.group == name && !name.empty()) return group_object(group, true);
  return std::nullopt;
}

std::optional<std::string> resource_list_json(const Registry& registry, std::string_view group,
                                              std::string_view version) {
  std::string list;
  for (const auto& kind : registry.all())
    if (kind->group == group && kind->version == version)
      list += (list.empty() ? "" : ",") + plain_resource(*kind);
  if (list.empty()) return std::nullopt;
  if (group.empty())
    list +=
        R"(,{"name":"bindings","singularName":"binding","namespaced":true,"kind":"Binding","verbs":["create"]})";
  return fmt::format(
      R"({{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"{}{}{}","resources":[{}]}})", group,
      group.empty() ? "" : "/", version, list);
}

std::string aggregated_discovery_json(const Registry& registry, bool core) {
  std::string items;
  for (const GroupVersions& group : groups_of(registry)) {
    if (group.group.empty() != core) continue;
    std::string versions;
    for (const std::string& version : group.versions) {
      std::string resources;
      for (const auto& kind : registry.all())
        if (kind->group == group.group && kind->version == version)
          resources += (resources.empty() ? "" : ",") + aggregated_resource(*kind);
      if (core)
        resources +=
            R"(,{"resource":"bindings","responseKind":{"group":"","version":"v1","kind":"Binding"},"scope":"Namespaced","singularResource":"binding","verbs":["create"]})";
      versions += fmt::format(R"({}{{"version":"{}","resources":[{}],"freshness":"Current"}})",
                              versions.empty() ? "" : ",", version, resources);
    }
    std::string name = core ? "" : fmt::format(R"("name":"{}",)", group.group);
    items += fmt::format(R"({}{{"metadata":{{{}"creationTimestamp":null}},"versions":[{}]}})",
                         items.empty() ? "" : ",", name, versions);
  }
  return R"({"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[)" +
         items + "]}";
}

}  // namespace koord::sandbox
