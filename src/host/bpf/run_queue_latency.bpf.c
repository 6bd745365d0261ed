/* How long tasks wait for a CPU, by cgroup; with KOORD_BLAME also who ran meanwhile.
 *
 * A wait begins when a task wakes up, is born, or leaves its CPU although it could still run, and ends when it gets a
 * CPU: the kernel's own accounting of run_delay, which it keeps only by task.
 */
#include "common.bpf.h"

/* By cgroup and shard. The loader lowers max_entries where there are few CPUs. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, koord_most_places);
  __type(key, struct koord_group_key);
  __type(value, struct koord_group_waits);
} groups SEC(".maps");

/* By cgroup, shard 0: for all CPUs that found no place of their own. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, koord_max_groups);
  __type(key, struct koord_group_key);
  __type(value, struct koord_group_waits);
} crowded SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct koord_pace);
} pace SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct koord_spent);
} spent SEC(".maps");

/* When this event began, where it is one of those that are timed; else 0. Before Linux 6.13 a program and what it calls
 * have 512 bytes of stack together: no more than that is kept. */
static __always_inline __u64 start_watch(void) {
  __u32 zero = 0;
  struct koord_spent* sum = bpf_map_lookup_elem(&spent, &zero);
  if (!sum) return 0;
  ++sum->events;
  if (sum->until) {
    --sum->until;
    return 0;
  }
  sum->until = koord_timed_one_in - 1;
  return bpf_ktime_get_ns();
}

static __always_inline void stop_watch(__u64 began) {
  if (!began) return;
  __u64 ns = bpf_ktime_get_ns() - began;
  __u32 zero = 0;
  struct koord_spent* sum = bpf_map_lookup_elem(&spent, &zero);
  if (!sum) return;
  ++sum->timed;
  sum->timed_ns += ns < koord_longest_event_ns ? ns : koord_longest_event_ns;
}

static __always_inline const struct koord_pace* present_pace(void) {
  __u32 zero = 0;
  return bpf_map_lookup_elem(&pace, &zero);
}

/* Whether a wait that begins now is one of those that are counted: by chance, since events take turns. */
static __always_inline _Bool is_counted(const struct koord_pace* now) {
  return !now->mask || !(bpf_get_prandom_u32() & now->mask);
}

static const struct koord_group_waits no_waits; /* the stack has little room */

static __always_inline struct koord_group_waits* waits_of(struct task_struct* task, __u64 group) {
  struct koord_group_key key = {.id = group, .shard = bpf_get_smp_processor_id() % koord_max_shards};
  struct koord_group_waits* waits = bpf_map_lookup_elem(&groups, &key);
  if (waits) return waits;
  struct koord_group_key all = {.id = group};
  waits = bpf_map_lookup_elem(&crowded, &all);
  if (waits) return waits;
  /* The group of a task that is dying may be gone already, and nobody would free its place. */
  if (READ(task, flags) & pf_exiting) return 0;
  bpf_map_update_elem(&groups, &key, &no_waits, BPF_NOEXIST);
  waits = bpf_map_lookup_elem(&groups, &key);
  if (waits) return waits;
  bpf_map_update_elem(&crowded, &all, &no_waits, BPF_NOEXIST);
  waits = bpf_map_lookup_elem(&crowded, &all);
  if (!waits) lose(koord_lost_groups);
  return waits;
}

/* `weight`: as many waits are counted by this one. */
static __always_inline void charge(struct task_struct* task, __u64 group, __u64 ns, __u64 weight) {
  struct koord_group_waits* waits = waits_of(task, group);
  if (!waits) return;
  __u32 bucket = koord_latency_bucket(ns);
  asm volatile("" : "+r"(bucket)); /* the verifier has to see one register compared and used */
  if (bucket < koord_latency_buckets) __sync_fetch_and_add(&waits->counts[bucket], weight);
  __sync_fetch_and_add(&waits->sum_ns, ns * weight);
}

#ifdef KOORD_BLAME
#include "blame.bpf.h"

static __always_inline __u64* since_of(__u32 pid) {
  struct koord_blamed_wait* wait = bpf_map_lookup_elem(&blamed, &pid);
  return wait ? &wait->since : 0;
}
static __always_inline void begin(__u32 pid, __u64 now) {
  struct koord_blamed_wait* wait = wait_of(pid);
  if (wait) wait->since = now;
}
static __always_inline void end_task(__u32 pid) { bpf_map_delete_elem(&blamed, &pid); }

#else

/* When the task began to wait; 0 while it does not. An entry lives as long as its task: the frequent events only
 * write in place and take no lock. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, koord_max_tasks);
  __type(key, __u32);
  __type(value, __u64);
} waiting SEC(".maps");

static __always_inline __u64* since_of(__u32 pid) { return bpf_map_lookup_elem(&waiting, &pid); }
static __always_inline void begin(__u32 pid, __u64 now) {
  __u64* since = since_of(pid);
  if (since)
    *since = now;
  else if (bpf_map_update_elem(&waiting, &pid, &now, BPF_ANY))
    lose(koord_lost_tasks);
}
static __always_inline void end_task(__u32 pid) { bpf_map_delete_elem(&waiting, &pid); }
static __always_inline void forget(const struct koord_group_key* key) {}
static __always_inline void forget_group(__u64 group) {}
#endif

/* Without a look at who runs: all that is asked for, or all that there is time for. */
static __always_inline void woken_plain(struct task_struct* task, const struct koord_pace* now) {
  if (is_counted(now)) begin(READ(task, pid), bpf_ktime_get_ns());
}

static __always_inline void switched_plain(_Bool preempted, struct task_struct* left, struct task_struct* next,
                                           const struct koord_pace* pace_now, _Bool v2) {
  __u64 now = 0; /* the clock is much of what a sample costs */
  __u32 pid = READ(left, pid);
  if (pid) { /* idle tasks do not wait */
    __u32 state = state_of(left);
    if (preempted || state == task_running) {
      if (is_counted(pace_now)) begin(pid, now = bpf_ktime_get_ns());
    } else if (state & task_dead) {
      end_task(pid);
    }
  }
  pid = READ(next, pid);
  if (!pid) return;
  __u64* since = since_of(pid);
  if (!since || *since < pace_now->begun) return;
  __u64 ns = (now ? now : bpf_ktime_get_ns()) - *since;
  *since = 0;
  /* Clocks of two CPUs may differ a little. */
  if ((__s64)ns >= 0) charge(next, id_of(group_of(next, v2)), ns, 1ULL + pace_now->mask);
}

#ifdef KOORD_BLAME
static __always_inline int woken(__u64* arguments) {
  struct task_struct* task = (void*)arguments[0];
  const struct koord_pace* pace_now = present_pace();
  if (!pace_now || READ(task, on_cpu)) return 0; /* it was about to sleep, and runs on */
  if (pace_now->mask) {
    woken_plain(task, pace_now);
    return 0;
  }
  __u32 cpu = cpu_of(task);
  struct koord_clock* clock = bpf_map_lookup_elem(&clocks, &cpu);
  if (clock) begin_blamed(task, cpu, clock, pace_now->begun, bpf_ktime_get_ns());
  return 0;
}

/* The task gets the CPU, which has just been advanced: `ran` had it until now. */
static __always_inline void reach(struct task_struct* task, struct koord_blamed_wait* wait, __u32 cpu,
                                  struct koord_clock* clock, __u32 ran, __u64 now, _Bool v2) {
  struct cgroup* group = group_of(task, v2);
  __u64 id = id_of(group);
  __u32 tier = known_tier(wait, group, id);
  const struct koord_pace* pace_now = present_pace();
  if (wait && wait->since && pace_now) {
    if (wait->since >= pace_now->begun && now >= wait->since) { /* clocks of two CPUs may differ a little */
      charge(task, id, now - wait->since, 1);
      end_blamed(task, wait, tier, id, cpu, clock, now);
    }
    wait->since = 0;
  }
  run(clock, ran, tier, now);
}

/* The CPU leaves a task that it was not seen to reach: the first one, for example. Rare, so it is kept apart. */
static __attribute__((noinline)) void catch_up(struct task_struct* task, __u32 cpu, struct koord_clock* clock, __u64 now,
                                               _Bool v2) {
  if ((clock->since_and_runner & 7) == koord_unknown) clock->domain = bpf_get_numa_node_id();
  __u32 pid = READ(task, pid);
  const struct koord_pace* pace_now = present_pace();
  struct koord_blamed_wait* wait = bpf_map_lookup_elem(&blamed, &pid);
  if (!wait || !pace_now || wait->since < pace_now->begun || wait->runs + 1 != runs_of(task)) return;
  __u64 then = wait->since + delay_of(task) - wait->delay;
  if (then < clock->since_and_runner >> 3 || then > now) return;
  reach(task, wait, cpu, clock, advance(clock, then), then, v2);
}

static __always_inline int switched(__u64* arguments, _Bool v2) {
  _Bool preempted = arguments[0];
  struct task_struct* left = (void*)arguments[1];
  struct task_struct* next = (void*)arguments[2];
  const struct koord_pace* pace_now = present_pace();
  if (!pace_now) return 0;
  if (pace_now->mask) {
    switched_plain(preempted, left, next, pace_now, v2);
    return 0;
  }
  __u64 now = bpf_ktime_get_ns();
  __u32 cpu = bpf_get_smp_processor_id();
  struct koord_clock* clock = bpf_map_lookup_elem(&clocks, &cpu);
  if (!clock) return 0;
  __u32 pid = READ(left, pid);
  if (__builtin_expect(pid != clock->pid, 0)) catch_up(left, cpu, clock, now, v2);
  __u32 ran = advance(clock, now);
  if (pid) {
    __u32 state = state_of(left);
    if (preempted || state == task_running)
      begin_blamed(left, cpu, clock, pace_now->begun, now);
    else if (state & task_dead)
      end_task(pid);
  }
  pid = READ(next, pid);
  clock->pid = pid;
  if (!pid) {
    run(clock, ran, koord_idle, now);
    return 0;
  }
  struct koord_blamed_wait* wait = bpf_map_lookup_elem(&blamed, &pid);
  if (wait && wait->since >= pace_now->begun && wait->runs != runs_of(next)) {
    lose(koord_lost_unseen);
    wait->since = 0;
  }
  reach(next, wait, cpu, clock, ran, now, v2);
  return 0;
}

#else
static __always_inline int woken(__u64* arguments) {
  const struct koord_pace* pace_now = present_pace();
  if (pace_now) woken_plain((void*)arguments[0], pace_now);
  return 0;
}

static __always_inline int switched(__u64* arguments, _Bool v2) {
  const struct koord_pace* pace_now = present_pace();
  if (pace_now) switched_plain(arguments[0], (void*)arguments[1], (void*)arguments[2], pace_now, v2);
  return 0;
}
#endif

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
  bpf_map_delete_elem(&crowded, &key);
  const struct koord_pace* pace_now = present_pace();
  if (!pace_now) return 0;
#pragma nounroll
  for (__u32 shard = 0; shard < koord_max_shards && shard < pace_now->shards; ++shard) {
    key.shard = shard;
    bpf_map_delete_elem(&groups, &key);
    forget(&key);
  }
  forget_group(key.id);
  return 0;
}

/* Each event is counted, and some are timed. */
#define TIMED(call)            \
  __u64 began = start_watch(); \
  call;                        \
  stop_watch(began);           \
  return 0

TRACEPOINT("sched_wakeup") int wakeup(__u64* arguments) { TIMED(woken(arguments)); }
TRACEPOINT("sched_wakeup_new") int wakeup_new(__u64* arguments) { TIMED(woken(arguments)); }
TRACEPOINT("sched_switch") int switch_v1(__u64* arguments) { TIMED(switched(arguments, 0)); }
TRACEPOINT("sched_switch") int switch_v2(__u64* arguments) { TIMED(switched(arguments, 1)); }
TRACEPOINT("cgroup_rmdir") int rmdir_v1(__u64* arguments) { return removed(arguments, 0); }
TRACEPOINT("cgroup_rmdir") int rmdir_v2(__u64* arguments) { return removed(arguments, 1); }
#ifdef KOORD_BLAME
TRACEPOINT("sched_migrate_task") int migrate(__u64* arguments) { TIMED(moved(arguments)); }
#endif
