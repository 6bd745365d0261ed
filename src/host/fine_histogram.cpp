#include "koord/host/fine_histogram.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "buckets.h"

namespace koord::host {

std::size_t FineHistogram::bucket_of(std::uint64_t ns) {
  static_assert(kBuckets == koord_fine_buckets);
  return koord_fine_bucket(ns);
}

double FineHistogram::upper_us(std::size_t bucket) {
  if (bucket == 0) return 1;
  if (bucket == kBuckets - 1) return std::ldexp(1.0, 22);
  const std::size_t octave = (bucket - 1) / 4, quarter = (bucket - 1) % 4;
  return std::ldexp(1.0 + static_cast<double>(quarter + 1) / 4, static_cast<int>(octave));
}

std::uint64_t FineHistogram::count() const {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

FineHistogram& FineHistogram::operator+=(const FineHistogram& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) counts[i] += other.counts[i];
  return *this;
}

FineHistogram FineHistogram::since(const FineHistogram& earlier) const {
  FineHistogram difference = *this;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    if (counts[i] < earlier.counts[i]) return *this;
    difference.counts[i] -= earlier.counts[i];
  }
  return difference;
}

double FineHistogram::upper_quantile_us(double q, std::uint64_t all) const {
  // From above: how many may lie beyond.
  const double beyond = (1 - std::clamp(q, 0.0, 1.0)) * static_cast<double>(all);
  double above = 0;
  for (std::size_t i = kBuckets; i-- > 0;) {
    above += static_cast<double>(counts[i]);
    if (above > beyond) return upper_us(i);
  }
  return 0;
}

}  // namespace koord::host
