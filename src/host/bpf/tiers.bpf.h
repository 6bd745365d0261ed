/* Which tier a cgroup is: the closest of it and its parents that somebody has named says so. */
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

#endif
