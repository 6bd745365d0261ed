// What plugins read of a kind: see watched_scope.hpp.
#include "koord/scheduling/config/watched_scope.hpp"

#include <algorithm>

#include "koord/scheduling/config/profile.hpp"

namespace koord::scheduling {

std::vector<kube::Scope> watched_scopes(std::span<const Profile> profiles, const kube::ObjectType& type) {
  std::vector<kube::Scope> scopes;
  for (const Profile& profile : profiles)
    for (const Profile::Named& named : profile.plugins) {
      const auto* const plugin = dynamic_cast<const ScopedWatchPlugin*>(named.plugin.get());
      auto scope = plugin != nullptr ? plugin->watched(type) : std::nullopt;
      if (scope && std::ranges::find(scopes, *scope) == scopes.end()) scopes.push_back(*std::move(scope));
    }
  if (scopes.empty()) scopes.emplace_back();
  return scopes;
}

}  // namespace koord::scheduling
