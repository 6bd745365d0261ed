// A scheduler's configuration in effect: see configuration.hpp.
#include "koord/scheduling/config/configuration.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "koord/api/schema/codec.hpp"
#include "koord/runtime/config.hpp"
#include "koord/scheduling/scoring/node_resources_fit_args.hpp"

namespace koord::scheduling {

namespace {

/// Of the resources that extenders manage those that are theirs alone: they replace what the arguments of
/// NodeResourcesFit say.
void ignore_managed(KubeSchedulerConfiguration& config) {
  using FitArgs = NodeResourcesFitArgs;
  std::vector<std::string> ignored;
  for (const Extender& e : config.extenders)
    for (const ExtenderManagedResource& r : e.managed_resources)
      if (r.ignored_by_scheduler) ignored.push_back(r.name);
  if (ignored.empty()) return;
  for (ProfileConfig& profile : config.profiles)
    for (PluginConfig& entry : profile.plugin_config) {
      if (entry.name != "NodeResourcesFit" || !entry.decoded) continue;
      auto args = std::make_shared<FitArgs>(*std::static_pointer_cast<const FitArgs>(entry.decoded));
      args->ignored_resources = ignored;
      entry.args.text = api::encode(*args);
      entry.decoded = std::move(args);
    }
}

/// Completed and checked; errors name `place` and the line, where there is one.
Result<Configuration> checked(Configuration c, const std::string& place, const json::LineMap& lines,
                              PluginTable table, const FeatureGates& gates) {
  const auto named = [&](Error error) {
    return c.from_file ? runtime::located(error, place, lines) : std::move(error);
  };
  if (auto done = finish(c, table, gates); !done) return named(std::move(done).error());
  if (auto valid = validate(c.config, table); !valid) return named(std::move(valid).error());
  return c;
}

}  // namespace

Result<> finish(Configuration& c, PluginTable table, const FeatureGates& gates) {
  KOORD_CHECK(complete(c.config, table, gates));
  ignore_managed(c.config);
  if (c.koordinators) append_koordinators_defaults(c.config);
  return {};
}

Result<Configuration> configuration_to_ask(const std::string& path, bool koordinators, PluginTable table,
                                           const FeatureGates& gates) {
  Configuration c;
  c.from_file = !path.empty();
  c.koordinators = koordinators;
  json::LineMap lines;
  if (c.from_file) {
    auto read = runtime::load_config<KubeSchedulerConfiguration>(path, &lines);
    if (!read) return std::move(read).error();
    c.config = std::move(*read);
  } else {
    c.config = own_defaults();
    ProfileConfig same = c.config.profiles.front();
    same.scheduler_name = "default-scheduler";
    c.config.profiles.push_back(std::move(same));
  }
  return checked(std::move(c), path, lines, table, gates);
}

Result<Configuration> configuration_of_text(std::string_view text, const std::string& place,
                                            bool koordinators, PluginTable table, const FeatureGates& gates) {
  Configuration c;
  c.from_file = true;
  c.koordinators = koordinators;
  json::LineMap lines;
  KOORD_CHECK(
      runtime::read_config(text, place, api::schema<KubeSchedulerConfiguration>(), &c.config, &lines));
  return checked(std::move(c), place, lines, table, gates);
}

}  // namespace koord::scheduling
