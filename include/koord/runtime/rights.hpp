// Rights: what a role asks of the API server. Its (Cluster)Roles are printed from these rows, and no request
// is made that none of them allows. What only a gate or a flag needs that is off by default has a file of its
// own, so that nobody holds it who does not use it.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace koord::runtime {

/// The namespace that koord is installed in.
inline constexpr std::string_view kOwnNamespace = "koordinator-system";

/// One row. Everything is static text.
struct Right {
  std::string_view group;      // "" is the core group
  std::string_view resource;   // "nodes", "nodes/status"
  std::string_view verbs;      // "list watch"
  std::string_view name = {};  // of this object alone
  std::string_view ns = {};    // in this namespace alone; empty: in all, and of what has none
  /// The gate or the boolean flag, off by default, without which it is not asked for; empty: there is none.
  std::string_view needed_by = {};
};

/// Where the rights lie that only a gate or a flag needs: FOLDER/NAME.yaml.
inline constexpr std::string_view kGateManifests = "packaging/manifests-gates";

/// One table of several: `constexpr auto kRights = join_rights(kEventRights, kMine);`
template <std::size_t... Sizes>
constexpr auto join_rights(const std::array<Right, Sizes>&... tables) {
  std::array<Right, (Sizes + ... + 0)> all{};
  std::size_t next = 0;
  const auto append = [&](const auto& table) {
    for (const Right& right : table) all[next++] = right;
  };
  (append(tables), ...);
  return all;
}

/// Holding a lease in our namespace. (Who creates cannot be held to a name.)
constexpr std::array<Right, 2> election_rights(std::string_view lease) {
  return {{{"coordination.k8s.io", "leases", "create", "", kOwnNamespace},
           {"coordination.k8s.io", "leases", "get update", lease, kOwnNamespace}}};
}

/// Telling events, and that they have come again.
inline constexpr std::array<Right, 1> kEventRights = {{{"events.k8s.io", "events", "create patch"}}};

/// Asking the API server who calls a port and what they may do (secure_serving_flags).
inline constexpr std::array<Right, 3> kServingRights = {{
    {"authentication.k8s.io", "tokenreviews", "create"},
    {"authorization.k8s.io", "subjectaccessreviews", "create"},
    {"", "configmaps", "get", "extension-apiserver-authentication", "kube-system"},
}};

}  // namespace koord::runtime
