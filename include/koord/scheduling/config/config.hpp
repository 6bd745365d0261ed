// KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1): the structs, their defaults and validation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "koord/api/values/box.hpp"
#include "koord/api/values/raw_json.hpp"
#include "koord/api/values/time.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/runtime/component_config.hpp"
#include "koord/scheduling/config/profile.hpp"
#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling {

struct PluginRef {
  std::string name;
  std::optional<std::int32_t> weight;
  KOORD_STRUCT(PluginRef);
};

struct PluginSet {
  std::vector<PluginRef> enabled;
  std::vector<PluginRef> disabled;  // "*": all
  KOORD_STRUCT(PluginSet);
};

/// The table in extension_point.hpp has a row for each, but multi_point.
struct Plugins {
  PluginSet pre_enqueue, queue_sort, pre_filter, filter, post_filter, pre_score, score, reserve, permit,
      pre_bind, bind, post_bind, multi_point;
  KOORD_STRUCT(Plugins);
};

struct PluginConfig {
  std::string name;
  api::RawJson args;
  Args decoded;  // not on the wire
  KOORD_STRUCT(PluginConfig);
};

struct ProfileConfig {
  std::optional<std::string> scheduler_name;
  std::optional<std::int32_t> percentage_of_nodes_to_score;
  api::Box<Plugins> plugins;
  std::vector<PluginConfig> plugin_config;
  KOORD_STRUCT(ProfileConfig);
};

/// Base64 where kube-scheduler has bytes.
struct ExtenderTlsConfig {
  bool insecure = false;
  std::string server_name, cert_file, key_file, ca_file, cert_data, key_data, ca_data;
  KOORD_STRUCT(ExtenderTlsConfig);
};

struct ExtenderManagedResource {
  std::string name;
  bool ignored_by_scheduler = false;
  KOORD_STRUCT(ExtenderManagedResource);
};

struct Extender {
  std::string url_prefix, filter_verb, preempt_verb, prioritize_verb, bind_verb;
  std::int64_t weight = 0;
  bool enable_https = false;
  api::Box<ExtenderTlsConfig> tls_config;
  api::Duration http_timeout;
  bool node_cache_capable = false;
  std::vector<ExtenderManagedResource> managed_resources;
  bool ignorable = false;
  KOORD_STRUCT(Extender);
};

struct KubeSchedulerConfiguration {
  std::optional<std::int32_t> parallelism;
  runtime::LeaderElectionSettings leader_election;
  runtime::ClientConnection client_connection;
  std::optional<bool> enable_profiling, enable_contention_profiling;
  std::optional<std::int32_t> percentage_of_nodes_to_score;
  std::optional<std::int64_t> pod_initial_backoff_seconds, pod_max_backoff_seconds;
  std::vector<ProfileConfig> profiles;
  std::vector<Extender> extenders;
  bool delay_cache_until_active = false;
  KOORD_STRUCT(KubeSchedulerConfiguration);
};

/// kube-scheduler's own plugins in MultiPoint order with their score weights (0: none), those that koord
/// does not have yet included: a config may name them. They are in the default profile, those with a gate
/// while that is on.
struct UpstreamPlugin {
  std::string_view name;
  std::int32_t weight;
  std::string_view gate = {};
};
std::span<const UpstreamPlugin> upstream_plugins();
/// The names of koord-scheduler's own plugins: a config may name them, too.
std::span<const std::string_view> koordinator_plugins();
bool is_koordinators(std::string_view plugin);
/// What koord-scheduler adds to each profile of a completed configuration: DefaultPreBind at the end of
/// preBind, unless it is there or is disabled.
void append_koordinators_defaults(KubeSchedulerConfiguration& config);

/// What kube-scheduler fills in; the arguments of the plugins in `table` are decoded strictly on the way.
/// A gate that nobody has a row of is off. Errors: Code::invalid, with the path.
Result<> complete(KubeSchedulerConfiguration& config, PluginTable table, const FeatureGates& gates = {});
/// Every mistake in one message, as kube-scheduler words them.
Result<> validate(const KubeSchedulerConfiguration& config, PluginTable table);

/// What koord runs without --config: the profile of Koordinator's own manifests, and its lease.
KubeSchedulerConfiguration own_defaults();

/// The profiles of a completed configuration, ready to run; their plugins are made with `context` and an
/// index each. A row of the table whose gate is off counts as not there; what upstream has and koord does not
/// is left out and named in Profile::missing.
Result<std::vector<Profile>> build_profiles(const KubeSchedulerConfiguration& config, PluginTable table,
                                            PluginContext context, const FeatureGates& gates = {});

}  // namespace koord::scheduling
