// DeschedulerConfiguration: what is wrong with it.
#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <map>
#include <set>

#include "config/config.hpp"
#include "koord/base/text.hpp"

namespace koord::descheduler {

namespace {

using api::FieldErrors;

void validate_address(const std::string& address, std::string_view path, FieldErrors& errors) {
  const auto wrong = [&](std::string_view why) { errors.invalid(path, quote(address), why); };
  const auto parts = split_host_port(address);
  if (!parts)
    return wrong(
        fmt::format("must be a valid socket address (host:port), got error: {}", parts.error().message()));
  const auto& [host, port] = *parts;
  std::array<unsigned char, 16> ignored{};
  // The original would listen at "<nil>" for a name.
  if (!host.empty() && ::inet_pton(AF_INET, host.c_str(), ignored.data()) != 1 &&
      ::inet_pton(AF_INET6, host.c_str(), ignored.data()) != 1)
    return wrong(fmt::format("invalid host {} in socket address", quote(host)));
  if (port.empty()) return wrong("port must not be empty in socket address");
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc{} || end != port.data() + port.size())
    wrong(fmt::format("invalid port {} in socket address", quote(port)));
}

void validate_selector(const api::Box<api::LabelSelector>& selector, std::string_view path,
                       FieldErrors& errors) {
  if (!selector) return;
  if (const auto made = api::Selector::from(&*selector); !made)
    errors.add(fmt::format("{}: {}", path, made.error().message()));
}

/// Those that can stand there, for who wrote another one.
std::string names(PluginTable table, const ExtensionPoint* point) {
  std::string all;
  for (const PluginEntry* row : table)
    if (point == nullptr || point->implemented_by(*row))
      all += fmt::format("{}{}", all.empty() ? "" : ", ", row->name);
  return all.empty() ? "none" : all;
}

void validate_plugins(const Plugins& plugins, const std::string& path, PluginTable table,
                      FieldErrors& errors) {
  for (const ExtensionPoint& point : extension_points()) {
    const std::string at = fmt::format("{}.{}", path, point.name);
    std::set<std::string_view> seen;
    for (const PluginRef& p : (plugins.*point.configured).enabled) {
      const PluginEntry* row = find_plugin(table, p.name);
      if (row == nullptr)
        errors.add(fmt::format("{}: {} {} does not exist; there are: {}", at, point.interface, quote(p.name),
                               names(table, &point)));
      else if (!point.implemented_by(*row))
        errors.add(fmt::format("{}: plugin {} does not extend {} plugin; those that do: {}", at,
                               quote(p.name), point.interface, names(table, &point)));
      if (!seen.insert(p.name).second)
        errors.add(
            fmt::format("{}: plugin {} already registered as {}", at, quote(p.name), quote(point.interface)));
    }
  }
  const std::size_t evicting = plugins.evict.enabled.size();
  if (evicting == 0) errors.add(fmt::format("{}.evict: no evict plugin is enabled", path));
  if (evicting > 1)
    errors.add(fmt::format("{}.evict: only one evict plugin can be enabled; {} is, unless it is disabled",
                           path, plugins.evict.enabled.front().name));
}

bool is_enabled(const Plugins& plugins, std::string_view name) {
  for (const ExtensionPoint& point : extension_points())
    for (const PluginRef& p : (plugins.*point.configured).enabled)
      if (p.name == name) return true;
  return false;
}

void validate_profile(const ProfileConfig& profile, const std::string& path, PluginTable table,
                      FieldErrors& errors) {
  if (profile.name.empty()) errors.required(fmt::format("{}.name", path));
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < profile.plugin_config.size(); ++i) {
    const PluginConfig& entry = profile.plugin_config[i];
    const std::string at = fmt::format("{}.pluginConfig[{}]", path, i);
    if (!seen.insert(entry.name).second) errors.duplicate(at, quote(entry.name));
    const PluginEntry* row = find_plugin(table, entry.name);
    // What is meant for another plugin would be missing there.
    if (row == nullptr)
      errors.add(fmt::format("{}.name: plugin {} does not exist; there are: {}", at, quote(entry.name),
                             names(table, nullptr)));
    // Of plugins that nobody asks the original does not look at what they are told, but of its own evictor.
    else if (row->args != nullptr && entry.decoded &&
             (entry.name == kMigrationControllerName || is_enabled(*profile.plugins, entry.name)))
      row->args->validate(entry.decoded.get(), fmt::format("{}.args", at), errors);
  }
  validate_plugins(*profile.plugins, fmt::format("{}.plugins", path), table, errors);
  validate_selector(profile.node_selector, fmt::format("{}.nodeSelector", path), errors);
}

/// Of a plugin that works for the whole cluster two would work on the same objects.
void validate_plugins_of_one_profile(const std::vector<ProfileConfig>& profiles, PluginTable table,
                                     FieldErrors& errors) {
  for (const PluginEntry* row : table) {
    if (!row->once) continue;
    const ProfileConfig* first = nullptr;
    for (std::size_t i = 0; i < profiles.size(); ++i) {
      if (!is_enabled(*profiles[i].plugins, row->name)) continue;
      if (first != nullptr)
        errors.add(fmt::format(
            "profiles[{}].plugins: plugin {} is enabled in profile {}, and one profile alone may have it", i,
            quote(row->name), quote(first->name)));
      else
        first = &profiles[i];
    }
  }
}

}  // namespace

Result<> validate(const DeschedulerConfiguration& c, PluginTable table) {
  FieldErrors errors;
  runtime::validate(c.client_connection, "clientConnection", errors);
  runtime::validate(c.leader_election, "leaderElection", errors);
  std::map<std::string_view, std::size_t> names;
  for (std::size_t i = 0; i < c.profiles.size(); ++i) {
    const std::string path = fmt::format("profiles[{}]", i);
    validate_profile(c.profiles[i], path, table, errors);
    const auto [it, added] = names.try_emplace(c.profiles[i].name, i);
    if (!added) errors.duplicate(fmt::format("{}.name", path), fmt::format("profiles[{}].name", it->second));
  }
  validate_plugins_of_one_profile(c.profiles, table, errors);
  validate_address(*c.healthz_bind_address, "healthzBindAddress", errors);
  validate_address(*c.metrics_bind_address, "metricsBindAddress", errors);
  validate_selector(c.node_selector, "nodeSelector", errors);
  if (c.descheduling_interval.value < nanoseconds::zero())
    errors.invalid("deschedulingInterval", quote(c.descheduling_interval.to_string()),
                   "must be non-negative");
  const auto limit = [&](std::string_view path, const std::optional<std::int64_t>& most) {
    if (most && *most < 0) errors.invalid(path, fmt::format("{}", *most), "must be non-negative");
  };
  limit("maxNoOfPodsToEvictPerNode", c.max_no_of_pods_to_evict_per_node);
  limit("maxNoOfPodsToEvictPerNamespace", c.max_no_of_pods_to_evict_per_namespace);
  limit("maxNoOfPodsToEvictTotal", c.max_no_of_pods_to_evict_total);
  if (errors.empty()) return {};
  return Error(Code::invalid, errors.text());
}

}  // namespace koord::descheduler
