// What the run-queue latency programs and their reader agree on: the maps' keys, values and bounds.
#pragma once

#include "buckets.h"

enum {
  koord_max_groups = 8192,
  koord_max_tasks = 65536, /* the loader raises it where there are many CPUs */
  /* A group's waits are counted in so many places, each shared by the CPUs of one number modulo it: one place for each
   * CPU would make the table as large as the machine, one for all would have them wait for one another. */
  koord_shards = 8
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

/// Indices into the map of losses.
enum { koord_lost_groups = 0, koord_lost_tasks = 1, koord_lost_unseen = 2, koord_loss_kinds = 3 };
