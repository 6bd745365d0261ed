// The schema tables of koord/api/types/slo_v1alpha1/node_slo.hpp: NodeSLO.
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(CpuQos, ROW(group_identity).doc("cpu.bvt_warp_ns, -1 to 2."),
             ROW(sched_idle).doc("cpu.idle, 0 or 1."),
             ROW(core_expeller).doc("Whether pods expel idle ones from their core."));
KOORD_SCHEMA(CpuQosConfig, ROW(enable), ROW(qos).inlined());
KOORD_SCHEMA(MemoryQos, ROW(min_limit_percent).min(0).doc("memory.min in percent of the request."),
             ROW(low_limit_percent).min(0).doc("memory.low in percent of the request."),
             ROW(throttling_percent).min(0).doc("Factor of memory.high."),
             ROW(wmark_ratio).range(0, 100).doc("memory.wmark_ratio; 0 is off."),
             ROW(wmark_scale_permill).range(1, 1000).doc("memory.wmark_scale_factor."),
             ROW(wmark_min_adj).range(-25, 50).doc("memory.wmark_min_adj."), ROW(priority_enable),
             ROW(priority), ROW(oom_kill_group), ROW(page_cache_enable),
             ROW(page_cache_limit_percent).range(0, 100), ROW(page_cache_limit_size),
             ROW(page_cache_reclaim_sync));
KOORD_SCHEMA(MemoryQosConfig, ROW(enable), ROW(qos).inlined());
KOORD_SCHEMA(IoConfig, ROW(read_iops).wire("readIOPS").min(0), ROW(write_iops).wire("writeIOPS").min(0),
             ROW(read_bps).wire("readBPS").min(0), ROW(write_bps).wire("writeBPS").min(0),
             ROW(io_weight_percent).range(1, 100).doc("Weight, 1 to 100; default 100."),
             ROW(read_latency).doc("Latency threshold, microseconds."),
             ROW(write_latency).doc("Latency threshold, microseconds."),
             ROW(read_latency_percent).range(0, 100), ROW(write_latency_percent).range(0, 100),
             ROW(enable_user_model), ROW(model_read_bps).wire("modelReadBPS").min(1),
             ROW(model_write_bps).wire("modelWriteBPS").min(1),
             ROW(model_read_seq_iops).wire("modelReadSeqIOPS").min(1),
             ROW(model_write_seq_iops).wire("modelWriteSeqIOPS").min(1),
             ROW(model_read_rand_iops).wire("modelReadRandIOPS").min(1),
             ROW(model_write_rand_iops).wire("modelWriteRandIOPS").min(1));
KOORD_SCHEMA(BlockConfig, ROW(name), ROW(type), ROW(io_cfg));
KOORD_SCHEMA(BlkioQosConfig, ROW(enable), ROW(blocks));
KOORD_SCHEMA(ResctrlQosConfig, ROW(enable),
             ROW(cat_range_start_percent).range(0, 100).doc("Start of the last-level cache range."),
             ROW(cat_range_end_percent).range(0, 100).doc("End of the last-level cache range."),
             ROW(mba_percent).range(0, 100).doc("Memory bandwidth."));
KOORD_SCHEMA(NetworkQosConfig, ROW(enable), ROW(ingress_request).default_json("0"),
             ROW(ingress_limit).default_json("100"), ROW(egress_request).default_json("0"),
             ROW(egress_limit).default_json("100"));
KOORD_SCHEMA(ResourceQos, ROW(cpu_qos).wire("cpuQOS"), ROW(memory_qos).wire("memoryQOS"),
             ROW(blkio_qos).wire("blkioQOS"), ROW(resctrl_qos).wire("resctrlQOS"),
             ROW(network_qos).wire("networkQOS"));
KOORD_SCHEMA(ResourceQosPolicies, ROW(cpu_policy), ROW(net_qos_policy).wire("netQOSPolicy"));
KOORD_SCHEMA(ResourceQosStrategy, ROW(policies), ROW(lsr_class), ROW(ls_class), ROW(be_class),
             ROW(system_class), ROW(cgroup_root));
KOORD_SCHEMA(
    ResourceThresholdStrategy, ROW(enable).doc("Whether the strategy is on; default false."),
    ROW(cpu_suppress_threshold_percent)
        .range(0, 100)
        .doc("Node CPU usage above which BE pods are suppressed; default 65."),
    ROW(cpu_suppress_min_percent).range(0, 100).doc("What BE pods keep at least."),
    ROW(cpu_suppress_policy).doc("cpuset or cfsQuota."),
    ROW(memory_evict_threshold_percent)
        .range(0, 100)
        .doc("Node memory usage above which BE pods are evicted; default 70."),
    ROW(memory_evict_lower_percent)
        .range(0, 100)
        .doc("Usage at which evictions stop; default threshold - 2."),
    ROW(memory_allocatable_evict_threshold_percent).min(0),
    ROW(memory_allocatable_evict_lower_percent).min(0),
    ROW(cpu_evict_be_satisfaction_upper_percent)
        .wire("cpuEvictBESatisfactionUpperPercent")
        .doc("Satisfaction (real limit / request) at which evictions stop."),
    ROW(cpu_evict_be_satisfaction_lower_percent)
        .wire("cpuEvictBESatisfactionLowerPercent")
        .doc("Satisfaction below which BE pods are evicted."),
    ROW(cpu_evict_be_usage_threshold_percent)
        .wire("cpuEvictBEUsageThresholdPercent")
        .doc("BE CPU usage (used / real limit) above which satisfaction counts."),
    ROW(cpu_evict_time_window_seconds).doc("Window of the CPU usage averages, seconds."),
    ROW(cpu_evict_threshold_percent).range(0, 100), ROW(cpu_evict_lower_percent).range(0, 100),
    ROW(cpu_allocatable_evict_threshold_percent).min(0), ROW(cpu_allocatable_evict_lower_percent).min(0),
    ROW(cpu_evict_policy).doc("evictByRealLimit (default) or evictByAllocatable."),
    ROW(evict_enabled_priority_threshold).doc("Highest priority that is evicted."),
    ROW(allocatable_evict_priority_threshold).doc("Highest priority that is evicted for allocatable."));
KOORD_SCHEMA(
    CpuBurstStrategy, ROW(policy).doc("none, cpuBurstOnly, cfsQuotaBurstOnly or auto."),
    ROW(cpu_burst_percent).range(0, 10000).doc("cpu.cfs_burst_us as percent of the limit; default 1000."),
    ROW(cfs_quota_burst_percent).doc("Ceiling of the scaled quota, percent; default 300."),
    ROW(cfs_quota_burst_period_seconds).doc("How long a pod may use the burst; default -1, without end."),
    ROW(share_pool_threshold_percent)
        .doc("Usage of the shared pool above which quotas shrink again; default 50."));
KOORD_SCHEMA(SystemStrategy, ROW(min_free_kbytes_factor).doc("vm.min_free_kbytes in 1/10000 of memory."),
             ROW(watermark_scale_factor).doc("vm.watermark_scale_factor."),
             ROW(memcg_reap_back_ground).doc("Background reaping of memory cgroups."),
             ROW(sched_group_identity_enabled).doc("Kernel switch of group identities."),
             ROW(sched_idle_saver_wmark).doc("kernel.sched_idle_saver_wmark, nanoseconds."),
             ROW(sched_features).doc("Scheduling features of the kernel."),
             ROW(page_cache_limit_enabled).doc("Kernel switch of the page cache limit."),
             ROW(total_network_bandwidth).always().doc("Bandwidth of the node, Mbps."));
KOORD_SCHEMA(CgroupPath, ROW(base), ROW(parent_dir), ROW(relative_path));
KOORD_SCHEMA(HostApplicationStrategy);
KOORD_SCHEMA(HostApplicationSpec, ROW(name), ROW(priority).doc("Koordinator priority class."),
             ROW(qos).doc("Koordinator QoS class."),
             ROW(cgroup_path).doc("Where the application runs; by QoS class if absent."), ROW(strategy));
KOORD_SCHEMA(NodeSloSpec,
             ROW(resource_used_threshold_with_be)
                 .wire("resourceUsedThresholdWithBE")
                 .doc("Limits for BE pods when the node is busy."),
             ROW(resource_qos_strategy).wire("resourceQOSStrategy").doc("Strategies of each QoS class."),
             ROW(cpu_burst_strategy).doc("CPU burst."),
             ROW(system_strategy).doc("Settings of the whole node."),
             ROW(extensions).preserve_unknown().doc("For third parties."),
             ROW(host_applications).doc("Applications outside of pods."));
KOORD_SCHEMA(NodeSloStatus);
KOORD_OBJECT(NodeSlo,
             Kind("slo.koordinator.sh/v1alpha1", "NodeSLO", "nodeslos")
                 .cluster_scoped()
                 .custom_resource("The quality-of-service strategies of a node."),
             ROW(metadata), ROW(spec), ROW(status));

}  // namespace koord::api
