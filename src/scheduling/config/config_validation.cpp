// KubeSchedulerConfiguration: what is wrong with it.
#include <fmt/format.h>

#include <map>
#include <set>

#include "koord/api/rules/validation_names.hpp"
#include "koord/base/text.hpp"
#include "koord/scheduling/cluster/resources.hpp"
#include "koord/scheduling/config/config.hpp"
#include "koord/scheduling/config/extension_point.hpp"

namespace koord::scheduling {

namespace {

void validate_percentage(const std::optional<std::int32_t>& value, const std::string& path,
                         FieldErrors& errors) {
  if (value && (*value < 0 || *value > 100))
    errors.invalid(path, std::to_string(*value), "not in valid range [0-100]");
}

/// Plugins that v1 does not have any more.
void validate_removed(const PluginSet& set, const std::string& path, FieldErrors& errors) {
  static const std::set<std::string> kRemoved{"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"};
  constexpr std::string_view kWhy =
      "was invalid in version \"kubescheduler.config.k8s.io/v1\" (KubeSchedulerConfiguration is version "
      "\"kubescheduler.config.k8s.io/v1\")";
  for (std::size_t i = 0; i < set.enabled.size(); ++i)
    if (kRemoved.contains(set.enabled[i].name))
      errors.invalid(fmt::format("{}.enabled[{}]", path, i), quote(set.enabled[i].name), kWhy);
}

void validate_profile(const ProfileConfig& p, const std::string& path, PluginTable table,
                      FieldErrors& errors) {
  if (!p.scheduler_name || p.scheduler_name->empty()) errors.required(fmt::format("{}.schedulerName", path));
  validate_percentage(p.percentage_of_nodes_to_score, fmt::format("{}.percentageOfNodesToScore", path),
                      errors);
  if (p.plugins) {
    for (const ExtensionPoint& point : extension_points())
      validate_removed((*p.plugins).*point.configured, fmt::format("{}.plugins.{}", path, point.name()),
                       errors);
  }
  std::set<std::string> seen;
  for (std::size_t i = 0; i < p.plugin_config.size(); ++i) {
    const PluginConfig& entry = p.plugin_config[i];
    std::string at = fmt::format("{}.pluginConfig[{}]", path, i);
    if (!seen.insert(entry.name).second) errors.duplicate(at, quote(entry.name));
    const PluginEntry* row = find_plugin(table, entry.name);
    // Koordinator's are looked at when their plugins are made.
    if (row != nullptr && row->args != nullptr && entry.decoded && !is_koordinators(entry.name))
      row->args->validate(entry.decoded.get(), fmt::format("{}.args", at), errors);
  }
}

void validate_extenders(const std::vector<Extender>& extenders, FieldErrors& errors) {
  std::size_t binders = 0;
  std::set<std::string> managed;
  for (std::size_t i = 0; i < extenders.size(); ++i) {
    const Extender& e = extenders[i];
    const std::string path = fmt::format("extenders[{}]", i);
    if (!e.prioritize_verb.empty() && e.weight <= 0)
      errors.invalid(fmt::format("{}.weight", path), std::to_string(e.weight),
                     "must have a positive weight applied to it");
    binders += !e.bind_verb.empty();
    for (std::size_t j = 0; j < e.managed_resources.size(); ++j) {
      const std::string& name = e.managed_resources[j].name;
      const std::string at = fmt::format("{}.managedResources[{}].name", path, j);
      const api::NameErrors wrong = api::check_qualified_name(name);
      for (const std::string& why : wrong) errors.invalid(at, quote(name), why);
      if (wrong.empty() && !is_extended_resource(name))
        errors.invalid(at, quote(name), "is an invalid extended resource name");
      if (!managed.insert(name).second)
        errors.invalid(at, quote(name), "duplicate extender managed resource name");
    }
  }
  if (binders > 1)
    errors.invalid("extenders", quote(fmt::format("found {} extenders implementing bind", binders)),
                   "only one extender can implement bind");
}

}  // namespace

Result<> validate(const KubeSchedulerConfiguration& c, PluginTable table) {
  FieldErrors errors;
  runtime::validate(c.client_connection, "clientConnection", errors);
  runtime::validate(c.leader_election, "leaderElection", errors);
  if (c.parallelism.value_or(0) <= 0)
    errors.invalid("parallelism", std::to_string(c.parallelism.value_or(0)),
                   "should be an integer value greater than zero");
  std::map<std::string, std::size_t> names;
  for (std::size_t i = 0; i < c.profiles.size(); ++i) {
    const ProfileConfig& p = c.profiles[i];
    std::string path = fmt::format("profiles[{}]", i);
    validate_profile(p, path, table, errors);
    auto [it, added] = names.try_emplace(p.scheduler_name.value_or(""), i);
    if (!added)
      errors.duplicate(fmt::format("{}.schedulerName", path),
                       fmt::format("profiles[{}].schedulerName", it->second));
    if (!p.plugins || !c.profiles[0].plugins) continue;
    const PluginSet& sort = p.plugins->queue_sort;
    if (i == 0 && sort.enabled.size() > 1)
      errors.invalid("profiles[0].plugins.queueSort.Enabled", std::to_string(sort.enabled.size()),
                     "only one queue sort plugin can be enabled");
    if (i > 0 && !(sort == c.profiles[0].plugins->queue_sort))
      errors.invalid(fmt::format("{}.plugins.queueSort", path), "{}", "must be the same for all profiles");
  }
  validate_percentage(c.percentage_of_nodes_to_score, "percentageOfNodesToScore", errors);
  std::int64_t initial = c.pod_initial_backoff_seconds.value_or(0),
               max = c.pod_max_backoff_seconds.value_or(0);
  if (initial <= 0)
    errors.invalid("podInitialBackoffSeconds", std::to_string(initial), "must be greater than 0");
  if (max < initial)
    errors.invalid("podMaxBackoffSeconds", std::to_string(max),
                   "must be greater than or equal to PodInitialBackoffSeconds");
  validate_extenders(c.extenders, errors);
  if (errors.empty()) return {};
  return Error(Code::invalid, errors.text());
}

}  // namespace koord::scheduling
