/* What the programs touch of the kernel, declared by ourselves: CO-RE finds each field's true place when a program is
 * loaded, so the build needs no kernel's BTF and no header of one. Only names and types have to be right. */
#ifndef KOORD_KERNEL_BPF_H
#define KOORD_KERNEL_BPF_H

typedef unsigned char __u8;
typedef signed short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

/* The kernel's interface: values that do not change. */
enum { BPF_ANY = 0, BPF_NOEXIST = 1 };
enum { BPF_MAP_TYPE_HASH = 1, BPF_MAP_TYPE_ARRAY = 2, BPF_MAP_TYPE_PERCPU_ARRAY = 6 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

enum cgroup_subsys_id { cpu_cgrp_id = 1 };

struct kernfs_node {
  __u64 id; /* the inode number */
};
union kernfs_node_id {
  struct {
    __u32 ino, generation;
  };
};
struct kernfs_node___before_5_5 {
  union kernfs_node_id id;
};
struct cgroup_root {
  unsigned int subsys_mask;
  int hierarchy_id;
};
struct cgroup;
struct cgroup_subsys_state {
  struct cgroup* cgroup;
  struct cgroup_subsys_state* parent;
};
struct cgroup {
  struct cgroup_subsys_state self;
  struct kernfs_node* kn;
  struct cgroup_root* root;
};
struct css_set {
  struct cgroup_subsys_state* subsys[16];
  struct cgroup* dfl_cgrp;
};
struct thread_info {
  __u32 cpu;
};
struct cfs_bandwidth {
  __u64 throttled_time;
};
struct task_group {
  struct task_group* parent;
  struct cfs_bandwidth cfs_bandwidth;
};
struct sched_info {
  unsigned long pcount;
  unsigned long long run_delay;
};
struct task_struct {
  struct thread_info thread_info;
  unsigned int __state;
  unsigned int flags;
  int on_cpu, on_rq;
  struct task_group* sched_task_group;
  int nr_cpus_allowed;
  int pid;
  struct sched_info sched_info;
  struct css_set* cgroups;
};
struct task_struct___before_5_14 {
  long state;
};
struct task_struct___before_5_16 {
  unsigned int cpu;
};

#pragma clang attribute pop

#endif
