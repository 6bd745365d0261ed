// MigrationControllerArgs: what the MigrationController is told by the configuration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evictions/evictable.hpp"
#include "evictions/pod_evictions.hpp"
#include "koord/api/types/meta_v1/delete_options.hpp"
#include "koord/api/types/meta_v1/meta.hpp"
#include "koord/api/values/int_or_string.hpp"
#include "koord/scheduling/plugin/args.hpp"
#include "plugins/choice.hpp"

namespace koord::descheduler::migration {

using api::FieldErrors;

/// So many evictions in so long of what is like (the pods of a workload, of a namespace).
struct ObjectLimiter {
  std::optional<api::Duration> duration;
  std::optional<api::IntOrString> max_migrating;
  std::int32_t burst = 0;  // 0: 1
  KOORD_STRUCT(ObjectLimiter);
};

struct ArbitrationArgs {
  std::optional<bool> enabled;
  std::optional<api::Duration> interval;
  KOORD_STRUCT(ArbitrationArgs);
};

struct MigrationControllerArgs {
  bool dry_run = false;
  std::optional<std::int32_t> max_concurrent_reconciles;
  bool evict_failed_bare_pods = false, evict_all_bare_pods = false, evict_local_storage_pods = false;
  bool evict_system_critical_pods = false, ignore_pvc_pods = false;
  api::Box<PriorityThreshold> priority_threshold;
  api::Box<api::LabelSelector> label_selector;
  api::Box<NamespaceChoice> namespaces;
  bool node_fit = false;
  std::string node_selector;
  std::vector<std::string> skip_eviction_gates;
  std::optional<std::int32_t> max_migrating_globally, max_migrating_per_node, max_migrating_per_namespace;
  std::optional<api::IntOrString> max_migrating_per_workload, max_unavailable_per_workload;
  std::optional<bool> skip_check_expected_replicas;
  api::FlatMap<ObjectLimiter> object_limiters;  // by "workload", "namespace"
  std::string default_job_mode;
  std::optional<api::Duration> default_job_ttl;
  bool default_job_paused = false;
  std::vector<std::string> scheduler_names;
  api::RawJson evict_qps;  // a number, or a text that is one
  std::optional<std::int32_t> evict_burst;
  std::string eviction_policy;
  api::Box<api::DeleteOptions> default_delete_options;
  api::Box<ArbitrationArgs> arbitration_args;

  void complete();
  void validate(const std::string& path, FieldErrors& errors) const;
  KOORD_STRUCT(MigrationControllerArgs);

  // What follows from the fields; they have been validated.
  bool skips(std::string_view gate) const;
  double qps() const;  // 0: no number
  nanoseconds arbitration_interval() const;
  EvictionPolicy policy() const;
  /// Without a threshold that is a class's name, see priority_class().
  EvictableRules evictable_rules() const;
  /// Of the class whose value is the threshold; empty: none is needed.
  std::string_view priority_class() const;
};

}  // namespace koord::descheduler::migration
