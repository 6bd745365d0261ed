// What a cluster needs to know of the roles' tables: service accounts, RBAC, webhooks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "help.hpp"

namespace koord::app {

/// Of every role that has an account: the account, a ClusterRole and a Role in each namespace that its rights
/// name, without those that only a gate or a flag needs, and their bindings. YAML documents, as
/// packaging/manifests/30-roles.yaml has them.
std::string access_manifests(Roles roles);
/// The gates and flags, off by default, that need rights which access_manifests() does not have.
std::vector<std::string_view> gates_with_rights(Roles roles);
/// These rights of one of them, as packaging/manifests-gates/NAME.yaml has them: ClusterRoles and Roles named
/// ACCOUNT-NAME, and their bindings.
std::string gate_manifests(Roles roles, std::string_view name);
/// The webhook configurations of all roles, as 50-webhooks.yaml has them.
std::string webhook_manifests(Roles roles);

}  // namespace koord::app
