// Statistics of the values of a window: the original's percentiles, by selection instead of sorting.
#pragma once

#include <cstddef>
#include <span>

#include "framework/series/digest.hpp"
#include "framework/series/series.hpp"

namespace koord::koordlet {

/// The place of a percentile among `count` ascending values: floor(count * p) - 1 in single precision, at
/// least 0: of 0, 100, ... 800 the 90th is 700 and the 50th 300.
std::size_t percentile_index(std::size_t count, float p);

/// Average and percentiles of `values`, which get another order. `last` and `span` are the caller's. The
/// values are not empty.
Aggregate aggregate_of(std::span<float> values);

/// The same of merged digests: exact average and count, percentiles by the middle of a bucket and within
/// [min, max].
class DigestSum {
 public:
  explicit DigestSum(double base) : base_(base) {}
  void add(const Digest& digest);
  bool empty() const { return count_ == 0; }
  Aggregate aggregate() const;

 private:
  double percentile(std::uint64_t in_buckets, float p) const;

  double base_;
  double sum_ = 0, min_ = 0, max_ = 0;
  std::uint64_t count_ = 0;
  std::array<std::uint64_t, LogHistogram::kBuckets> counts_{};
};

}  // namespace koord::koordlet
