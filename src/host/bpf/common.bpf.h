/* What all programs share: how the kernel is read, a task's state and place, losses.
 *
 * Compiled twice: for typed tracepoints, whose arguments are read like memory, and with KOORD_RAW for raw
 * tracepoints, where each read is a call. Programs that use GPL-only calls have to say so to the kernel; these files
 * may be used under the MIT licence or the GPL as well as the tree's.
 */
#ifndef KOORD_COMMON_BPF_H
#define KOORD_COMMON_BPF_H

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

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, koord_loss_kinds);
  __type(key, __u32);
  __type(value, __u64);
} losses SEC(".maps");

/* An interrupt may count on the same CPU. */
static __always_inline void lose(__u32 kind) {
  __u64* lost = bpf_map_lookup_elem(&losses, &kind);
  if (lost) __sync_fetch_and_add(lost, 1);
}

static __always_inline __u32 state_of(struct task_struct* task) {
  if (bpf_core_field_exists(task->__state)) return READ(task, __state);
  struct task_struct___before_5_14* old = (void*)task;
  return READ(old, state);
}

static __always_inline __u32 cpu_of(struct task_struct* task) {
  if (bpf_core_field_exists(task->thread_info.cpu)) return READ(task, thread_info.cpu);
  struct task_struct___before_5_16* old = (void*)task;
  return READ(old, cpu);
}

static __always_inline __u64 id_of(struct cgroup* group) {
  struct kernfs_node* node = READ(group, kn);
  if (bpf_core_field_exists(node->id)) return READ(node, id);
  struct kernfs_node___before_5_5* old = (void*)node;
  return READ(old, id.ino);
}

/* The group in the v2 hierarchy, or in v1's of the cpu controller. */
static __always_inline struct cgroup* group_of(struct task_struct* task, _Bool v2) {
  struct css_set* set = READ(task, cgroups);
  if (v2) return READ(set, dfl_cgrp);
  __u64 place = bpf_core_field_offset(set->subsys) +
                sizeof(void*) * bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id);
  struct cgroup_subsys_state* state;
  READ_AT(state, (struct cgroup_subsys_state**)((char*)set + place));
  return READ(state, cgroup);
}

#endif
