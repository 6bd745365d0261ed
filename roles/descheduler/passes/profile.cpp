// See profile.hpp.
#include "passes/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace koord::descheduler {

Result<std::unique_ptr<Profile>> Profile::make(const ProfileConfig& config, PluginTable table,
                                               PluginContext context) {
  context.profile = config.name;
  std::unique_ptr<Profile> profile(new Profile(std::move(context)));
  if (config.node_selector) {
    KOORD_TRY(selector, api::Selector::from(&*config.node_selector));
    profile->nodes_ = std::move(selector);
  }
  KOORD_CHECK(profile->make_plugins(config, table));
  return profile;
}

Result<> Profile::make_plugins(const ProfileConfig& config, PluginTable table) {
  std::set<std::string_view> wanted;
  for (const ExtensionPoint& point : extension_points())
    for (const PluginRef& p : ((*config.plugins).*point.configured).enabled) wanted.insert(p.name);
  for (const PluginEntry* row : table) {
    if (!wanted.contains(row->name)) continue;
    Args args;
    for (const PluginConfig& entry : config.plugin_config)
      if (entry.name == row->name) args = entry.decoded;
    Made made{row->name, nullptr, nullptr};
    const auto failed = [&](const Error& error) {
      return error.context(fmt::format("initializing plugin \"{}\"", row->name));
    };
    if (row->make != nullptr) {
      auto plugin = row->make(args, context_);
      if (!plugin) return failed(plugin.error());
      made.plugin = std::move(*plugin);
    } else {
      auto evictor = row->make_evictor(args, context_);
      if (!evictor) return failed(evictor.error());
      made.evictor = std::move(*evictor);
    }
    made_.push_back(std::move(made));
  }
  const auto find = [&](std::string_view name) {
    return std::ranges::find_if(made_, [&](const Made& made) { return made.name == name; });
  };
  for (const PluginRef& p : config.plugins->deschedule.enabled)
    if (const auto it = find(p.name); it != made_.end()) deschedules_.push_back({it->name, it->plugin.get()});
  for (const PluginRef& p : config.plugins->balance.enabled)
    if (const auto it = find(p.name); it != made_.end()) balances_.push_back({it->name, it->plugin.get()});
  for (const PluginRef& p : config.plugins->filter.enabled)
    if (const auto it = find(p.name); it != made_.end()) filters_.push_back({it->name, it->evictor.get()});
  for (const PluginRef& p : config.plugins->evict.enabled)
    if (const auto it = find(p.name); it != made_.end()) evictor_ = it->evictor.get();
  if (evictor_ == nullptr) return Error(Code::invalid, "no evict plugin is enabled");
  return {};
}

std::vector<Evictor*> Profile::evictors() const {
  std::vector<Evictor*> all;
  for (const Made& made : made_)
    if (made.evictor != nullptr) all.push_back(made.evictor.get());
  return all;
}

std::vector<Plugin*> Profile::plugins() const {
  std::vector<Plugin*> all;
  for (const Made& made : made_)
    if (made.plugin != nullptr) all.push_back(made.plugin.get());
  return all;
}

Result<Profiles> make_profiles(const DeschedulerConfiguration& config, PluginTable table,
                               const std::function<PluginContext(const ProfileConfig&)>& context) {
  Profiles profiles;
  for (const ProfileConfig& each : config.profiles) {
    auto profile = Profile::make(each, table, context(each));
    if (!profile)
      return std::move(profile).error().context(
          fmt::format("creating profile for descheduler name {}", each.name));
    profiles.push_back(std::move(*profile));
  }
  return profiles;
}

}  // namespace koord::descheduler
