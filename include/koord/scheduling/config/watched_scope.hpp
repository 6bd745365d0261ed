// ScopedWatchPlugin: a plugin that reads few objects of a kind of which there are many.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "koord/kube/informer.hpp"

namespace koord::scheduling {

struct Profile;

/// What it watches (ObjectStores) is listed and watched in this scope alone.
class ScopedWatchPlugin {
 public:
  virtual ~ScopedWatchPlugin() = default;
  /// Absent: of this kind it reads nothing, or all.
  virtual std::optional<kube::Scope> watched(const kube::ObjectType& type) const = 0;
};

/// In which the plugins of all profiles have what they read, each scope once; all of the kind where nobody
/// says one. Scopes that differ are so many lists, and never one of the whole kind: the role's rights end
/// where its plugins' needs do. Scopes of one kind must not overlap.
std::vector<kube::Scope> watched_scopes(std::span<const Profile> profiles, const kube::ObjectType& type);

}  // namespace koord::scheduling
