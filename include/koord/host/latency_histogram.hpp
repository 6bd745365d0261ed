// LatencyHistogram: waiting times in powers of two of a microsecond, as the eBPF collectors count them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace koord::host {

/// Cumulative: what happened in a period is the difference of two of them.
struct LatencyHistogram {
  /// Bucket 0 is below 1 us, bucket i is [2^(i-1), 2^i) us, the last one everything from 2^21 us (2.1 s) up.
  static constexpr std::size_t kBuckets = 23;

  std::array<std::uint64_t, kBuckets> counts{};
  std::uint64_t sum_ns = 0;

  /// The bucket of a wait.
  static std::size_t bucket_of(std::uint64_t ns);
  /// The bucket's upper bound in us, exclusive; of the last one that of twice its lower bound, which is what
  /// a quantile that falls into it can say at most.
  static std::uint64_t upper_us(std::size_t bucket);

  /// Number of waits.
  std::uint64_t count() const;
  void add(std::uint64_t ns);
  LatencyHistogram& operator+=(const LatencyHistogram& other);
  /// What was added since `earlier`, a former state of the same counters. Where any counter is lower than it
  /// was, the counters began anew and everything that is in them is new.
  LatencyHistogram since(const LatencyHistogram& earlier) const;

  double mean_us() const;  // 0 if empty
  /// The wait in us that the share `q` (0..1) of the waits does not exceed, linear within a bucket: at most a
  /// factor of two off. 0 if empty.
  double quantile_us(double q) const;

  bool operator==(const LatencyHistogram&) const = default;
};

}  // namespace koord::host
