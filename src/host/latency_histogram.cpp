#include "koord/host/latency_histogram.hpp"

#include <algorithm>
#include <numeric>

#include "buckets.h"

namespace koord::host {

std::size_t LatencyHistogram::bucket_of(std::uint64_t ns) {
  static_assert(kBuckets == koord_latency_buckets);
  return koord_latency_bucket(ns);
}

std::uint64_t LatencyHistogram::upper_us(std::size_t bucket) { return std::uint64_t{1} << bucket; }

std::uint64_t LatencyHistogram::count() const {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

void LatencyHistogram::add(std::uint64_t ns) {
  ++counts[bucket_of(ns)];
  sum_ns += ns;
}

LatencyHistogram& LatencyHistogram::operator+=(const LatencyHistogram& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) counts[i] += other.counts[i];
  sum_ns += other.sum_ns;
  return *this;
}

LatencyHistogram LatencyHistogram::since(const LatencyHistogram& earlier) const {
  LatencyHistogram difference = *this;
  if (sum_ns < earlier.sum_ns) return difference;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    if (counts[i] < earlier.counts[i]) return *this;
    difference.counts[i] -= earlier.counts[i];
  }
  difference.sum_ns -= earlier.sum_ns;
  return difference;
}

double LatencyHistogram::mean_us() const {
  const auto waits = count();
  return waits == 0 ? 0 : static_cast<double>(sum_ns) / 1000 / static_cast<double>(waits);
}

double LatencyHistogram::quantile_us(double q) const {
  const auto waits = static_cast<double>(count());
  if (waits == 0) return 0;
  const double rank = std::clamp(q, 0.0, 1.0) * waits;
  double below = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    const auto here = static_cast<double>(counts[i]);
    if (here > 0 && below + here >= rank) {
      const double low = i == 0 ? 0 : static_cast<double>(upper_us(i - 1));
      const double high = static_cast<double>(upper_us(i));
      return low + (high - low) * (rank - below) / here;
    }
    below += here;
  }
  return static_cast<double>(upper_us(kBuckets - 1));
}

}  // namespace koord::host
