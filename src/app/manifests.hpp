// What a cluster needs to know of the roles' tables: service accounts and RBAC.
#pragma once

#include <string>

#include "help.hpp"

namespace koord::app {

/// Of every role that has an account: the account, a ClusterRole and a Role in each namespace that its rights
/// name, and their bindings. YAML documents, as packaging/manifests/30-roles.yaml has them.
std::string manifests(Roles roles);

}  // namespace koord::app
