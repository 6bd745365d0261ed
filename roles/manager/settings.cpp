// Flags and gates as settings: see settings.hpp.
#include "settings.hpp"

#include "flags.hpp"
#include "plugins.hpp"

namespace koord::manager {

ResourcePlugins resource_plugins(const runtime::RoleContext& context) {
  const std::vector<std::string>& wanted = context.flags.get_list("noderesource-plugins");
  return choose_plugins(resource_plugin_table(), context.gates,
                        [&wanted](std::string_view name) { return is_enabled(wanted, name); });
}

PodProfiles::Settings profile_settings(const runtime::RoleContext& context) {
  const runtime::FlagValues& flags = context.flags;
  return {.tells = context.gates.enabled("WebhookFramework") && context.gates.enabled("PodMutatingWebhook"),
          .translates = !context.gates.enabled("ColocationProfileSkipMutatingResources"),
          .patches = context.gates.enabled("ColocationProfileController"),
          .all = flags.get_bool("colocation-profile-reconcile-by-default"),
          .interval = flags.get_duration("colocation-profile-reconcile-interval"),
          .again_after = flags.get_duration("colocation-profile-force-update-pod-duration"),
          .qps = flags.get_real("colocation-profile-update-pod-qps"),
          .burst = static_cast<int>(flags.get_int("colocation-profile-update-pod-qps-burst"))};
}

}  // namespace koord::manager
