// Profile: the plugins of one profile of the configuration, made and ready to be asked.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "framework/plugin_table.hpp"

namespace koord::descheduler {

/// Belongs to the role's strand. Its plugins hold on to its context, so it stays where it is.
class Profile {
 public:
  struct Asked {
    std::string_view name;
    Plugin* plugin;
  };
  struct Filter {
    std::string_view name;
    Evictor* evictor;
  };

  /// Makes the plugins that the profile enables, in the table's order, each once wherever it is asked. Of a
  /// completed and valid configuration; an error says which plugin cannot be made.
  static Result<std::unique_ptr<Profile>> make(const ProfileConfig& config, PluginTable table,
                                               PluginContext context);
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  const std::string& name() const { return context_.profile; }
  /// Of the configuration's nodes it looks at these alone; nothing: at all.
  const std::optional<api::Selector>& nodes() const { return nodes_; }
  // In the order of the configuration.
  const std::vector<Asked>& deschedules() const { return deschedules_; }
  const std::vector<Asked>& balances() const { return balances_; }
  const std::vector<Filter>& filters() const { return filters_; }
  Evictor& evictor() const { return *evictor_; }
  /// Each that evicts or filters, once.
  std::vector<Evictor*> evictors() const;
  /// Each that is asked in passes, once.
  std::vector<Plugin*> plugins() const;

 private:
  explicit Profile(PluginContext context) : context_(std::move(context)) {}
  Result<> make_plugins(const ProfileConfig& config, PluginTable table);

  struct Made {
    std::string_view name;
    std::unique_ptr<Plugin> plugin;
    std::unique_ptr<Evictor> evictor;
  };
  PluginContext context_;
  std::vector<Made> made_;
  std::optional<api::Selector> nodes_;
  std::vector<Asked> deschedules_, balances_;
  std::vector<Filter> filters_;
  Evictor* evictor_ = nullptr;
};

using Profiles = std::vector<std::unique_ptr<Profile>>;

/// All of them, in the configuration's order; `context` gives each its own.
Result<Profiles> make_profiles(const DeschedulerConfiguration& config, PluginTable table,
                               const std::function<PluginContext(const ProfileConfig&)>& context);

}  // namespace koord::descheduler
