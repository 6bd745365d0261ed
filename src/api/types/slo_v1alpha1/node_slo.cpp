// The schema tables of koord/api/types/slo_v1alpha1/node_slo.hpp: NodeSLO.
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"

#include <cstddef>

namespace koord::api {
namespace {

constexpr Kind kNodeSlo = {.group = "slo.koordinator.sh",
                           .version = "v1alpha1",
                           .kind = "NodeSLO",
                           .plural = "nodeslos",
                           .singular = "nodeslo",
                           .namespaced = false,
                           .custom = true,
                           .has_status = true};

}  // namespace

template <>
const Schema& schema<CpuQos>() {
  using T = CpuQos;
  static constexpr Field kRows[] = {
      KOORD_FIELD(group_identity, "groupIdentity").doc("cpu.bvt_warp_ns, -1 to 2."),
      KOORD_FIELD(sched_idle, "schedIdle").doc("cpu.idle, 0 or 1."),
      KOORD_FIELD(core_expeller, "coreExpeller").doc("Whether pods expel idle ones from their core."),
  };
  static const Schema kSchema("CpuQos", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<CpuQosConfig>() {
  using T = CpuQosConfig;
  static constexpr Field kRows[] = {
      KOORD_FIELD(enable, "enable"),
      KOORD_FIELD(qos, "qos").inlined(),
  };
  static const Schema kSchema("CpuQosConfig", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<MemoryQos>() {
  using T = MemoryQos;
  static constexpr Field kRows[] = {
      KOORD_FIELD(min_limit_percent, "minLimitPercent").min(0).doc("memory.min in percent of the request."),
      KOORD_FIELD(low_limit_percent, "lowLimitPercent").min(0).doc("memory.low in percent of the request."),
      KOORD_FIELD(throttling_percent, "throttlingPercent").min(0).doc("Factor of memory.high."),
      KOORD_FIELD(wmark_ratio, "wmarkRatio").min(0).max(100).doc("memory.wmark_ratio; 0 is off."),
      KOORD_FIELD(wmark_scale_permill, "wmarkScalePermill")
          .min(1)
          .max(1000)
          .doc("memory.wmark_scale_factor."),
      KOORD_FIELD(wmark_min_adj, "wmarkMinAdj").min(-25).max(50).doc("memory.wmark_min_adj."),
      KOORD_FIELD(priority_enable, "priorityEnable"),
      KOORD_FIELD(priority, "priority"),
      KOORD_FIELD(oom_kill_group, "oomKillGroup"),
      KOORD_FIELD(page_cache_enable, "pageCacheEnable"),
      KOORD_FIELD(page_cache_limit_percent, "pageCacheLimitPercent").min(0).max(100),
      KOORD_FIELD(page_cache_limit_size, "pageCacheLimitSize"),
      KOORD_FIELD(page_cache_reclaim_sync, "pageCacheReclaimSync"),
  };
  static const Schema kSchema("MemoryQos", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<MemoryQosConfig>() {
  using T = MemoryQosConfig;
  static constexpr Field kRows[] = {
      KOORD_FIELD(enable, "enable"),
      KOORD_FIELD(qos, "qos").inlined(),
  };
  static const Schema kSchema("MemoryQosConfig", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<IoConfig>() {
  using T = IoConfig;
  static constexpr Field kRows[] = {
      KOORD_FIELD(read_iops, "readIOPS").min(0),
      KOORD_FIELD(write_iops, "writeIOPS").min(0),
      KOORD_FIELD(read_bps, "readBPS").min(0),
      KOORD_FIELD(write_bps, "writeBPS").min(0),
      KOORD_FIELD(io_weight_percent, "ioWeightPercent").min(1).max(100).doc("Weight, 1 to 100; default 100."),
      KOORD_FIELD(read_latency, "readLatency").doc("Latency threshold, microseconds."),
      KOORD_FIELD(write_latency, "writeLatency").doc("Latency threshold, microseconds."),
      KOORD_FIELD(read_latency_percent, "readLatencyPercent").min(0).max(100),
      KOORD_FIELD(write_latency_percent, "writeLatencyPercent").min(0).max(100),
      KOORD_FIELD(enable_user_model, "enableUserModel"),
      KOORD_FIELD(model_read_bps, "modelReadBPS").min(1),
      KOORD_FIELD(model_write_bps, "modelWriteBPS").min(1),
      KOORD_FIELD(model_read_seq_iops, "modelReadSeqIOPS").min(1),
      KOORD_FIELD(model_write_seq_iops, "modelWriteSeqIOPS").min(1),
      KOORD_FIELD(model_read_rand_iops, "modelReadRandIOPS").min(1),
      KOORD_FIELD(model_write_rand_iops, "modelWriteRandIOPS").min(1),
  };
  static const Schema kSchema("IoConfig", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<BlockConfig>() {
  using T = BlockConfig;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name"),
      KOORD_FIELD(type, "type"),
      KOORD_FIELD(io_cfg, "ioCfg"),
  };
  static const Schema kSchema("BlockConfig", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<BlkioQosConfig>() {
  using T = BlkioQosConfig;
  static constexpr Field kRows[] = {
      KOORD_FIELD(enable, "enable"),
      KOORD_FIELD(blocks, "blocks"),
  };
  static const Schema kSchema("BlkioQosConfig", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<ResctrlQosConfig>() {
  using T = ResctrlQosConfig;
  static constexpr Field kRows[] = {
      KOORD_FIELD(enable, "enable"),
      KOORD_FIELD(cat_range_start_percent, "catRangeStartPercent")
          .min(0)
          .max(100)
          .doc("Start of the last-level cache range."),
      KOORD_FIELD(cat_range_end_percent, "catRangeEndPercent")
          .min(0)
          .max(100)
          .doc("End of the last-level cache range."),
      KOORD_FIELD(mba_percent, "mbaPercent").min(0).max(100).doc("Memory bandwidth."),
  };
  static const Schema kSchema("ResctrlQosConfig", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<NetworkQosConfig>() {
  using T = NetworkQosConfig;
  static constexpr Field kRows[] = {
      KOORD_FIELD(enable, "enable"),
      KOORD_FIELD(ingress_request, "ingressRequest").default_json("0"),
      KOORD_FIELD(ingress_limit, "ingressLimit").default_json("100"),
      KOORD_FIELD(egress_request, "egressRequest").default_json("0"),
      KOORD_FIELD(egress_limit, "egressLimit").default_json("100"),
  };
  static const Schema kSchema("NetworkQosConfig", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<ResourceQos>() {
  using T = ResourceQos;
  static constexpr Field kRows[] = {
      KOORD_FIELD(cpu_qos, "cpuQOS"),         KOORD_FIELD(memory_qos, "memoryQOS"),
      KOORD_FIELD(blkio_qos, "blkioQOS"),     KOORD_FIELD(resctrl_qos, "resctrlQOS"),
      KOORD_FIELD(network_qos, "networkQOS"),
  };
  static const Schema kSchema("ResourceQos", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<ResourceQosPolicies>() {
  using T = ResourceQosPolicies;
  static constexpr Field kRows[] = {
      KOORD_FIELD(cpu_policy, "cpuPolicy"),
      KOORD_FIELD(net_qos_policy, "netQOSPolicy"),
  };
  static const Schema kSchema("ResourceQosPolicies", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<ResourceQosStrategy>() {
  using T = ResourceQosStrategy;
  static constexpr Field kRows[] = {
      KOORD_FIELD(policies, "policies"),        KOORD_FIELD(lsr_class, "lsrClass"),
      KOORD_FIELD(ls_class, "lsClass"),         KOORD_FIELD(be_class, "beClass"),
      KOORD_FIELD(system_class, "systemClass"), KOORD_FIELD(cgroup_root, "cgroupRoot"),
  };
  static const Schema kSchema("ResourceQosStrategy", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<ResourceThresholdStrategy>() {
  using T = ResourceThresholdStrategy;
  static constexpr Field kRows[] = {
      KOORD_FIELD(enable, "enable").doc("Whether the strategy is on; default false."),
      KOORD_FIELD(cpu_suppress_threshold_percent, "cpuSuppressThresholdPercent")
          .min(0)
          .max(100)
          .doc("Node CPU usage above which BE pods are suppressed; default 65."),
      KOORD_FIELD(cpu_suppress_min_percent, "cpuSuppressMinPercent")
          .min(0)
          .max(100)
          .doc("What BE pods keep at least."),
      KOORD_FIELD(cpu_suppress_policy, "cpuSuppressPolicy").doc("cpuset or cfsQuota."),
      KOORD_FIELD(memory_evict_threshold_percent, "memoryEvictThresholdPercent")
          .min(0)
          .max(100)
          .doc("Node memory usage above which BE pods are evicted; default 70."),
      KOORD_FIELD(memory_evict_lower_percent, "memoryEvictLowerPercent")
          .min(0)
          .max(100)
          .doc("Usage at which evictions stop; default threshold - 2."),
      KOORD_FIELD(memory_allocatable_evict_threshold_percent, "memoryAllocatableEvictThresholdPercent")
          .min(0),
      KOORD_FIELD(memory_allocatable_evict_lower_percent, "memoryAllocatableEvictLowerPercent").min(0),
      KOORD_FIELD(cpu_evict_be_satisfaction_upper_percent, "cpuEvictBESatisfactionUpperPercent")
          .doc("Satisfaction (real limit / request) at which evictions stop."),
      KOORD_FIELD(cpu_evict_be_satisfaction_lower_percent, "cpuEvictBESatisfactionLowerPercent")
          .doc("Satisfaction below which BE pods are evicted."),
      KOORD_FIELD(cpu_evict_be_usage_threshold_percent, "cpuEvictBEUsageThresholdPercent")
          .doc("BE CPU usage (used / real limit) above which satisfaction counts."),
      KOORD_FIELD(cpu_evict_time_window_seconds, "cpuEvictTimeWindowSeconds")
          .doc("Window of the CPU usage averages, seconds."),
      KOORD_FIELD(cpu_evict_threshold_percent, "cpuEvictThresholdPercent").min(0).max(100),
      KOORD_FIELD(cpu_evict_lower_percent, "cpuEvictLowerPercent").min(0).max(100),
      KOORD_FIELD(cpu_allocatable_evict_threshold_percent, "cpuAllocatableEvictThresholdPercent").min(0),
      KOORD_FIELD(cpu_allocatable_evict_lower_percent, "cpuAllocatableEvictLowerPercent").min(0),
      KOORD_FIELD(cpu_evict_policy, "cpuEvictPolicy")
          .doc("evictByRealLimit (default) or evictByAllocatable."),
      KOORD_FIELD(evict_enabled_priority_threshold, "evictEnabledPriorityThreshold")
          .doc("Highest priority that is evicted."),
      KOORD_FIELD(allocatable_evict_priority_threshold, "allocatableEvictPriorityThreshold")
          .doc("Highest priority that is evicted for allocatable."),
  };
  static const Schema kSchema("ResourceThresholdStrategy", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<CpuBurstStrategy>() {
  using T = CpuBurstStrategy;
  static constexpr Field kRows[] = {
      KOORD_FIELD(policy, "policy").doc("none, cpuBurstOnly, cfsQuotaBurstOnly or auto."),
      KOORD_FIELD(cpu_burst_percent, "cpuBurstPercent")
          .min(0)
          .max(10000)
          .doc("cpu.cfs_burst_us as percent of the limit; default 1000."),
      KOORD_FIELD(cfs_quota_burst_percent, "cfsQuotaBurstPercent")
          .doc("Ceiling of the scaled quota, percent; default 300."),
      KOORD_FIELD(cfs_quota_burst_period_seconds, "cfsQuotaBurstPeriodSeconds")
          .doc("How long a pod may use the burst; default -1, without end."),
      KOORD_FIELD(share_pool_threshold_percent, "sharePoolThresholdPercent")
          .doc("Usage of the shared pool above which quotas shrink again; default 50."),
  };
  static const Schema kSchema("CpuBurstStrategy", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<SystemStrategy>() {
  using T = SystemStrategy;
  static constexpr Field kRows[] = {
      KOORD_FIELD(min_free_kbytes_factor, "minFreeKbytesFactor")
          .doc("vm.min_free_kbytes in 1/10000 of memory."),
      KOORD_FIELD(watermark_scale_factor, "watermarkScaleFactor").doc("vm.watermark_scale_factor."),
      KOORD_FIELD(memcg_reap_back_ground, "memcgReapBackGround").doc("Background reaping of memory cgroups."),
      KOORD_FIELD(sched_group_identity_enabled, "schedGroupIdentityEnabled")
          .doc("Kernel switch of group identities."),
      KOORD_FIELD(sched_idle_saver_wmark, "schedIdleSaverWmark")
          .doc("kernel.sched_idle_saver_wmark, nanoseconds."),
      KOORD_FIELD(sched_features, "schedFeatures").doc("Scheduling features of the kernel."),
      KOORD_FIELD(page_cache_limit_enabled, "pageCacheLimitEnabled")
          .doc("Kernel switch of the page cache limit."),
      KOORD_FIELD(total_network_bandwidth, "totalNetworkBandwidth")
          .always()
          .doc("Bandwidth of the node, Mbps."),
  };
  static const Schema kSchema("SystemStrategy", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<CgroupPath>() {
  using T = CgroupPath;
  static constexpr Field kRows[] = {
      KOORD_FIELD(base, "base"),
      KOORD_FIELD(parent_dir, "parentDir"),
      KOORD_FIELD(relative_path, "relativePath"),
  };
  static const Schema kSchema("CgroupPath", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<HostApplicationStrategy>() {
  static const Schema kSchema("HostApplicationStrategy", {}, type_of<HostApplicationStrategy>);
  return kSchema;
}

template <>
const Schema& schema<HostApplicationSpec>() {
  using T = HostApplicationSpec;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name"),
      KOORD_FIELD(priority, "priority").doc("Koordinator priority class."),
      KOORD_FIELD(qos, "qos").doc("Koordinator QoS class."),
      KOORD_FIELD(cgroup_path, "cgroupPath").doc("Where the application runs; by QoS class if absent."),
      KOORD_FIELD(strategy, "strategy"),
  };
  static const Schema kSchema("HostApplicationSpec", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<NodeSloSpec>() {
  using T = NodeSloSpec;
  static constexpr Field kRows[] = {
      KOORD_FIELD(resource_used_threshold_with_be, "resourceUsedThresholdWithBE")
          .doc("Limits for BE pods when the node is busy."),
      KOORD_FIELD(resource_qos_strategy, "resourceQOSStrategy").doc("Strategies of each QoS class."),
      KOORD_FIELD(cpu_burst_strategy, "cpuBurstStrategy").doc("CPU burst."),
      KOORD_FIELD(system_strategy, "systemStrategy").doc("Settings of the whole node."),
      KOORD_FIELD(extensions, "extensions").preserve_unknown().doc("For third parties."),
      KOORD_FIELD(host_applications, "hostApplications").doc("Applications outside of pods."),
  };
  static const Schema kSchema("NodeSLOSpec", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<NodeSloStatus>() {
  static const Schema kSchema("NodeSLOStatus", {}, type_of<NodeSloStatus>);
  return kSchema;
}

template <>
const Schema& schema<NodeSlo>() {
  using T = NodeSlo;
  static constexpr Field kRows[] = {
      KOORD_FIELD(metadata, "metadata"),
      KOORD_FIELD(spec, "spec"),
      KOORD_FIELD(status, "status"),
  };
  static const Schema kSchema("NodeSLO", kRows, type_of<T>, &kNodeSlo,
                              "The quality-of-service strategies of a node.");
  return kSchema;
}

}  // namespace koord::api
