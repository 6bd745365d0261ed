// What the programs that say who ran while others waited and their reader agree on.
#pragma once

/// Who runs on a CPU. The first five are tiers, of those who wait, too.
enum {
  koord_tier_best_effort = 3,
  koord_tier_system = 4, /* whoever is in no group that was named */
  koord_tiers = 5,
  koord_idle = 5,
  koord_unknown = 6, /* until the first switch of a CPU */
  koord_runners = 7,
  koord_busy = 7 /* a CPU's clock is being set */
};

enum {
  koord_max_tiered = 8192, /* groups that are named */
  koord_deepest_group = 32,
  /* Below 1 us, four an octave up to 2^21 us, one for the rest. */
  koord_fine_buckets = 86
};

/// Who ran on a CPU, in ns: the sum and what has passed since the last switch together are the time since the
/// start. Eight places, so that an index of three bits needs no check; apart from other CPUs'.
struct koord_clock {
  unsigned long long since_and_runner; /* ns * 8 + runner; ends in koord_busy while it is written */
  unsigned long long ran[8];
  unsigned long long apart[7];
};

/// Of a task: since when it waits (0: it does not) and where, what the CPU's clock said then (less what ran
/// on the CPUs where it waited before), and which tier it is.
struct koord_blamed_wait {
  unsigned long long since;
  unsigned long long base[8];
  unsigned long long group;
  unsigned int known_tier; /* generation * 8 + tier: of that group, in that generation of named groups */
  unsigned int cpu;
};

/// What tasks of one tier waited, on one CPU.
struct koord_blame {
  unsigned long long ran_ns[8]; /* by who ran meanwhile */
  unsigned long long waits;
  unsigned long long whole[koord_fine_buckets];
  unsigned long long best_effort[koord_fine_buckets]; /* of waits with such a part only */
};

/// What best-effort work made one group wait.
struct koord_group_blame {
  unsigned long long ns;
  unsigned long long waits;
};
