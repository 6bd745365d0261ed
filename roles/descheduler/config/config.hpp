// DeschedulerConfiguration (descheduler/v1alpha2): the structs, their defaults and validation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/plugin_table.hpp"
#include "koord/api/types/meta_v1/meta.hpp"
#include "koord/api/values/box.hpp"
#include "koord/api/values/raw_json.hpp"
#include "koord/api/values/time.hpp"
#include "koord/runtime/component_config.hpp"

namespace koord::descheduler {

struct PluginRef {
  std::string name;
  KOORD_STRUCT(PluginRef);
};

struct PluginSet {
  std::vector<PluginRef> enabled, disabled;  // "*" under disabled: all
  KOORD_STRUCT(PluginSet);
};

struct Plugins {
  PluginSet deschedule, balance, evict, filter;
  KOORD_STRUCT(Plugins);
};

struct PluginConfig {
  std::string name;
  api::RawJson args;
  Args decoded;  // not on the wire; once completed, of every plugin that takes some
  KOORD_STRUCT(PluginConfig);
};

struct ProfileConfig {
  std::string name;
  std::vector<PluginConfig> plugin_config;
  api::Box<Plugins> plugins;
  api::Box<api::LabelSelector> node_selector;
  KOORD_STRUCT(ProfileConfig);
};

struct DeschedulerConfiguration {
  runtime::LeaderElectionSettings leader_election;
  runtime::ClientConnection client_connection;
  std::optional<bool> enable_profiling, enable_contention_profiling;
  std::optional<std::string> healthz_bind_address, metrics_bind_address;
  api::Duration descheduling_interval;  // zero: one pass
  bool dry_run = false;
  std::vector<ProfileConfig> profiles;
  api::Box<api::LabelSelector> node_selector;
  std::optional<std::int64_t> max_no_of_pods_to_evict_per_node, max_no_of_pods_to_evict_per_namespace,
      max_no_of_pods_to_evict_total;
  KOORD_STRUCT(DeschedulerConfiguration);
};

/// A point where a profile's plugins are asked.
struct ExtensionPoint {
  std::string_view name;       // as in the file: "balance"
  std::string_view interface;  // as koord-descheduler calls it in its messages: "BalancePlugin"
  PluginSet Plugins::*configured;
  bool (*implemented_by)(const PluginEntry& entry);
};
std::span<const ExtensionPoint> extension_points();

/// The plugin that evicts and filters where a profile says nothing else.
inline constexpr std::string_view kMigrationControllerName = "MigrationController";
/// The plain port, of health checks and metrics alike.
inline constexpr std::string_view kDefaultBindAddress = "0.0.0.0:10251";

/// "HOST:PORT" as Go's net.SplitHostPort reads it, with its errors.
Result<std::pair<std::string, std::string>> split_host_port(std::string_view address);

/// What koord-descheduler fills in; plugins' arguments are decoded strictly on the way, and those of enabled
/// plugins that the file does not configure are added. Errors: Code::invalid, with the path.
Result<> complete(DeschedulerConfiguration& config, PluginTable table);
/// Every mistake of a completed one in one message, as koord-descheduler words them.
Result<> validate(const DeschedulerConfiguration& config, PluginTable table);

}  // namespace koord::descheduler
