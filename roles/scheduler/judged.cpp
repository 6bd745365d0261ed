// A cluster's configuration as the scheduler reads it: see judged.hpp.
#include "judged.hpp"

#include <algorithm>

#include "koord/base/feature_gate.hpp"
#include "koord/scheduling/config/configuration.hpp"
#include "koord/scheduling/config/gates.hpp"
#include "koord/scheduling/plugins.hpp"

namespace koord::scheduler {

Result<std::vector<std::string>> judge_configuration(std::string_view text, const std::string& place,
                                                     std::string_view gates) {
  FeatureGates set{scheduling::gates()};
  while (!gates.empty()) {
    const auto comma = std::min(gates.find(','), gates.size());
    (void)set.set(gates.substr(0, comma));  // who asks tells of those that are wrong
    gates.remove_prefix(std::min(comma + 1, gates.size()));
  }
  KOORD_TRY(configuration,
            scheduling::configuration_of_text(text, place, true, scheduling::plugin_table(), set));
  std::vector<std::string> names;
  names.reserve(configuration.config.profiles.size());
  for (const auto& profile : configuration.config.profiles)
    names.push_back(profile.scheduler_name.value_or("default-scheduler"));
  return names;
}

}  // namespace koord::scheduler
