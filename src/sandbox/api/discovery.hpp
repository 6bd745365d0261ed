// Discovery: which groups, versions and resources there are; plain and aggregated.
#pragma once

#include <optional>
#include <string>

#include "sandbox/kinds/kind.hpp"

namespace koord::sandbox {

std::string version_json();
std::string api_versions_json(std::string_view server_address);
std::string group_list_json(const Registry& registry);
std::optional<std::string> group_json(const Registry& registry, std::string_view group);
/// APIResourceList of one version; nothing if there is no such version.
std::optional<std::string> resource_list_json(const Registry& registry, std::string_view group,
                                              std::string_view version);
/// APIGroupDiscoveryList of the core group or of all others.
std::string aggregated_discovery_json(const Registry& registry, bool core);

struct GroupVersions {
  struct Version {
    std::string name;
    std::vector<Registry::KindPtr> kinds;
  };
  std::string group;
  std::vector<Version> versions;
};
/// In the order in which they are first served.
std::vector<GroupVersions> groups_of(const Registry& registry);
/// Besides status and scale: what a kind's subresource takes.
struct Subresource {
  std::string name, group, version, kind;
  std::vector<std::string> verbs;
};
std::vector<Subresource> subresources_of(const Kind& kind);

}  // namespace koord::sandbox
