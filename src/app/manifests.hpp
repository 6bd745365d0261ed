// What a cluster needs to know of the roles' tables: service accounts, RBAC, webhooks.
#pragma once

#include <string>

#include "help.hpp"

namespace koord::app {

/// Of every role that has an account: the account, a ClusterRole and a Role in each namespace that its rights
/// name, and their bindings. YAML documents, as packaging/manifests/30-roles.yaml has them.
std::string access_manifests(Roles roles);
/// The webhook configurations of all roles, as 50-webhooks.yaml has them.
std::string webhook_manifests(Roles roles);

}  // namespace koord::app
