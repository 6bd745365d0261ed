// What flags and gates say to the controllers.
#pragma once

#include "controllers/pod_profiles.hpp"
#include "framework/noderesource/plan.hpp"
#include "koord/runtime/role.hpp"

namespace koord::manager {

ResourcePlugins resource_plugins(const runtime::RoleContext& context);
PodProfiles::Settings profile_settings(const runtime::RoleContext& context);

}  // namespace koord::manager
