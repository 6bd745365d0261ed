// MigrationControllerArgs: see args.hpp.
#include "migration/args.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "framework/plugin_table.hpp"
#include "koord/api/rules/selector.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/base/parse_float.hpp"
#include "koord/base/text.hpp"
#include "koord/json/value.hpp"

namespace koord::descheduler::migration {

namespace {

constexpr std::string_view kGates[] = {"MaxUnavailablePerWorkload",
                                       "MaxMigratingPerWorkload",
                                       "MaxMigratingPerNode",
                                       "MaxMigratingPerNamespace",
                                       "MaxMigratingGlobally",
                                       "ExpectedReplicas",
                                       "PVC",
                                       "BarePods",
                                       "LocalStorage",
                                       "SystemCritical",
                                       "PriorityThreshold",
                                       "LabelSelector",
                                       "Namespaces",
                                       "NodeFit"};

void check_limit(const std::optional<std::int32_t>& limit, std::string_view name, const std::string& path,
                 FieldErrors& errors) {
  if (limit && *limit < 0)
    errors.invalid(path, std::to_string(*limit), fmt::format("{} should be greater or equal 0", name));
}

void check_share(const std::optional<api::IntOrString>& share, std::string_view name, const std::string& path,
                 FieldErrors& errors) {
  if (!share) return;
  if (const auto scaled = share->scaled(100, true); !scaled)
    errors.invalid(path, quote(share->to_string()),
                   fmt::format("{} is invalid, err: {} ", name, scaled.error().message()));
}

}  // namespace

void MigrationControllerArgs::complete() {
  if (object_limiters.empty()) object_limiters["workload"].duration = api::Duration(std::chrono::minutes(5));
  if (!arbitration_args) arbitration_args.ensure().enabled = true;
  if (!arbitration_args->interval) arbitration_args->interval = api::Duration(std::chrono::milliseconds(500));
}

void MigrationControllerArgs::validate(const std::string& path, FieldErrors& errors) const {
  const auto at = [&](std::string_view field) {
    return path.empty() ? std::string(field) : fmt::format("{}.{}", path, field);
  };
  for (std::size_t i = 0; i < skip_eviction_gates.size(); ++i)
    if (std::ranges::find(kGates, skip_eviction_gates[i]) == std::end(kGates))
      errors.invalid(fmt::format("{}[{}]", at("skipEvictionGates"), i), quote(skip_eviction_gates[i]),
                     "unknown eviction gate");
  check_limit(max_migrating_globally, "maxMigratingGlobally", at("maxMigratingGlobally"), errors);
  check_limit(max_migrating_per_namespace, "maxMigratingPerNamespace", at("maxMigratingPerNamespace"),
              errors);
  check_limit(max_migrating_per_node, "maxMigratingPerNode", at("maxMigratingPerNode"), errors);
  check_share(max_migrating_per_workload, "maxMigratingPerWorkload", at("maxMigratingPerWorkload"), errors);
  check_share(max_unavailable_per_workload, "maxUnavailablePerWorkload", at("maxUnavailablePerWorkload"),
              errors);
  // Infinity and what is no number are refused, too: a limit that does not limit is none.
  if (!(qps() > 0 && qps() < 1e9))
    errors.invalid(at("evictQPS"), evict_qps.text.empty() ? "null" : evict_qps.text,
                   "evictQPS must be greater than 0");
  if (evict_burst && *evict_burst <= 0)
    errors.invalid(at("evictBurst"), std::to_string(*evict_burst), "evictBurst must be greater than 0");
  if (label_selector) {
    if (const auto selector = api::Selector::from(&*label_selector); !selector)
      errors.invalid(at("labelSelector"), "{}", selector.error().message());
  }
  if (namespaces && !namespaces->include.empty() && !namespaces->exclude.empty())
    errors.invalid(at("namespaces"), api::encode(*namespaces),
                   "only one of Include/Exclude namespaces can be set");
  if (max_concurrent_reconciles && *max_concurrent_reconciles < 1)
    errors.invalid(at("maxConcurrentReconciles"), std::to_string(*max_concurrent_reconciles),
                   "maxConcurrentReconciles should be greater than or equal to 1");
  if (default_job_mode != "ReservationFirst" && default_job_mode != "EvictDirectly")
    errors.invalid(at("defaultJobMode"), quote(default_job_mode),
                   "defaultJobMode must be ReservationFirst or EvictDirectly");
  if (default_job_ttl && default_job_ttl->value.count() < 0)
    errors.invalid(at("defaultJobTTL"), quote(default_job_ttl->to_string()),
                   "defaultJobTTL should be positive or zero");
  // These the original finds when the controller is made, or never.
  if (!descheduler::eviction_policy(eviction_policy))
    errors.invalid(at("evictionPolicy"), quote(eviction_policy), "unsupported evicition policy");
  if (const auto selector = api::Selector::parse(node_selector); !selector)
    errors.invalid(at("nodeSelector"), quote(node_selector), selector.error().message());
  if (arbitration_args && arbitration_args->interval && arbitration_args->interval->value.count() <= 0)
    errors.invalid(at("arbitrationArgs.interval"), quote(arbitration_args->interval->to_string()),
                   "interval should be positive");
  for (const auto& [name, limiter] : object_limiters) {
    const std::string here = fmt::format("{}[{}]", at("objectLimiters"), name.view());
    if (limiter.duration && limiter.duration->value.count() < 0)
      errors.invalid(fmt::format("{}.duration", here), quote(limiter.duration->to_string()),
                     "duration should be positive or zero");
    check_share(limiter.max_migrating, "maxMigrating", fmt::format("{}.maxMigrating", here), errors);
  }
}

bool MigrationControllerArgs::skips(std::string_view gate) const {
  return std::ranges::find(skip_eviction_gates, gate) != skip_eviction_gates.end();
}

double MigrationControllerArgs::qps() const {
  if (evict_qps.text.empty()) return 0;
  const auto value = json::parse(evict_qps.text);
  if (!value) return 0;
  if (value->is_string()) return parse_float(value->text()).value_or(0);
  return value->to_double().value_or(0);
}

nanoseconds MigrationControllerArgs::arbitration_interval() const {
  return arbitration_args && arbitration_args->interval ? arbitration_args->interval->value
                                                        : nanoseconds(std::chrono::milliseconds(500));
}

EvictionPolicy MigrationControllerArgs::policy() const {
  return descheduler::eviction_policy(eviction_policy).value_or(EvictionPolicy::eviction);
}

EvictableRules MigrationControllerArgs::evictable_rules() const {
  const bool all_bare = skips("BarePods");
  EvictableRules rules{.failed_bare_pods = evict_failed_bare_pods || all_bare,
                       .all_bare_pods = evict_all_bare_pods || all_bare,
                       .local_storage = evict_local_storage_pods || skips("LocalStorage"),
                       .system_critical = evict_system_critical_pods || skips("SystemCritical"),
                       .priority_threshold = {},
                       .ignore_pvc_pods = ignore_pvc_pods && !skips("PVC"),
                       .label_selector = {}};
  if (priority_threshold && !skips("PriorityThreshold")) rules.priority_threshold = priority_threshold->value;
  if (label_selector && !skips("LabelSelector")) {
    auto selector = api::Selector::from(&*label_selector);
    // One that cannot be read is refused before; should it get here, nothing may go.
    rules.label_selector = selector ? std::move(*selector) : api::Selector::nothing();
  }
  return rules;
}

std::string_view MigrationControllerArgs::priority_class() const {
  if (!priority_threshold || priority_threshold->value || skips("PriorityThreshold") ||
      evict_system_critical_pods || skips("SystemCritical"))
    return {};
  return priority_threshold->name;
}

KOORD_SCHEMA(ObjectLimiter,
             ROW(duration).doc("The time in which so many may be evicted; absent or 0: no limit."),
             ROW(max_migrating)
                 .doc("How many; of a workload a share of its replicas, too. Absent: a workload's "
                      "maxMigratingPerWorkload."),
             ROW(burst).doc("How many at once; 1 where 0."));
KOORD_SCHEMA(ArbitrationArgs, ROW(enabled).doc("Whatever it says, jobs are arbitrated."),
             ROW(interval)
                 .default_json("\"500ms\"")
                 .doc("After so long jobs that wait are looked at again, "
                      "if nothing has made them be looked at before."));
KOORD_OBJECT(
    MigrationControllerArgs, descheduler_kind("MigrationControllerArgs"),
    ROW(dry_run).doc("No job is made; evictions are logged."),
    ROW(max_concurrent_reconciles).default_json("1").doc("Jobs that are worked on at a time."),
    ROW(evict_failed_bare_pods).doc("Pods without an owner may go if they have failed.").always(),
    ROW(evict_all_bare_pods).doc("Pods without an owner may go.").always(),
    ROW(evict_local_storage_pods).doc("Pods with emptyDir or hostPath volumes may go.").always(),
    ROW(evict_system_critical_pods).doc("Pods of any priority may go.").always(),
    ROW(ignore_pvc_pods).doc("Pods with persistent volume claims stay.").always(),
    ROW(priority_threshold).doc("Pods of higher priorities stay."),
    ROW(label_selector).doc("Pods that it does not choose stay."),
    ROW(namespaces).doc("Pods of which namespaces may go."),
    ROW(node_fit).doc("Pods that would find no other node stay."),
    ROW(node_selector).doc("A label selector, of the nodes that nodeFit looks at."),
    ROW(skip_eviction_gates).doc("Rules that are not asked, by name."),
    ROW(max_migrating_globally).doc("Pods that migrate at a time; absent or 0: any number."),
    ROW(max_migrating_per_node).default_json("2").doc("The same of a node."),
    ROW(max_migrating_per_namespace).doc("The same of a namespace."),
    ROW(max_migrating_per_workload)
        .doc("The same of a workload, a number or a share of its replicas; absent: a tenth of more than 10, "
             "2 of "
             "4 to 10, else 1."),
    ROW(max_unavailable_per_workload).doc("The same of those that migrate or are not ready."),
    ROW(skip_check_expected_replicas)
        .doc("Pods of a workload of one replica, or of one all of whose replicas may be away, may go, too."),
    ROW(object_limiters)
        .doc("Evictions in a time, of a workload or a namespace; 5m of a workload where none is "
             "given."),
    ROW(default_job_mode)
        .default_json("\"ReservationFirst\"")
        .doc("ReservationFirst or EvictDirectly: of jobs that name none."),
    ROW(default_job_ttl)
        .wire("defaultJobTTL")
        .default_json("\"5m0s\"")
        .doc("Of jobs that are made; 0: they never time out."),
    ROW(default_job_paused)
        .doc("Jobs are made with spec.paused: nothing is done before somebody takes it away, within their "
             "ttl."),
    ROW(scheduler_names)
        .default_json("[\"koord-scheduler\"]")
        .doc("Pods of other schedulers are not migrated with a reservation."),
    ROW(evict_qps)
        .wire("evictQPS")
        .default_json("10")
        .doc("Evictions a second: a number, or a text that is one."),
    ROW(evict_burst).default_json("1").doc("How many of them at once."),
    ROW(eviction_policy).default_json("\"Eviction\"").doc("Eviction, Delete or SoftEviction."),
    ROW(default_delete_options).doc("Of evictions whose job has none."),
    ROW(arbitration_args).doc("When jobs that wait are looked at."));

}  // namespace koord::descheduler::migration
