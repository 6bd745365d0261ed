// ElasticQuotaArgs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "koord/api/types/meta_v1/meta.hpp"
#include "koord/api/values/time.hpp"
#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling::elastic_quota {

struct HookPluginConf {
  std::string key, factory_key, factory_args;
  KOORD_STRUCT(HookPluginConf);
};

struct ElasticQuotaArgs {
  std::optional<api::Duration> delay_evict_time;
  std::optional<api::Duration> revoke_pod_interval;
  api::ResourceList default_quota_group_max;
  api::ResourceList system_quota_group_max;
  std::string quota_group_namespace;
  std::optional<bool> monitor_all_quotas;
  std::optional<bool> enable_check_parent_quota;
  std::optional<bool> enable_runtime_quota;
  std::optional<bool> enable_min_quota_scale;
  std::optional<bool> disable_default_quota_preemption;
  std::optional<bool> enable_queue_hint;
  std::optional<api::Duration> quota_snapshot_update_interval;
  std::vector<HookPluginConf> hook_plugins;

  void validate(const std::string&, FieldErrors& errors) const;
  KOORD_STRUCT(ElasticQuotaArgs);
};

}  // namespace koord::scheduling::elastic_quota
