// Averages and percentiles of values and of digests.
#include "framework/series/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace koord::koordlet {

namespace {

constexpr float kP50 = 0.5F;
constexpr float kP90 = 0.9F;
constexpr float kP95 = 0.95F;
constexpr float kP99 = 0.99F;

}  // namespace

std::size_t percentile_index(std::size_t count, float p) {
  const auto place = static_cast<std::size_t>(static_cast<float>(count) * p);
  return place > 0 ? place - 1 : 0;
}

Aggregate aggregate_of(std::span<float> values) {
  Aggregate out;
  out.count = values.size();
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value);
  out.avg = sum / static_cast<double>(values.size());

  // From the highest down: each selection leaves what is smaller in front, where the next one looks.
  auto end = values.end();
  const auto select = [&](float p) {
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(percentile_index(values.size(), p));
    if (at < end) {
      std::nth_element(values.begin(), at, end);
      end = at + 1;
    }
    return static_cast<double>(*at);
  };
  out.p99 = select(kP99);
  out.p95 = select(kP95);
  out.p90 = select(kP90);
  out.p50 = select(kP50);
  return out;
}

void DigestSum::add(const Digest& digest) {
  if (digest.count == 0) return;
  min_ = count_ == 0 ? static_cast<double>(digest.min) : std::min(min_, static_cast<double>(digest.min));
  max_ = count_ == 0 ? static_cast<double>(digest.max) : std::max(max_, static_cast<double>(digest.max));
  sum_ += digest.sum;
  count_ += digest.count;
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += digest.counts[i];
}

double DigestSum::percentile(std::uint64_t in_buckets, float p) const {
  const std::uint64_t index = percentile_index(in_buckets, p);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen > index) return std::clamp(LogHistogram::middle_of(i, base_), min_, max_);
  }
  return max_;
}

Aggregate DigestSum::aggregate() const {
  Aggregate out;
  out.count = count_;
  if (count_ == 0) return out;
  out.avg = sum_ / static_cast<double>(count_);
  std::uint64_t in_buckets = 0;
  for (const std::uint64_t count : counts_) in_buckets += count;
  out.p50 = percentile(in_buckets, kP50);
  out.p90 = percentile(in_buckets, kP90);
  out.p95 = percentile(in_buckets, kP95);
  out.p99 = percentile(in_buckets, kP99);
  return out;
}

}  // namespace koord::koordlet
