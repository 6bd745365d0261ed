// FineHistogram: waiting times with four buckets an octave, as the eBPF programs count them by tier.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace koord::host {

/// Cumulative: what happened in a period is the difference of two of them.
struct FineHistogram {
  /// Bucket 0 is below 1 us, the last one everything from 2^21 us (2.1 s) up.
  static constexpr std::size_t kBuckets = 86;

  std::array<std::uint64_t, kBuckets> counts{};

  static std::size_t bucket_of(std::uint64_t ns);
  /// The bucket's upper bound in us, exclusive; of the last one twice its lower bound.
  static double upper_us(std::size_t bucket);

  std::uint64_t count() const;
  FineHistogram& operator+=(const FineHistogram& other);
  /// What was added since `earlier`, a former state of the same counters.
  FineHistogram since(const FineHistogram& earlier) const;
  /// The upper bound in us of the bucket that the share `q` (0..1) of `all` events does not exceed, where
  /// those that are not counted here were 0: all >= count(). 0 if it is one of those.
  double upper_quantile_us(double q, std::uint64_t all) const;

  bool operator==(const FineHistogram&) const = default;
};

}  // namespace koord::host
