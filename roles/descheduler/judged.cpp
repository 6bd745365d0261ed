// A cluster's configuration as the descheduler reads it: see judged.hpp.
#include "judged.hpp"

#include "framework/plugin_table.hpp"
#include "options/flags.hpp"

namespace koord::descheduler {

Result<std::vector<std::string>> judge_configuration(std::string_view text, const std::string& place) {
  const runtime::FlagOwner owner{"descheduler", flags(), false};
  KOORD_TRY(values, runtime::default_flags({&owner, 1}));
  KOORD_TRY(configuration, configuration_from(text, place, values, plugin_table()));
  std::vector<std::string> names;
  names.reserve(configuration.profiles.size());
  for (const auto& profile : configuration.profiles) names.push_back(profile.name);
  return names;
}

}  // namespace koord::descheduler
