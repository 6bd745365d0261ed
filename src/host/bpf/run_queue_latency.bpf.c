/* How long tasks wait for a CPU, by cgroup.
 *
 * A wait begins when a task wakes up, is born, or leaves its CPU although it could still run, and ends when it gets a
 * CPU: the kernel's own accounting of run_delay, which it keeps only by task. Programs that use GPL-only calls have
 * to say so to the kernel; this file may be used under the MIT licence or the GPL as well as the tree's.
 *
 * Compiled twice: for typed tracepoints, whose arguments are read like memory, and with KOORD_RAW for raw
 * tracepoints, where each read is a call.
 */
#include "kernel.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "run_queue_latency.h"

char license_text[] SEC("license") = "Dual MIT/GPL";

#ifdef KOORD_RAW
#define TRACEPOINT(name) SEC("raw_tp/" name)
#define READ(pointer, field) BPF_CORE_READ(pointer, field)
#define READ_AT(value, pointer) bpf_probe_read_kernel(&(value), sizeof(value), pointer)
#else
#define TRACEPOINT(name) SEC("tp_btf/" name)
#define READ(pointer, field) ((pointer)->field)
#define READ_AT(value, pointer) ((value) = *(pointer))
#endif

enum { task_running = 0, task_dead = 0x80, pf_exiting = 4 };

/* When the task began to wait; 0 while it does not. An entry lives as long as its task: the frequent events only
 * write in place and take no lock. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, koord_max_tasks);
  __type(key, __u32);
  __type(value, __u64);
} waiting SEC(".maps");

/* By cgroup and shard. The loader lowers max_entries where there are fewer CPUs than shards. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, koord_max_groups * koord_shards);
  __type(key, struct koord_group_key);
  __type(value, struct koord_group_waits);
} groups SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, koord_loss_kinds);
  __type(key, __u32);
  __type(value, __u64);
} losses SEC(".maps");

static __always_inline void lose(__u32 kind) {
  __u64* lost = bpf_map_lookup_elem(&losses, &kind);
  if (lost) __sync_fetch_and_add(lost, 1);
}

static __always_inline __u64 bucket_of(__u64 ns) {
  __u64 us = ns / 1000;
  __u64 bucket = 0;
  if (us >> 21) return koord_latency_buckets - 1;
  if (us >> 16) bucket += 16, us >>= 16;
  if (us >> 8) bucket += 8, us >>= 8;
  if (us >> 4) bucket += 4, us >>= 4;
  if (us >> 2) bucket += 2, us >>= 2;
  if (us >> 1) bucket += 1, us >>= 1;
  return bucket + us; /* bits in us: 0 for 0 */
}

static __always_inline __u32 state_of(struct task_struct* task) {
  if (bpf_core_field_exists(task->__state)) return READ(task, __state);
  struct task_struct___before_5_14* old = (void*)task;
  return READ(old, state);
}

static __always_inline __u64 id_of(struct cgroup* group) {
  struct kernfs_node* node = READ(group, kn);
  __u64 id = READ(node, id);
  /* The upper half was a generation once. */
  return bpf_core_type_exists(union kernfs_node_id) ? id & 0xffffffff : id;
}

/* The group in the v2 hierarchy, or in v1's of the cpu controller. */
static __always_inline __u64 group_of(struct task_struct* task, _Bool v2) {
  struct css_set* set = READ(task, cgroups);
  if (v2) return id_of(READ(set, dfl_cgrp));
  __u64 place = bpf_core_field_offset(set->subsys) +
                sizeof(void*) * bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id);
  struct cgroup_subsys_state* state;
  READ_AT(state, (struct cgroup_subsys_state**)((char*)set + place));
  return id_of(READ(state, cgroup));
}

static __always_inline void begin(__u32 pid, __u64 now) {
  __u64* since = bpf_map_lookup_elem(&waiting, &pid);
  if (since)
    *since = now;
  else if (bpf_map_update_elem(&waiting, &pid, &now, BPF_ANY))
    lose(koord_lost_tasks);
}

static __always_inline void charge(struct task_struct* task, __u64 ns, _Bool v2) {
  struct koord_group_key key = {.id = group_of(task, v2), .shard = bpf_get_smp_processor_id() % koord_shards};
  struct koord_group_waits* waits = bpf_map_lookup_elem(&groups, &key);
  if (!waits) {
    /* The group of a task that is dying may be gone already, and nobody would free its place. */
    if (READ(task, flags) & pf_exiting) return;
    struct koord_group_waits none = {};
    bpf_map_update_elem(&groups, &key, &none, BPF_NOEXIST);
    waits = bpf_map_lookup_elem(&groups, &key);
    if (!waits) {
      lose(koord_lost_groups);
      return;
    }
  }
  __u64 bucket = bucket_of(ns);
  asm volatile("" : "+r"(bucket)); /* the verifier has to see one register compared and used */
  if (bucket < koord_latency_buckets) __sync_fetch_and_add(&waits->counts[bucket], 1);
  __sync_fetch_and_add(&waits->sum_ns, ns);
}

static __always_inline int woken(__u64* arguments) {
  struct task_struct* task = (void*)arguments[0];
  begin(READ(task, pid), bpf_ktime_get_ns());
  return 0;
}

static __always_inline int switched(__u64* arguments, _Bool v2) {
  _Bool preempted = arguments[0];
  struct task_struct* left = (void*)arguments[1];
  struct task_struct* next = (void*)arguments[2];
  __u64 now = bpf_ktime_get_ns();
  __u32 pid = READ(left, pid);
  if (pid) { /* idle tasks do not wait */
    __u32 state = state_of(left);
    if (preempted || state == task_running)
      begin(pid, now);
    else if (state & task_dead)
      bpf_map_delete_elem(&waiting, &pid);
  }
  pid = READ(next, pid);
  if (!pid) return 0;
  __u64* since = bpf_map_lookup_elem(&waiting, &pid);
  if (!since || !*since) return 0;
  __u64 ns = now - *since;
  *since = 0;
  /* Clocks of two CPUs may differ a little. */
  if ((__s64)ns >= 0) charge(next, ns, v2);
  return 0;
}

/* A group that is removed frees its place. Numbers are unique within one hierarchy only. */
static __always_inline int removed(__u64* arguments, _Bool v2) {
  struct cgroup* group = (void*)arguments[0];
  struct cgroup_root* root = READ(group, root);
  if (v2) {
    if (READ(root, hierarchy_id) != 0) return 0;
  } else if (!(READ(root, subsys_mask) >> bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id) & 1)) {
    return 0;
  }
  struct koord_group_key key = {.id = id_of(group)};
#pragma unroll
  for (__u32 shard = 0; shard < koord_shards; ++shard) {
    key.shard = shard;
    bpf_map_delete_elem(&groups, &key);
  }
  return 0;
}

TRACEPOINT("sched_wakeup") int wakeup(__u64* arguments) { return woken(arguments); }
TRACEPOINT("sched_wakeup_new") int wakeup_new(__u64* arguments) { return woken(arguments); }
TRACEPOINT("sched_switch") int switch_v1(__u64* arguments) { return switched(arguments, 0); }
TRACEPOINT("sched_switch") int switch_v2(__u64* arguments) { return switched(arguments, 1); }
TRACEPOINT("cgroup_rmdir") int rmdir_v1(__u64* arguments) { return removed(arguments, 0); }
TRACEPOINT("cgroup_rmdir") int rmdir_v2(__u64* arguments) { return removed(arguments, 1); }
