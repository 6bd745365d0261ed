// slo.koordinator.sh/v1alpha1: NodeSLO, the quality-of-service strategies of a node.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"
#include "koord/api/values/int_or_string.hpp"

namespace koord::api {

struct CpuQos {
  std::optional<int64_t> group_identity;
  std::optional<int64_t> sched_idle;
  std::optional<bool> core_expeller;
  KOORD_STRUCT(CpuQos);
};

struct CpuQosConfig {
  std::optional<bool> enable;
  CpuQos qos;  // inlined on the wire
  KOORD_STRUCT(CpuQosConfig);
};

struct MemoryQos {
  std::optional<int64_t> min_limit_percent;
  std::optional<int64_t> low_limit_percent;
  std::optional<int64_t> throttling_percent;
  std::optional<int64_t> wmark_ratio;
  std::optional<int64_t> wmark_scale_permill;
  std::optional<int64_t> wmark_min_adj;
  std::optional<int64_t> priority_enable;
  std::optional<int64_t> priority;
  std::optional<int64_t> oom_kill_group;
  std::optional<bool> page_cache_enable;
  std::optional<int64_t> page_cache_limit_percent;
  std::optional<int64_t> page_cache_limit_size;
  std::optional<bool> page_cache_reclaim_sync;
  KOORD_STRUCT(MemoryQos);
};

struct MemoryQosConfig {
  std::optional<bool> enable;
  MemoryQos qos;  // inlined on the wire
  KOORD_STRUCT(MemoryQosConfig);
};

struct IoConfig {
  std::optional<int64_t> read_iops;
  std::optional<int64_t> write_iops;
  std::optional<int64_t> read_bps;
  std::optional<int64_t> write_bps;
  std::optional<int64_t> io_weight_percent;
  std::optional<int64_t> read_latency;
  std::optional<int64_t> write_latency;
  std::optional<int64_t> read_latency_percent;
  std::optional<int64_t> write_latency_percent;
  std::optional<bool> enable_user_model;
  std::optional<int64_t> model_read_bps;
  std::optional<int64_t> model_write_bps;
  std::optional<int64_t> model_read_seq_iops;
  std::optional<int64_t> model_write_seq_iops;
  std::optional<int64_t> model_read_rand_iops;
  std::optional<int64_t> model_write_rand_iops;
  KOORD_STRUCT(IoConfig);
};

struct BlockConfig {
  std::string name;
  Symbol type;  // device, volumegroup, podvolume
  IoConfig io_cfg;
  KOORD_STRUCT(BlockConfig);
};

struct BlkioQosConfig {
  std::optional<bool> enable;
  std::vector<BlockConfig> blocks;
  KOORD_STRUCT(BlkioQosConfig);
};

struct ResctrlQosConfig {
  std::optional<bool> enable;
  std::optional<int64_t> cat_range_start_percent;
  std::optional<int64_t> cat_range_end_percent;
  std::optional<int64_t> mba_percent;
  KOORD_STRUCT(ResctrlQosConfig);
};

/// Numbers are percent of the total bandwidth, texts are bits per second.
struct NetworkQosConfig {
  std::optional<bool> enable;
  std::optional<IntOrString> ingress_request;
  std::optional<IntOrString> ingress_limit;
  std::optional<IntOrString> egress_request;
  std::optional<IntOrString> egress_limit;
  KOORD_STRUCT(NetworkQosConfig);
};

struct ResourceQos {
  Box<CpuQosConfig> cpu_qos;
  Box<MemoryQosConfig> memory_qos;
  Box<BlkioQosConfig> blkio_qos;
  Box<ResctrlQosConfig> resctrl_qos;
  Box<NetworkQosConfig> network_qos;
  KOORD_STRUCT(ResourceQos);
};

struct ResourceQosPolicies {
  Symbol cpu_policy;      // groupIdentity, coreSched
  Symbol net_qos_policy;  // tc, terway-qos
  KOORD_STRUCT(ResourceQosPolicies);
};

struct ResourceQosStrategy {
  Box<ResourceQosPolicies> policies;
  Box<ResourceQos> lsr_class;
  Box<ResourceQos> ls_class;
  Box<ResourceQos> be_class;
  Box<ResourceQos> system_class;
  Box<ResourceQos> cgroup_root;
  KOORD_STRUCT(ResourceQosStrategy);
};

struct ResourceThresholdStrategy {
  std::optional<bool> enable;
  std::optional<int64_t> cpu_suppress_threshold_percent;
  std::optional<int64_t> cpu_suppress_min_percent;
  Symbol cpu_suppress_policy;  // cpuset, cfsQuota
  std::optional<int64_t> memory_evict_threshold_percent;
  std::optional<int64_t> memory_evict_lower_percent;
  std::optional<int64_t> memory_allocatable_evict_threshold_percent;
  std::optional<int64_t> memory_allocatable_evict_lower_percent;
  std::optional<int64_t> cpu_evict_be_satisfaction_upper_percent;
  std::optional<int64_t> cpu_evict_be_satisfaction_lower_percent;
  std::optional<int64_t> cpu_evict_be_usage_threshold_percent;
  std::optional<int64_t> cpu_evict_time_window_seconds;
  std::optional<int64_t> cpu_evict_threshold_percent;
  std::optional<int64_t> cpu_evict_lower_percent;
  std::optional<int64_t> cpu_allocatable_evict_threshold_percent;
  std::optional<int64_t> cpu_allocatable_evict_lower_percent;
  Symbol cpu_evict_policy;  // evictByRealLimit, evictByAllocatable
  std::optional<int32_t> evict_enabled_priority_threshold;
  std::optional<int32_t> allocatable_evict_priority_threshold;
  KOORD_STRUCT(ResourceThresholdStrategy);
};

struct CpuBurstStrategy {
  Symbol policy;  // none, cpuBurstOnly, cfsQuotaBurstOnly, auto
  std::optional<int64_t> cpu_burst_percent;
  std::optional<int64_t> cfs_quota_burst_percent;
  std::optional<int64_t> cfs_quota_burst_period_seconds;
  std::optional<int64_t> share_pool_threshold_percent;
  KOORD_STRUCT(CpuBurstStrategy);
};

struct SystemStrategy {
  std::optional<int64_t> min_free_kbytes_factor;
  std::optional<int64_t> watermark_scale_factor;
  std::optional<int64_t> memcg_reap_back_ground;
  std::optional<int64_t> sched_group_identity_enabled;
  std::optional<int64_t> sched_idle_saver_wmark;
  FlatMap<bool> sched_features;
  std::optional<int64_t> page_cache_limit_enabled;
  Quantity total_network_bandwidth;  // Mbps; always written
  KOORD_STRUCT(SystemStrategy);
};

struct CgroupPath {
  Symbol base;  // CgroupRoot, Kubepods, KubepodsBurstable, KubepodsBesteffort
  std::string parent_dir;
  std::string relative_path;
  KOORD_STRUCT(CgroupPath);
};

struct HostApplicationStrategy {
  KOORD_STRUCT(HostApplicationStrategy);
};

struct HostApplicationSpec {
  std::string name;
  Symbol priority;
  Symbol qos;
  Box<CgroupPath> cgroup_path;
  Box<HostApplicationStrategy> strategy;
  KOORD_STRUCT(HostApplicationSpec);
};

struct NodeSloSpec {
  Box<ResourceThresholdStrategy> resource_used_threshold_with_be;
  Box<ResourceQosStrategy> resource_qos_strategy;
  Box<CpuBurstStrategy> cpu_burst_strategy;
  Box<SystemStrategy> system_strategy;
  RawJson extensions;
  std::vector<HostApplicationSpec> host_applications;
  KOORD_STRUCT(NodeSloSpec);
};

struct NodeSloStatus {
  KOORD_STRUCT(NodeSloStatus);
};

struct NodeSlo {
  ObjectMeta metadata;
  NodeSloSpec spec;
  NodeSloStatus status;
  KOORD_STRUCT(NodeSlo);
};

}  // namespace koord::api
