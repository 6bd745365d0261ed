// KubeSchedulerConfiguration: what is filled in where the file says nothing.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>

#include "koord/api/koordinator/classes.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/scheduling/config/config.hpp"
#include "koord/scheduling/config/extension_point.hpp"
#include "koord/scheduling/config/kube_gates.hpp"
#include "koord/scheduling/config/plugin_sets.hpp"

namespace koord::scheduling {

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
    {"GangScheduling", 0, kPlacesGangs},
};

// Those that Koordinator adds, whose plugins come with later versions of koord.
constexpr std::string_view kKoordinator[] = {
    "SchedulingHint",   "LoadAwareScheduling",
    "NodeNUMAResource", "Reservation",
    "ElasticQuota",     "Coscheduling",
    "DeviceShare",      "NodeResourcesFitPlus",
    "DefaultPreBind",   "ScarceResourceAvoidance",
};

std::set<std::string> enabled_plugins(const Plugins& plugins) {
  std::set<std::string> names;
  const auto add = [&](const PluginSet& set) {
    for (const PluginRef& p : set.enabled) names.insert(p.name);
  };
  add(plugins.multi_point);
  for (const ExtensionPoint& point : extension_points()) add(plugins.*point.configured);
  return names;
}

Result<> complete_profile(ProfileConfig& profile, const std::string& path, PluginTable table,
                          const FeatureGates& gates) {
  Plugins defaults;
  for (const UpstreamPlugin& p : kUpstream) {
    if (!p.gate.empty() && !(gates.known(p.gate) && gates.enabled(p.gate))) continue;
    PluginRef ref{std::string(p.name), {}};
    if (p.weight != 0) ref.weight = p.weight;
    defaults.multi_point.enabled.push_back(std::move(ref));
  }
  if (profile.plugins) {
    auto merge_set = [&](PluginSet Plugins::*set) {
      defaults.*set = merge_plugins(defaults.*set, (*profile.plugins).*set);
      for (const PluginRef& p : ((*profile.plugins).*set).disabled)
        (defaults.*set).disabled.push_back({p.name, {}});
    };
    merge_set(&Plugins::multi_point);
    for (const ExtensionPoint& point : extension_points()) merge_set(point.configured);
  }
  profile.plugins = std::move(defaults);

  const auto type_of = [&](const std::string& name) {
    const PluginEntry* row = find_plugin(table, name);
    return row != nullptr ? row->args : nullptr;
  };
  return complete_plugin_config(profile.plugin_config, enabled_plugins(*profile.plugins), path, type_of,
                                [](const ArgsType& type, const PluginConfig& entry, void* args) {
                                  return api::decode_strict(entry.args.text, type.schema(), args);
                                });
}

}  // namespace

std::span<const UpstreamPlugin> upstream_plugins() { return kUpstream; }
std::span<const std::string_view> koordinator_plugins() { return kKoordinator; }

bool is_koordinators(std::string_view plugin) {
  return std::find(std::begin(kKoordinator), std::end(kKoordinator), plugin) != std::end(kKoordinator);
}

void append_koordinators_defaults(KubeSchedulerConfiguration& config) {
  constexpr std::string_view kName = "DefaultPreBind";
  for (ProfileConfig& profile : config.profiles) {
    if (!profile.plugins) continue;
    PluginSet& set = profile.plugins->pre_bind;
    const auto is = [&](const PluginRef& p) { return p.name == kName; };
    const auto off = [&](const PluginRef& p) { return p.name == "*" || p.name == kName; };
    if (std::any_of(set.enabled.begin(), set.enabled.end(), is)) continue;
    if (std::any_of(set.disabled.begin(), set.disabled.end(), off)) continue;
    set.enabled.push_back({std::string(kName), {}});
  }
}

Result<> complete(KubeSchedulerConfiguration& c, PluginTable table, const FeatureGates& gates) {
  if (!c.parallelism) c.parallelism = 16;
  for (Extender& e : c.extenders)
    if (e.http_timeout.value == nanoseconds::zero()) e.http_timeout.value = std::chrono::seconds(5);
  if (c.profiles.empty()) c.profiles.emplace_back();
  if (c.profiles.size() == 1 && !c.profiles[0].scheduler_name)
    c.profiles[0].scheduler_name = "default-scheduler";
  for (std::size_t i = 0; i < c.profiles.size(); ++i)
    KOORD_CHECK(complete_profile(c.profiles[i], fmt::format(".profiles[{}]", i), table, gates));
  if (!c.percentage_of_nodes_to_score) c.percentage_of_nodes_to_score = 0;

  runtime::set_defaults(c.leader_election, "kube-system", "kube-scheduler");
  runtime::set_defaults(c.client_connection);
  if (!c.pod_initial_backoff_seconds) c.pod_initial_backoff_seconds = 1;
  if (!c.pod_max_backoff_seconds) c.pod_max_backoff_seconds = 10;
  if (!c.enable_profiling) c.enable_profiling = true;
  if (*c.enable_profiling && !c.enable_contention_profiling) c.enable_contention_profiling = true;
  return {};
}

KubeSchedulerConfiguration own_defaults() {
  // What is not said here is kube-scheduler's default, or the plugin's.
  struct Point {
    PluginSet Plugins::*set;
    bool alone;  // without kube-scheduler's own
    std::vector<PluginRef> enabled;
  };
  const Point points[] = {
      {&Plugins::pre_enqueue, false, {{"Coscheduling", {}}}},
      {&Plugins::queue_sort, true, {{"PrioritySort", {}}}},
      {&Plugins::pre_filter,
       false,
       {{"SchedulingHint", {}},
        {"Reservation", {}},
        {"NodeNUMAResource", {}},
        {"DeviceShare", {}},
        {"Coscheduling", {}},
        {"ElasticQuota", {}}}},
      {&Plugins::filter,
       false,
       {{"LoadAwareScheduling", {}}, {"NodeNUMAResource", {}}, {"DeviceShare", {}}, {"Reservation", {}}}},
      {&Plugins::post_filter,
       true,
       {{"Reservation", {}}, {"Coscheduling", {}}, {"ElasticQuota", {}}, {"DefaultPreemption", {}}}},
      {&Plugins::pre_score, false, {{"Reservation", {}}, {"Coscheduling", {}}}},
      {&Plugins::score,
       false,
       {{"LoadAwareScheduling", 1},
        {"NodeNUMAResource", 1},
        {"DeviceShare", 1},
        {"Reservation", 5000},
        {"Coscheduling", 1}}},
      {&Plugins::reserve,
       false,
       {{"LoadAwareScheduling", {}},
        {"NodeNUMAResource", {}},
        {"DeviceShare", {}},
        {"Reservation", {}},
        {"Coscheduling", {}},
        {"ElasticQuota", {}}}},
      {&Plugins::permit, false, {{"Coscheduling", {}}}},
      {&Plugins::pre_bind,
       false,
       {{"NodeNUMAResource", {}},
        {"DeviceShare", {}},
        {"Reservation", {}},
        {"Coscheduling", {}},
        {"DefaultPreBind", {}}}},
      {&Plugins::bind, true, {{"Reservation", {}}, {"DefaultBinder", {}}}},
      {&Plugins::post_bind, false, {{"Coscheduling", {}}}},
  };
  KubeSchedulerConfiguration c;
  ProfileConfig& profile = c.profiles.emplace_back();
  profile.scheduler_name = "koord-scheduler";
  Plugins& plugins = profile.plugins.ensure();
  for (const Point& point : points) {
    PluginSet& set = plugins.*point.set;
    set.enabled = point.enabled;
    if (point.alone) set.disabled.push_back({"*", {}});
  }
  const auto configure = [&](std::string name, std::string args) {
    profile.plugin_config.push_back({std::move(name), api::RawJson{std::move(args)}, nullptr});
  };
  configure(
      "NodeResourcesFit",
      fmt::format(
          R"({{"scoringStrategy":{{"type":"LeastAllocated","resources":[{{"name":"cpu","weight":1}},)"
          R"({{"name":"memory","weight":1}},{{"name":"{}","weight":1}},{{"name":"{}","weight":1}}]}}}})",
          api::kBatchCpu, api::kBatchMemory));
  configure("LoadAwareScheduling",
            R"({"filterExpiredNodeMetrics":false,"nodeMetricExpirationSeconds":300,)"
            R"("resourceWeights":{"cpu":1,"memory":1},"usageThresholds":{"cpu":0,"memory":0},)"
            R"("estimatedScalingFactors":{"cpu":85,"memory":70}})");
  configure("ElasticQuota", R"({"quotaGroupNamespace":"koordinator-system"})");
  c.leader_election.resource_name = "koord-scheduler";
  c.leader_election.resource_namespace = "koordinator-system";
  return c;
}

}  // namespace koord::scheduling
