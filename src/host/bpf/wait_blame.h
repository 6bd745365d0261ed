// What the programs that say who ran while others waited and their reader agree on.
#pragma once

#include "../buckets.h"

/// Who runs on a CPU. The first five are tiers, of those who wait, too.
enum {
  koord_tier_best_effort = 3,
  koord_tier_system = 4, /* whoever is in no group that was named */
  koord_tiers = 5,
  koord_idle = 5,
  koord_unknown = 6, /* until the first switch of a CPU */
  koord_runners = 7
};

enum {
  koord_max_tiered = 8192, /* groups that are named */
  koord_deepest_group = 32
};

enum {
  koord_deepest_quota = 8,
  /* Two periods of a quota and a half: a group that uses all of its quota is let go once in each. */
  koord_quota_memory_ns = 250000000
};

/// Who ran on a CPU, in ns: the sum is the moment of the last switch. Eight places, so that an index of three
/// bits needs no check; apart from other CPUs'.
struct koord_clock {
  unsigned long long since_and_runner; /* ns * 8 + runner */
  unsigned long long ran[8];
  unsigned int domain;  /* the CPU's memory node */
  unsigned int counted; /* among the domain's CPUs that run best-effort work; only this CPU writes it */
  unsigned int pid;     /* of the task that it was seen to reach last */
  unsigned int zero;
  unsigned long long apart[5];
};

/// How long at least one CPU of a domain has run best-effort work: a count of such CPUs in the upper 16 bits,
/// in the lower 48 that time while there is none, else the moment at which it would have been 0. One word, so
/// that nobody sees half of a change.
struct koord_domain {
  unsigned long long count_and_time;
  unsigned long long apart[15];
};
enum {
  koord_max_domains = 1024, /* the most memory nodes that Linux can be built for */
  koord_domain_time_bits = 48,
  koord_domain_attempts = 32,
  koord_look_attempts = 4
};

struct koord_settings {
  unsigned int generation; /* grows when the reader has named groups */
  unsigned int cpus;       /* that are online: a task that may use as many may use all */
};

/// Of a task: since when it waits (0: it does not) and where, what the CPU's clock said then (less what ran
/// on the CPUs where it waited before), and which tier it is.
struct koord_blamed_wait {
  unsigned long long since;
  unsigned long long runs, delay; /* what the kernel's books of it said then: how often it ran, waited ns */
  unsigned long long base[8];
  unsigned long long domain_base; /* the same of the domain's clock */
  unsigned long long throttled; /* what its groups had been held by quotas, in ns, and 1; 0: not looked at */
  unsigned long long let_go;    /* when that was seen to have grown */
  unsigned long long group;
  unsigned int known_tier; /* generation * 8 + tier: of that group, in that generation of named groups */
  unsigned int cpu;
};

/// What tasks of one tier waited, on one CPU.
struct koord_blame {
  unsigned long long ran_ns[8]; /* by who ran meanwhile */
  unsigned long long waits;
  unsigned long long caused_ns; /* by best-effort work */
  unsigned long long held;      /* waits of tasks that a quota of their own held lately */
  unsigned long long held_ns;   /* of those, while somebody ran */
  unsigned long long whole[koord_fine_buckets];
  unsigned long long caused[koord_fine_buckets]; /* of waits with such a part only */
};

/// What best-effort work made one group wait.
struct koord_group_blame {
  unsigned long long ns;
  unsigned long long waits;
};
