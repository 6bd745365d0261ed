/* Who ran while a task waited for a CPU.
 *
 * Each CPU has a clock for each kind of runner. A wait is the difference of two looks at them: one when it begins, one
 * when it ends; a task that is moved meanwhile takes along what it saw on the CPU that it leaves. So everybody is
 * charged who ran in between, and the parts add up to the wait.
 *
 * A CPU's clock is set by its own switches. Wake-ups and switches hold the lock of the task's run queue, and moves that
 * of the queue that it leaves; only the look at the clock of the CPU that it is moved to may find it half written. All
 * that has run on a CPU adds up to the moment of its last switch, so even then the parts add up.
 *
 * Nobody promises that a program is told of everything. A CPU that leaves another task than the last one that it was
 * seen to reach has reached it unseen: when, the kernel's own books of the task tell. (What ended on other CPUs before
 * that was found out does not know of it.) They tell, too, of a wait that has ended long ago; that, and one that was
 * moved unseen, is counted as lost.
 *
 * Best-effort work causes more than what it takes of the waiter's own CPU: while it has another one that the waiter
 * may use, latency-sensitive tasks stand behind one another. So each domain of CPUs has a clock that goes while at
 * least one of them runs best-effort work; what it went during the wait was caused, for a task that may use all CPUs.
 * While a quota holds the task, or a group above it, nobody but itself is to blame, and for a while afterwards nobody
 * caused what it waits: whoever uses all of his quota would only have used it up sooner.
 */
#ifndef KOORD_BLAME_BPF_H
#define KOORD_BLAME_BPF_H

#include "tiers.bpf.h"

/* As `waiting`, an entry lives as long as its task. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, koord_max_tasks);
  __type(key, __u32);
  __type(value, struct koord_blamed_wait);
} blamed SEC(".maps");

/* By CPU. The loader sets how many, and that nobody is known to run there yet. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct koord_clock);
} clocks SEC(".maps");

/* By the tier of who waited. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, koord_tiers);
  __type(key, __u32);
  __type(value, struct koord_blame);
} blames SEC(".maps");

/* By cgroup and shard, as the groups' waits. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, koord_least_places);
  __type(key, struct koord_group_key);
  __type(value, struct koord_group_blame);
} group_blames SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct koord_settings);
} settings SEC(".maps");

/* By memory node. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, koord_max_domains);
  __type(key, __u32);
  __type(value, struct koord_domain);
} domains SEC(".maps");

static __always_inline void write_once(__u64* place, __u64 value) { *(volatile __u64*)place = value; }
static __always_inline __u64 read_once(const __u64* place) { return *(const volatile __u64*)place; }

/* What the clock says at `now`; the caller's lock keeps it from being written. */
static __always_inline void look(const struct koord_clock* clock, __u64 now, __u64* into) {
  __u64 since = clock->since_and_runner;
#pragma unroll
  for (int i = 0; i < koord_runners; ++i) into[i] = clock->ran[i];
  into[since & 7] += now - (since >> 3);
}

static __always_inline __u64 domain_time(__u64 time) { return time & ((1ULL << koord_domain_time_bits) - 1); }

/* What the clock of a CPU's domain says. */
static __always_inline __u64 look_at_domain(const struct koord_clock* clock, __u64 now) {
  __u32 number = clock->domain;
  const struct koord_domain* domain = bpf_map_lookup_elem(&domains, &number);
  if (!domain) return 0;
  __u64 word = read_once(&domain->count_and_time);
  return domain_time(word >> koord_domain_time_bits ? now - word : word);
}

/* This CPU runs best-effort work from now on, or not any more. What does not succeed is done at the next switch. */
static __always_inline void count_best_effort(struct koord_clock* clock, __u64 now, __u32 runs) {
  if (clock->counted == runs) return;
  __u32 number = clock->domain;
  struct koord_domain* domain = bpf_map_lookup_elem(&domains, &number);
  if (!domain) return;
  for (int attempt = 0; attempt < koord_domain_attempts; ++attempt) {
    __u64 old = read_once(&domain->count_and_time);
    __u64 count = old >> koord_domain_time_bits;
    /* The first one starts the clock, the last one stops it: the same sum. */
    __u64 time = domain_time(count == !runs ? now - old : old);
    count += runs ? 1 : -1;
    if (__sync_val_compare_and_swap(&domain->count_and_time, old, count << koord_domain_time_bits | time) == old) {
      clock->counted = runs;
      return;
    }
  }
  lose(koord_lost_unseen);
}

/* What the task's groups have been held by their quotas so far: it grows when one is let go. */
static __always_inline __u64 throttled_of(struct task_struct* task) {
  __u64 sum = 0;
  struct task_group* group = READ(task, sched_task_group);
  if (!bpf_core_field_exists(group->cfs_bandwidth)) return 0;
  for (int level = 0; level < koord_deepest_quota && group; ++level) {
    sum += READ(group, cfs_bandwidth.throttled_time);
    group = READ(group, parent);
  }
  return sum;
}

/* Notes when a quota let the task's groups go. */
static __always_inline void look_at_quotas(struct koord_blamed_wait* wait, struct task_struct* task, __u64 now) {
  __u64 throttled = throttled_of(task) + 1;
  if (wait->throttled && wait->throttled != throttled) wait->let_go = now;
  wait->throttled = throttled;
}

/* The same of a CPU whose lock nobody holds. What is half written differs from what was, or will be, by how long one
 * runner ran: the sum tells which it is. Should the CPU switch again and again, a look may give a part to who ran just
 * before or after. */
static __always_inline void look_without_lock(const struct koord_clock* clock, __u64 now, __u64* into) {
  __u64 since = 0, sum = 0;
  for (int attempt = 0; attempt < koord_look_attempts; ++attempt) {
    since = read_once(&clock->since_and_runner);
    sum = 0;
#pragma unroll
    for (int i = 0; i < koord_runners; ++i) sum += into[i] = read_once(&clock->ran[i]);
    if (since == read_once(&clock->since_and_runner)) break;
  }
  into[since & 7] += now - sum;
}

/* How often it has got a CPU, and how long it has waited for one: while it waits these stay what they are. A kernel
 * that keeps no such books is trusted to tell of everything. */
static __always_inline __u64 runs_of(struct task_struct* task) {
  return bpf_core_field_exists(task->sched_info.pcount) ? READ(task, sched_info.pcount) : 0;
}
static __always_inline __u64 delay_of(struct task_struct* task) {
  return bpf_core_field_exists(task->sched_info.run_delay) ? READ(task, sched_info.run_delay) : 0;
}

static const struct koord_blamed_wait no_wait; /* the stack has little room */

static __always_inline struct koord_blamed_wait* wait_of(__u32 pid) {
  struct koord_blamed_wait* wait = bpf_map_lookup_elem(&blamed, &pid);
  if (wait) return wait;
  bpf_map_update_elem(&blamed, &pid, &no_wait, BPF_NOEXIST);
  wait = bpf_map_lookup_elem(&blamed, &pid);
  if (!wait) lose(koord_lost_tasks);
  return wait;
}

/* A task that waits already goes on waiting: it was woken after it had been preempted on its way to sleep. */
static __always_inline void begin_blamed(struct task_struct* task, __u32 cpu, const struct koord_clock* clock,
                                         __u64 begun, __u64 now) {
  struct koord_blamed_wait* wait = wait_of(READ(task, pid));
  if (!wait) return;
  __u64 runs = runs_of(task);
  if (wait->since >= begun) {
    if (wait->runs == runs) return;
    lose(koord_lost_unseen);
  }
  wait->since = now;
  wait->runs = runs;
  wait->delay = delay_of(task);
  wait->cpu = cpu;
  look(clock, now, wait->base);
  wait->domain_base = look_at_domain(clock, now);
  /* A task whose tier is not known yet has that of index 0. */
  if ((wait->known_tier & 7) < koord_tier_best_effort) look_at_quotas(wait, task, now);
}

/* Before the task's CPU is changed. */
static __always_inline int moved(__u64* arguments) {
  struct task_struct* task = (void*)arguments[0];
  __u32 to = (__u32)arguments[1];
  if (!READ(task, on_rq)) return 0; /* it is on its way to be woken */
  __u32 pid = READ(task, pid);
  const struct koord_pace* pace_now = present_pace();
  struct koord_blamed_wait* wait = bpf_map_lookup_elem(&blamed, &pid);
  if (!wait || !pace_now || pace_now->mask || wait->since < pace_now->begun) return 0;
  __u32 from = cpu_of(task);
  const struct koord_clock* left = bpf_map_lookup_elem(&clocks, &from);
  const struct koord_clock* reached = bpf_map_lookup_elem(&clocks, &to);
  if (!left || !reached || wait->cpu != from) {
    wait->cpu = ~0U; /* it will not fit */
    return 0;
  }
  __u64 now = bpf_ktime_get_ns();
  __u64 seen[8] = {}, before[8] = {};
  look_without_lock(reached, now, seen);
  look(left, now, before);
#pragma unroll
  for (int i = 0; i < koord_runners; ++i) wait->base[i] += seen[i] - before[i];
  if (left->domain != reached->domain)
    wait->domain_base += look_at_domain(reached, now) - look_at_domain(left, now);
  wait->cpu = to;
  return 0;
}

static __always_inline void count(__u64* buckets, __u64 ns) {
  __u32 bucket = koord_fine_bucket(ns);
  asm volatile("" : "+r"(bucket)); /* the verifier has to see one register compared and used */
  if (bucket < koord_fine_buckets) ++buckets[bucket];
}

/* Who made it wait: for the pod that did. */
static __always_inline void blame_group(struct task_struct* task, __u64 group, __u64 ns) {
  struct koord_group_key key = {.id = group, .shard = bpf_get_smp_processor_id() % koord_max_shards};
  struct koord_group_blame* blame = bpf_map_lookup_elem(&group_blames, &key);
  if (!blame) {
    if (READ(task, flags) & pf_exiting) return;
    struct koord_group_blame none = {};
    bpf_map_update_elem(&group_blames, &key, &none, BPF_NOEXIST);
    blame = bpf_map_lookup_elem(&group_blames, &key);
    if (!blame) {
      lose(koord_lost_groups);
      return;
    }
  }
  __sync_fetch_and_add(&blame->ns, ns);
  __sync_fetch_and_add(&blame->waits, 1);
}

/* The tier of a group, which the task keeps in mind. */
static __always_inline __u32 known_tier(struct koord_blamed_wait* wait, struct cgroup* group, __u64 id) {
  __u32 zero = 0;
  const struct koord_settings* now = bpf_map_lookup_elem(&settings, &zero);
  __u32 wanted = now ? now->generation : 0;
  if (wait && wait->group == id && wait->known_tier >> 3 == wanted) return wait->known_tier & 7;
  __u32 tier = tier_of(group);
  if (wait) {
    wait->group = id;
    wait->known_tier = wanted << 3 | tier;
  }
  return tier;
}

/* Whoever ran until now has run until now. Returns who. */
static __always_inline __u32 advance(struct koord_clock* clock, __u64 now) {
  __u64 since = clock->since_and_runner;
  write_once(&clock->ran[since & 7], clock->ran[since & 7] + (now - (since >> 3)));
  write_once(&clock->since_and_runner, now << 3 | (since & 7));
  return since & 7;
}

/* What best-effort work caused of a wait. */
static __always_inline __u64 caused_of(struct task_struct* task, const struct koord_blamed_wait* wait,
                                       const struct koord_clock* clock, __u64 own_cpu, __u64 now) {
  __u64 ns = now - wait->since;
  /* A look without a lock may give a part to who ran just before. */
  if ((__s64)own_cpu < 0) own_cpu = 0;
  __u32 zero = 0;
  const struct koord_settings* machine = bpf_map_lookup_elem(&settings, &zero);
  if (!machine || (__u32)READ(task, nr_cpus_allowed) < machine->cpus) return own_cpu;
  __u64 domain = domain_time(look_at_domain(clock, now) - wait->domain_base);
  /* Clocks of two CPUs may differ a little, and below 0 is far above all waits. */
  if (domain >> (koord_domain_time_bits - 1)) domain = 0;
  if (domain > ns) domain = ns;
  return domain > own_cpu ? domain : own_cpu;
}

/* The wait of a task of that tier is over: `clock` has just been advanced. */
static __always_inline void end_blamed(struct task_struct* task, struct koord_blamed_wait* wait, __u32 tier,
                                       __u64 group, __u32 cpu, const struct koord_clock* clock, __u64 now) {
  __u64 ns = now - wait->since;
  __u64 parts[koord_runners];
#pragma unroll
  for (int i = 0; i < koord_runners; ++i) parts[i] = clock->ran[i] - wait->base[i];
  if (wait->cpu != cpu) {
    lose(koord_lost_unseen);
    return;
  }
  struct koord_blame* blame = bpf_map_lookup_elem(&blames, &tier);
  if (!blame) return;
  ++blame->waits;
  count(blame->whole, ns);
  if (tier < koord_tier_best_effort) look_at_quotas(wait, task, now);
  _Bool held = now - wait->let_go < koord_quota_memory_ns;
  if (held) ++blame->held;
  if (wait->let_go == now) {
    blame->ran_ns[koord_idle] += ns;
    return;
  }
#pragma unroll
  for (int i = 0; i < koord_runners; ++i) blame->ran_ns[i] += parts[i];
  if (held) {
    blame->held_ns += ns - parts[koord_idle];
    return;
  }
  __u64 caused = caused_of(task, wait, clock, parts[koord_tier_best_effort], now);
  if (!caused) return;
  blame->caused_ns += caused;
  count(blame->caused, caused);
  if (tier < koord_tier_best_effort) blame_group(task, group, caused);
}

/* From now on. */
static __always_inline void run(struct koord_clock* clock, __u32 ran, __u32 runs, __u64 now) {
  if (runs != ran) write_once(&clock->since_and_runner, now << 3 | runs);
  count_best_effort(clock, now, runs == koord_tier_best_effort);
}

static __always_inline void forget(const struct koord_group_key* key) {
  bpf_map_delete_elem(&group_blames, key);
}
static __always_inline void forget_group(__u64 group) { bpf_map_delete_elem(&tiers, &group); }

#endif
