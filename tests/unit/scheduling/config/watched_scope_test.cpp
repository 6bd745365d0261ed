// In which scopes what plugins read is listed and watched.
#include "koord/scheduling/config/watched_scope.hpp"

#include <catch2/catch.hpp>

#include "koord/api/types/core_v1/config_map.hpp"
#include "koord/api/types/scheduling_v1alpha1/device.hpp"
#include "koord/scheduling/config/profile.hpp"
#include "world.hpp"

namespace koord::scheduling::test {
namespace {

/// A profile for each: with DeviceShare, whose templates are in the ConfigMap of this name in "ns"; empty:
/// without.
std::vector<std::string> watched(std::vector<std::string> config_maps, const kube::ObjectType& type) {
  KubeSchedulerConfiguration config;
  for (const std::string& name : config_maps) {
    ProfileConfig& profile = config.profiles.emplace_back();
    profile.scheduler_name = fmt::format("profile-{}", config.profiles.size());
    if (name.empty()) continue;
    profile.plugins.ensure().multi_point.enabled = {{"DeviceShare", {}}};
    profile.plugin_config.push_back(
        {"DeviceShare",
         api::RawJson{fmt::format(
             R"({{"gpuSharedResourceTemplatesConfig":{{"configMapNamespace":"ns","configMapName":"{}"}}}})",
             name)},
         nullptr});
  }
  const World world(std::move(config));
  std::vector<std::string> texts;
  for (const kube::Scope& scope : watched_scopes(world.engine.profiles(), type))
    texts.push_back(scope == kube::Scope() ? "all" : fmt::format("{} {}", scope.ns, scope.fields));
  return texts;
}

TEST_CASE("profiles that read other ConfigMaps have each its own listed, and nobody's else") {
  const kube::ObjectType& maps = kube::kObjectType<api::ConfigMap>;
  using Texts = std::vector<std::string>;
  CHECK(watched({"a"}, maps) == Texts{"ns metadata.name=a"});
  CHECK(watched({"a", "a"}, maps) == Texts{"ns metadata.name=a"});
  CHECK(watched({"a", "b", "", "a"}, maps) == Texts{"ns metadata.name=a", "ns metadata.name=b"});
  CHECK(watched({"a", "b"}, kube::kObjectType<api::Device>) == Texts{"all"});
}

}  // namespace
}  // namespace koord::scheduling::test
