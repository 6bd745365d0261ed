// ElasticQuotaArgs: their rows, and what is wrong with them in Koordinator's words.
#include "scheduling/plugins/elastic_quota/args.hpp"

#include <fmt/format.h>

#include "koord/api/schema/table.hpp"
#include "koord/api/values/quantity.hpp"

namespace koord::scheduling {

namespace elastic_quota {

namespace {

// A fifth of the largest number, so that sums do not overflow.
constexpr std::string_view kNoLimit = R"({"cpu":"1844674407370955161","memory":"1844674407370955161"})";

/// The first that is wrong; empty: nothing.
std::string wrong(const ElasticQuotaArgs& args) {
  for (const auto& [name, list] : {std::pair("defaultQuotaGroupMax", &args.default_quota_group_max),
                                   std::pair("systemQuotaGroupMax", &args.system_quota_group_max)})
    for (const auto& [resource, quantity] : *list)
      if (quantity.sign() < 0)
        return fmt::format("{} should be a positive value, resourceName:{}, got {}", name, resource.view(),
                           quantity.to_string());
  if (args.delay_evict_time->value.count() < 0) return "DelayEvictTime should be a positive value";
  if (args.revoke_pod_interval->value.count() < 0) return "RevokePodCycle should be a positive value";
  if (!args.hook_plugins.empty()) {
    const HookPluginConf& hook = args.hook_plugins.front();
    return fmt::format("failed to initialize hook plugin {}: factory {} not found", hook.key,
                       hook.factory_key);
  }
  return {};
}

}  // namespace

void ElasticQuotaArgs::validate(const std::string&, FieldErrors& errors) const {
  if (const std::string why = wrong(*this); !why.empty())
    errors.add(fmt::format("elasticQuotaArgs error, {}", why));
}

KOORD_SCHEMA(HookPluginConf, ROW(key), ROW(factory_key), ROW(factory_args));
KOORD_OBJECT(
    ElasticQuotaArgs, args_kind("ElasticQuotaArgs"),
    ROW(delay_evict_time)
        .default_json(R"("2m0s")")
        .doc("A quota may use more than it has for so long before pods are evicted."),
    ROW(revoke_pod_interval).default_json(R"("1s")").doc("How often that is looked at."),
    ROW(default_quota_group_max).default_json(kNoLimit), ROW(system_quota_group_max).default_json(kNoLimit),
    ROW(quota_group_namespace)
        .default_json(R"("koordinator-system")")
        .doc("Where the quotas lie that are there by themselves."),
    ROW(monitor_all_quotas)
        .default_json("false")
        .doc("Pods are evicted from quotas that use more than they may, where that is enabled "
             "(enableRuntimeQuota)."),
    ROW(enable_check_parent_quota).default_json("false").doc("What is above a quota must have room, too."),
    ROW(enable_runtime_quota).default_json("true").doc("false: a quota's max counts, not what it has now."),
    ROW(enable_min_quota_scale).default_json("true").doc("Where all mins are too much, each is made less."),
    ROW(disable_default_quota_preemption)
        .default_json("true")
        .doc("Pods of the default quota are not preempted for one another by this plugin."),
    ROW(enable_queue_hint)
        .default_json("false")
        .doc("Without effect: a pod that its quota refused is always tried only when that has room."),
    ROW(quota_snapshot_update_interval).default_json(R"("2m0s")").doc("Without effect: of hints."),
    ROW(hook_plugins).doc("Must be empty: koord has no hooks."));

}  // namespace elastic_quota

}  // namespace koord::scheduling
