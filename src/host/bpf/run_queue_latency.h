// What the run-queue latency programs and their reader agree on: the maps' keys, values and bounds.
#pragma once

#include "../buckets.h"

enum {
  koord_max_groups = 8192,
  koord_max_tasks = 65536, /* the loader raises it where there are many CPUs */
  /* A group's waits are counted in a place for each CPU that its tasks ran on, so that CPUs do not take a cache line
   * from one another: the kernel gives a CPU's places out one beside the other. Beyond so many CPUs two share one. */
  koord_max_shards = 1024,
  /* Places, for all groups together; then each group has one more, which all CPUs share. */
  koord_most_places = 131072,
  koord_least_places = 65536
};

struct koord_group_key {
  unsigned long long id;
  unsigned int shard;
  unsigned int zero;
};

/// One shard of a group's waits.
struct koord_group_waits {
  unsigned long long counts[koord_latency_buckets];
  unsigned long long sum_ns;
};

/// What is counted; the reader writes it, while no program is attached or to count less.
struct koord_pace {
  unsigned long long begun; /* waits that began before are none: nobody saw how they went on; above 0 */
  unsigned int mask;        /* one wait of mask + 1 is counted, and counts for as many; a power of two less 1 */
  unsigned int shards;      /* CPUs that have a place each */
};

/// What the programs cost, on one CPU: one event in so many is timed, an odd number, so that events that take turns
/// have each their share.
struct koord_spent {
  unsigned long long events, timed, timed_ns;
  unsigned long long until; /* events until the next one that is timed */
};
enum {
  koord_timed_one_in = 61,
  koord_longest_event_ns = 20000 /* what takes longer was interrupted, by a hypervisor for example */
};

/// Indices into the map of losses.
enum { koord_lost_groups = 0, koord_lost_tasks = 1, koord_lost_unseen = 2, koord_loss_kinds = 3 };
