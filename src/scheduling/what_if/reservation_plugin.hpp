// Which plugin is asked about reservations.
#pragma once

#include "koord/scheduling/config/profile.hpp"
#include "koord/scheduling/plugin/explain_plugin.hpp"

namespace koord::scheduling::explain {

/// nullptr: the profile has none.
inline const ReservationExplainPlugin* reservation_plugin(const Profile& profile) {
  for (const Profile::Named& named : profile.plugins)
    if (const auto* plugin = dynamic_cast<const ReservationExplainPlugin*>(named.plugin.get())) return plugin;
  return nullptr;
}

}  // namespace koord::scheduling::explain
