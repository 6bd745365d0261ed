// What the run-queue latency programs and their reader agree on: the maps' values and bounds.
#pragma once

enum { koord_latency_buckets = 23, koord_max_groups = 8192, koord_max_tasks = 65536 };

/// One CPU's share of a group's waits.
struct koord_group_waits {
  unsigned long long counts[koord_latency_buckets];
  unsigned long long sum_ns;
};

/// Indices into the map of losses.
enum { koord_lost_groups = 0, koord_lost_tasks = 1, koord_loss_kinds = 2 };
