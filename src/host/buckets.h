// Which bucket a length of time is counted in: for the programs, without a loop, and for their readers.
#pragma once

enum {
  koord_latency_buckets = 23,
  /* Below 1 us, four an octave up to 2^21 us, one for the rest. */
  koord_fine_buckets = 86
};

/// The bits of its microseconds, 0 for 0.
static inline __attribute__((always_inline)) unsigned koord_latency_bucket(unsigned long long ns) {
  unsigned long long us = ns / 1000;
  unsigned bits = 0;
  if (us >> 21) return koord_latency_buckets - 1;
  if (us >> 16) bits += 16, us >>= 16;
  if (us >> 8) bits += 8, us >>= 8;
  if (us >> 4) bits += 4, us >>= 4;
  if (us >> 2) bits += 2, us >>= 2;
  if (us >> 1) bits += 1, us >>= 1;
  return bits + (unsigned)us;
}

static inline __attribute__((always_inline)) unsigned koord_fine_bucket(unsigned long long ns) {
  unsigned long long quarters = ns / 250; /* of a microsecond */
  unsigned octave = 0;
  if (quarters >> 23) return koord_fine_buckets - 1;
  if (quarters < 4) return 0;
  unsigned long long us = quarters >> 2;
  if (us >> 16) octave += 16, us >>= 16;
  if (us >> 8) octave += 8, us >>= 8;
  if (us >> 4) octave += 4, us >>= 4;
  if (us >> 2) octave += 2, us >>= 2;
  if (us >> 1) octave += 1;
  return 4 * octave + (unsigned)(quarters >> octave) - 3;
}
