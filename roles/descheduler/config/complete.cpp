// DeschedulerConfiguration: what is filled in where the file says nothing.
#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "config/config.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"
#include "koord/scheduling/config/plugin_sets.hpp"

namespace koord::descheduler {

namespace {

/// Koordinator's own plugins, whose arguments carry their kind or none; of the others it is not looked at.
constexpr std::array<std::string_view, 5> kKoordinators = {
    kMigrationControllerName, "LowNodeLoad", "CustomPriority", "FragmentationAware", "ScaleDownBinPack"};

Result<std::string> without_kind(const std::string& text) {
  KOORD_TRY(document, json::parse(text));
  if (!document.is_object()) return text;
  json::remove(document, "apiVersion");
  json::remove(document, "kind");
  return json::to_text(document);
}

Result<> decode(const ArgsType& type, const PluginConfig& entry, void* args) {
  if (std::ranges::find(kKoordinators, entry.name) != kKoordinators.end())
    return api::decode_strict(entry.args.text, type.schema(), args);
  KOORD_TRY(text, without_kind(entry.args.text));
  return api::decode_strict(text, type.schema(), args);
}

Result<> complete(ProfileConfig& profile, const std::string& path, PluginTable table) {
  Plugins plugins;
  plugins.evict.enabled = plugins.filter.enabled = {{std::string(kMigrationControllerName)}};
  std::set<std::string> enabled;
  for (const ExtensionPoint& point : extension_points()) {
    PluginSet& set = plugins.*point.configured;
    if (profile.plugins) set = scheduling::merge_plugins(set, (*profile.plugins).*point.configured);
    for (const PluginRef& p : set.enabled) enabled.insert(p.name);
  }
  profile.plugins = std::move(plugins);
  const auto type_of = [&](const std::string& name) {
    const PluginEntry* const row = find_plugin(table, name);
    return row != nullptr ? row->args : nullptr;
  };
  return scheduling::complete_plugin_config(profile.plugin_config, enabled, path, type_of, &decode);
}

bool is_ip(const std::string& text) {
  std::array<unsigned char, 16> ignored{};
  return ::inet_pton(AF_INET, text.c_str(), ignored.data()) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), ignored.data()) == 1;
}

std::string join(std::string_view host, std::string_view port) {
  return host.find(':') != std::string_view::npos ? fmt::format("[{}]:{}", host, port)
                                                  : fmt::format("{}:{}", host, port);
}

void complete_address(std::optional<std::string>& address) {
  if (!address) {
    address = kDefaultBindAddress;
  } else if (const auto parts = split_host_port(*address)) {
    address = join(parts->first.empty() ? "0.0.0.0" : parts->first, parts->second);
  } else if (is_ip(*address)) {
    address = join(*address, kDefaultBindAddress.substr(kDefaultBindAddress.rfind(':') + 1));
  }
}

}  // namespace

std::span<const ExtensionPoint> extension_points() {
  constexpr auto kEvicts = [](const PluginEntry& entry) { return entry.make_evictor != nullptr; };
  static constexpr ExtensionPoint kPoints[] = {
      {"deschedule", "DeschedulePlugin", &Plugins::deschedule,
       [](const PluginEntry& entry) { return entry.deschedules; }},
      {"balance", "BalancePlugin", &Plugins::balance,
       [](const PluginEntry& entry) { return entry.balances; }},
      {"evict", "EvictPlugin", &Plugins::evict, kEvicts},
      {"filter", "FilterPlugin", &Plugins::filter, kEvicts},
  };
  return kPoints;
}

Result<> complete(DeschedulerConfiguration& c, PluginTable table) {
  if (c.profiles.empty()) c.profiles.emplace_back();
  if (c.profiles.size() == 1 && c.profiles[0].name.empty()) c.profiles[0].name = "koord-descheduler";
  for (std::size_t i = 0; i < c.profiles.size(); ++i)
    KOORD_CHECK(complete(c.profiles[i], fmt::format(".profiles[{}]", i), table));
  runtime::set_defaults(c.leader_election, "koordinator-system", "koord-descheduler");
  if (c.client_connection.content_type.empty())
    c.client_connection.accept_content_types = "application/vnd.kubernetes.protobuf,application/json";
  runtime::set_defaults(c.client_connection);
  if (!c.enable_profiling) c.enable_profiling = true;
  if (*c.enable_profiling && !c.enable_contention_profiling) c.enable_contention_profiling = true;
  complete_address(c.healthz_bind_address);
  complete_address(c.metrics_bind_address);
  return {};
}

}  // namespace koord::descheduler
