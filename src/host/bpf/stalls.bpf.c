/* For what else tasks stand still, by tier: direct reclaim, block I/O; and whom the kernel kills for want of memory.
 *
 * Rare events: raw tracepoints only, so that one that a kernel lacks keeps no other from being attached. The tiers are
 * those of the programs of wait blame.
 */
#include "stalls.h"
#include "tiers.bpf.h"

/* By task: since when it reclaims. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, koord_max_stalled);
  __type(key, __u32);
  __type(value, __u64);
} reclaiming SEC(".maps");

/* By the request's address. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, koord_max_stalled);
  __type(key, __u64);
  __type(value, struct koord_request);
} requests SEC(".maps");

/* By kind and tier: kind * koord_tiers + tier. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, koord_stall_kinds * koord_tiers);
  __type(key, __u32);
  __type(value, struct koord_stalls);
} stalls SEC(".maps");

/* By tier, and one place for those whose tier the kernel does not tell. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, koord_tiers + 1);
  __type(key, __u32);
  __type(value, __u64);
} oom_kills SEC(".maps");

static __always_inline __u32 own_tier(_Bool v2) {
  return tier_of(group_of((struct task_struct*)bpf_get_current_task(), v2));
}

/* An interrupt may count on the same CPU. */
static __always_inline void stalled(__u32 kind, __u32 tier, __u64 ns) {
  __u32 place = kind * koord_tiers + tier;
  struct koord_stalls* sum = bpf_map_lookup_elem(&stalls, &place);
  if (!sum || (__s64)ns < 0) return;
  __sync_fetch_and_add(&sum->ns, ns);
  __u32 bucket = koord_fine_bucket(ns);
  asm volatile("" : "+r"(bucket)); /* the verifier has to see one register compared and used */
  if (bucket < koord_fine_buckets) __sync_fetch_and_add(&sum->counts[bucket], 1);
}

static __always_inline int reclaims(void) {
  __u32 pid = (__u32)bpf_get_current_pid_tgid();
  __u64 now = bpf_ktime_get_ns();
  if (bpf_map_update_elem(&reclaiming, &pid, &now, BPF_ANY)) lose(koord_lost_tasks);
  return 0;
}

static __always_inline int reclaimed(_Bool v2) {
  __u32 pid = (__u32)bpf_get_current_pid_tgid();
  __u64* since = bpf_map_lookup_elem(&reclaiming, &pid);
  if (!since) return 0;
  __u64 ns = bpf_ktime_get_ns() - *since;
  bpf_map_delete_elem(&reclaiming, &pid);
  stalled(koord_stall_reclaim, own_tier(v2), ns);
  return 0;
}

/* In the context of who asks for it: writing back what others wrote is the system's. */
static __always_inline int requested(__u64* arguments, _Bool v2) {
  __u64 request = arguments[0];
  struct koord_request begun = {.since = bpf_ktime_get_ns(), .tier = own_tier(v2)};
  if (bpf_map_update_elem(&requests, &request, &begun, BPF_ANY)) lose(koord_lost_groups);
  return 0;
}

static __always_inline int answered(__u64* arguments) {
  __u64 request = arguments[0];
  struct koord_request* begun = bpf_map_lookup_elem(&requests, &request);
  if (!begun) return 0;
  __u64 ns = bpf_ktime_get_ns() - begun->since;
  __u32 tier = begun->tier;
  bpf_map_delete_elem(&requests, &request);
  stalled(koord_stall_io, tier, ns);
  return 0;
}

/* The victim, or before 6.9 its number only. */
static __always_inline int killed(__u64* arguments, _Bool v2) {
  __u32 tier = koord_tiers;
  if ((__s64)arguments[0] < 0) tier = tier_of(group_of((struct task_struct*)arguments[0], v2));
  __u64* sum = bpf_map_lookup_elem(&oom_kills, &tier);
  if (sum) __sync_fetch_and_add(sum, 1);
  return 0;
}

TRACEPOINT("mm_vmscan_direct_reclaim_begin") int reclaim_begin(__u64* arguments) { return reclaims(); }
TRACEPOINT("mm_vmscan_memcg_reclaim_begin") int group_reclaim_begin(__u64* arguments) { return reclaims(); }
TRACEPOINT("mm_vmscan_direct_reclaim_end") int reclaim_end_v1(__u64* arguments) { return reclaimed(0); }
TRACEPOINT("mm_vmscan_direct_reclaim_end") int reclaim_end_v2(__u64* arguments) { return reclaimed(1); }
TRACEPOINT("mm_vmscan_memcg_reclaim_end") int group_reclaim_end_v1(__u64* arguments) { return reclaimed(0); }
TRACEPOINT("mm_vmscan_memcg_reclaim_end") int group_reclaim_end_v2(__u64* arguments) { return reclaimed(1); }
TRACEPOINT("block_io_start") int io_start_v1(__u64* arguments) { return requested(arguments, 0); }
TRACEPOINT("block_io_start") int io_start_v2(__u64* arguments) { return requested(arguments, 1); }
TRACEPOINT("block_io_done") int io_done(__u64* arguments) { return answered(arguments); }
TRACEPOINT("mark_victim") int oom_kill_v1(__u64* arguments) { return killed(arguments, 0); }
TRACEPOINT("mark_victim") int oom_kill_v2(__u64* arguments) { return killed(arguments, 1); }
