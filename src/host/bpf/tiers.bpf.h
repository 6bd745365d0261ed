/* Which tier a cgroup is: the closest of it and its parents that somebody has named says so; and the buckets that
 * tiers are counted in. */
#ifndef KOORD_TIERS_BPF_H
#define KOORD_TIERS_BPF_H

#include "common.bpf.h"
#include "wait_blame.h"

/* By cgroup, those that were named: the reader writes them, and a cgroup that is removed frees its entry. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, koord_max_tiered);
  __type(key, __u64);
  __type(value, __u32);
} tiers SEC(".maps");

static __always_inline __u32 tier_of(struct cgroup* group) {
  for (int level = 0; level < koord_deepest_group; ++level) {
    __u64 id = id_of(group);
    __u32* tier = bpf_map_lookup_elem(&tiers, &id);
    if (tier) return *tier;
    struct cgroup_subsys_state* above = READ(group, self.parent);
    if (!above) break;
    group = READ(above, cgroup);
  }
  return koord_tier_system;
}

/* The number of a bucket with four to an octave. */
static __always_inline __u32 fine_bucket_of(__u64 ns) {
  __u64 quarters = ns / 250; /* of a microsecond */
  __u32 log = 0;
  if (quarters >> 23) return koord_fine_buckets - 1;
  if (quarters < 4) return 0;
  __u64 rest = quarters >> 2;
  if (rest >> 16) log += 16, rest >>= 16;
  if (rest >> 8) log += 8, rest >>= 8;
  if (rest >> 4) log += 4, rest >>= 4;
  if (rest >> 2) log += 2, rest >>= 2;
  if (rest >> 1) log += 1;
  return 4 * log + (__u32)(quarters >> log) - 3;
}

#endif
