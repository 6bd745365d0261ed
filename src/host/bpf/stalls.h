// What the programs that count stalls and their reader agree on.
#pragma once

#include "wait_blame.h"

enum { koord_max_stalled = 16384 }; /* tasks in direct reclaim, and requests under way */

enum { koord_stall_reclaim = 0, koord_stall_io = 1, koord_stall_kinds = 2 };

/// Of one kind and tier, on one CPU.
struct koord_stalls {
  unsigned long long ns;
  unsigned long long counts[koord_fine_buckets];
};

/// A request that is under way.
struct koord_request {
  unsigned long long since;
  unsigned int tier;
  unsigned int zero;
};
