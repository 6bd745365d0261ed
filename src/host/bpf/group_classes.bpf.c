/* A filter of traffic control: a packet's class is that of the group whose socket sends it. It answers with a class'
 * number; 0: the next filter, or the qdisc's default, says. Of cgroup v2 the deepest group that has a class counts; of v1
 * it is what net_cls.classid says, if it is of this qdisc. */
#include "kernel.bpf.h"

#include <bpf/bpf_helpers.h>

#include "group_classes.h"

char license_text[] SEC("license") = "Dual MIT/GPL";

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, koord_most_group_classes);
  __type(key, __u64);
  __type(value, __u32);
} group_classes SEC(".maps");

SEC("tc")
int classes_v2(struct __sk_buff* packet) {
  __u32 class = 0;
#pragma clang loop unroll(full)
  for (int level = 1; level <= koord_deepest_class; ++level) {
    __u64 id = bpf_skb_ancestor_cgroup_id(packet, level);
    if (id == 0) break;
    __u32* found = bpf_map_lookup_elem(&group_classes, &id);
    if (found) class = *found;
  }
  return class;
}

SEC("tc")
int classes_v1(struct __sk_buff* packet) {
  __u32 class = bpf_get_cgroup_classid(packet);
  return class >> 16 == koord_class_major ? class : 0;
}
