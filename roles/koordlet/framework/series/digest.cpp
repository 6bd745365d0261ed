// The ring of minutes and its histogram's buckets.
#include "framework/series/digest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace koord::koordlet {

namespace {
constexpr double kBucketsPerOctave = 10;
}

std::size_t LogHistogram::bucket_of(double value, double base) {
  if (!(value >= base)) return 0;
  const double at = std::log2(value / base) * kBucketsPerOctave;
  return 1 + static_cast<std::size_t>(std::min(at, static_cast<double>(kBuckets - 2)));
}

double LogHistogram::middle_of(std::size_t bucket, double base) {
  if (bucket == 0) return base / 2;
  return base * std::exp2((static_cast<double>(bucket) - 0.5) / kBucketsPerOctave);
}

void Digest::add(float value, double base) {
  min = count == 0 ? value : std::min(min, value);
  max = count == 0 ? value : std::max(max, value);
  sum += static_cast<double>(value);
  ++count;
  std::uint8_t& bucket = counts[LogHistogram::bucket_of(static_cast<double>(value), base)];
  if (bucket < std::numeric_limits<std::uint8_t>::max()) ++bucket;
}

DigestRing::DigestRing(std::size_t minutes, double base)
    : size_(std::max<std::size_t>(minutes, 1)),
      base_(base),
      ring_(std::make_unique_for_overwrite<Digest[]>(size_)) {}

std::int64_t DigestRing::minute_of(MonoTime at) {
  return std::chrono::floor<std::chrono::minutes>(at.time_since_epoch()).count();
}

Digest* DigestRing::next(std::int64_t minute) {
  if (used_ > 0) {
    Digest& newest = ring_[(first_ + used_ - 1) % size_];
    if (newest.minute == minute) return &newest;
    if (newest.minute > minute) return nullptr;
  }
  if (used_ == size_)
    first_ = (first_ + 1) % size_;
  else
    ++used_;
  Digest& fresh = ring_[(first_ + used_ - 1) % size_];
  fresh = Digest{};
  fresh.minute = minute;
  return &fresh;
}

void DigestRing::add(MonoTime at, float value) {
  if (Digest* const digest = next(minute_of(at))) digest->add(value, base_);
}

void DigestRing::put(const Digest& digest) {
  if (Digest* const at = next(digest.minute)) *at = digest;
}

}  // namespace koord::koordlet
