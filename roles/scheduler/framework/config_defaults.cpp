// KubeSchedulerConfiguration: what is filled in where the file says nothing.
#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "framework/config.hpp"
#include "koord/api/schema/codec.hpp"

namespace koord::scheduler {

namespace {

constexpr UpstreamPlugin kUpstream[] = {
    {"SchedulingGates", 0},
    {"PrioritySort", 0},
    {"NodeUnschedulable", 0},
    {"NodeName", 0},
    {"TaintToleration", 3},
    {"NodeAffinity", 2},
    {"NodePorts", 0},
    {"NodeResourcesFit", 1},
    {"VolumeRestrictions", 0},
    {"NodeVolumeLimits", 0},
    {"VolumeBinding", 0},
    {"VolumeZone", 0},
    {"PodTopologySpread", 2},
    {"InterPodAffinity", 2},
    {"DynamicResources", 2},
    {"DefaultPreemption", 0},
    {"NodeResourcesBalancedAllocation", 1},
    {"ImageLocality", 1},
    {"DefaultBinder", 0},
};

// Those that Koordinator adds, whose plugins come with later versions of koord.
constexpr std::string_view kKoordinator[] = {
    "SchedulingHint",   "LoadAwareScheduling",
    "NodeNUMAResource", "Reservation",
    "ElasticQuota",     "Coscheduling",
    "DeviceShare",      "NodeResourcesFitPlus",
    "DefaultPreBind",   "ScarceResourceAvoidance",
};

constexpr PluginSet Plugins::*kPoints[] = {
    &Plugins::multi_point, &Plugins::pre_enqueue, &Plugins::queue_sort, &Plugins::pre_filter,
    &Plugins::filter,      &Plugins::post_filter, &Plugins::pre_score,  &Plugins::score,
    &Plugins::reserve,     &Plugins::permit,      &Plugins::pre_bind,   &Plugins::bind,
    &Plugins::post_bind,
};

/// The defaults less what is disabled; a default that is enabled again keeps its place with the new weight.
PluginSet merge(const PluginSet& defaults, const PluginSet& custom) {
  std::set<std::string> disabled;
  PluginSet merged;
  for (const PluginRef& p : custom.disabled) {
    disabled.insert(p.name);
    merged.disabled.push_back({p.name, {}});
  }
  // Of several entries of a name the last one replaces the default.
  std::map<std::string, std::size_t> again;
  for (std::size_t i = 0; i < custom.enabled.size(); ++i) again[custom.enabled[i].name] = i;
  std::set<std::size_t> used;
  if (!disabled.contains("*")) {
    for (const PluginRef& p : defaults.enabled) {
      if (disabled.contains(p.name)) continue;
      auto it = again.find(p.name);
      merged.enabled.push_back(it == again.end() ? p : custom.enabled[it->second]);
      if (it != again.end()) used.insert(it->second);
    }
  }
  for (std::size_t i = 0; i < custom.enabled.size(); ++i)
    if (!used.contains(i)) merged.enabled.push_back(custom.enabled[i]);
  return merged;
}

Result<> complete_profile(ProfileConfig& profile, const std::string& path,
                          std::span<const PluginEntry> table) {
  Plugins defaults;
  for (const UpstreamPlugin& p : kUpstream) {
    PluginRef ref{std::string(p.name), {}};
    if (p.weight != 0) ref.weight = p.weight;
    defaults.multi_point.enabled.push_back(std::move(ref));
  }
  if (profile.plugins) {
    for (auto point : kPoints) defaults.*point = merge(defaults.*point, (*profile.plugins).*point);
  }
  profile.plugins = std::move(defaults);

  std::set<std::string> configured;
  for (std::size_t i = 0; i < profile.plugin_config.size(); ++i) {
    PluginConfig& entry = profile.plugin_config[i];
    configured.insert(entry.name);
    auto known = std::find_if(table.begin(), table.end(), [&](auto& e) { return e.name == entry.name; });
    if (known == table.end() || known->args == nullptr) continue;
    std::shared_ptr<void> args = known->args->create();
    if (!entry.args.empty()) {
      auto done = api::decode_strict(entry.args.text, known->args->schema(), args.get());
      if (!done)
        return Error(done.error().code(), path + ".pluginConfig[" + std::to_string(i) + "].args" +
                                              done.error().message() + " (decoding args for plugin " +
                                              entry.name + ")");
    }
    known->args->set_defaults(args.get());
    entry.args.text = api::encode(args.get(), known->args->schema());  // /configz shows the defaults
    entry.decoded = std::move(args);
  }
  for (const PluginEntry& e : table) {
    if (e.args == nullptr || configured.contains(std::string(e.name))) continue;
    std::shared_ptr<void> args = e.args->create();
    e.args->set_defaults(args.get());
    api::RawJson text{api::encode(args.get(), e.args->schema())};
    profile.plugin_config.push_back({std::string(e.name), std::move(text), std::move(args)});
  }
  return {};
}

}  // namespace

std::span<const UpstreamPlugin> upstream_plugins() { return kUpstream; }
std::span<const std::string_view> koordinator_plugins() { return kKoordinator; }

Result<> complete(KubeSchedulerConfiguration& c, std::span<const PluginEntry> table) {
  using std::chrono::seconds;
  if (!c.parallelism) c.parallelism = 16;
  if (c.profiles.empty()) c.profiles.emplace_back();
  if (c.profiles.size() == 1 && !c.profiles[0].scheduler_name)
    c.profiles[0].scheduler_name = "default-scheduler";
  for (std::size_t i = 0; i < c.profiles.size(); ++i)
    KOORD_CHECK(complete_profile(c.profiles[i], ".profiles[" + std::to_string(i) + "]", table));
  if (!c.percentage_of_nodes_to_score) c.percentage_of_nodes_to_score = 0;

  LeaderElectionSettings& e = c.leader_election;
  if (e.resource_lock.empty()) e.resource_lock = "leases";
  if (e.resource_namespace.empty()) e.resource_namespace = "kube-system";
  if (e.resource_name.empty()) e.resource_name = "kube-scheduler";
  if (!e.leader_elect) e.leader_elect = true;
  if (e.lease_duration == api::Duration()) e.lease_duration = api::Duration(seconds(15));
  if (e.renew_deadline == api::Duration()) e.renew_deadline = api::Duration(seconds(10));
  if (e.retry_period == api::Duration()) e.retry_period = api::Duration(seconds(2));

  ClientConnection& client = c.client_connection;
  if (client.content_type.empty()) client.content_type = "application/vnd.kubernetes.protobuf";
  if (client.qps == 0) client.qps = 50;
  if (client.burst == 0) client.burst = 100;
  if (!c.pod_initial_backoff_seconds) c.pod_initial_backoff_seconds = 1;
  if (!c.pod_max_backoff_seconds) c.pod_max_backoff_seconds = 10;
  if (!c.enable_profiling) c.enable_profiling = true;
  if (*c.enable_profiling && !c.enable_contention_profiling) c.enable_contention_profiling = true;
  return {};
}

KubeSchedulerConfiguration own_defaults() {
  KubeSchedulerConfiguration c;
  c.profiles.emplace_back().scheduler_name = "koord-scheduler";
  c.leader_election.resource_name = "koord-scheduler";
  c.leader_election.resource_namespace = "koordinator-system";
  return c;
}

}  // namespace koord::scheduler
