// DecayingHistogram: see histogram.hpp.
#include "framework/predict/histogram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace koord::koordlet {

namespace {

/// Beyond so many half-lives the reference is moved: weights are 2^100 by then.
constexpr int kMaxExponent = 100;
constexpr double kLargestSaved = 10'000;
/// More than a sample a second for a year weighs, each 2^kMaxExponent.
constexpr double kMaxTotal = 1e40;
/// From the first day of the year 1, which the original counts multiples of the half-life from, to 1970.
constexpr __int128 kYearOne = static_cast<__int128>(62'135'596'800) * 1'000'000'000;

/// The closest multiple since the year 1, the later of two.
WallTime rounded(WallTime at, nanoseconds step) {
  const __int128 since = kYearOne + at.time_since_epoch().count();
  const auto rest = static_cast<std::int64_t>(since % step.count());
  return rest + rest < step.count() ? at - nanoseconds(rest) : at + nanoseconds(step.count() - rest);
}

}  // namespace

Buckets::Buckets(double max, double first, double ratio, double epsilon)
    : first_(first), ratio_(ratio), log_ratio_(std::log(ratio)), epsilon_(epsilon) {
  const auto count =
      static_cast<std::size_t>(std::ceil(std::log(max * (ratio - 1) / first + 1) / log_ratio_)) + 1;
  starts_.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    starts_.push_back(i == 0 ? 0.0 : first * (std::pow(ratio, static_cast<double>(i)) - 1) / (ratio - 1));
}

std::size_t Buckets::find(double value) const {
  if (!(value >= first_)) return 0;
  const double at = std::log(value * (ratio_ - 1) / first_ + 1) / log_ratio_;
  return at < static_cast<double>(size()) ? static_cast<std::size_t>(at) : size() - 1;
}

DecayingHistogram::DecayingHistogram(const Buckets& buckets, nanoseconds half_life)
    : buckets_(&buckets),
      half_life_(half_life),
      weights_(std::make_unique<double[]>(buckets.size())),
      min_(buckets.size() - 1) {}

void DecayingHistogram::add(double value, WallTime at, double weight) {
  // While the clock was ahead it learned what would outweigh every sample until that time comes.
  if (latest_ && *latest_ > at + half_life_) forget();
  latest_ = std::max(latest_.value_or(at), at);
  weight *= decay_factor(at);
  const std::size_t bucket = buckets_->find(value);
  weights_[bucket] += weight;
  total_ += weight;
  if (weights_[bucket] < buckets_->epsilon()) return;
  min_ = std::min(min_, bucket);
  max_ = std::max(max_, bucket);
}

double DecayingHistogram::percentile(double share) const {
  if (empty()) return 0;
  const double wanted = share * total_;
  double sum = 0;
  std::size_t bucket = min_;
  for (; bucket < max_; ++bucket) {
    sum += weights_[bucket];
    if (sum >= wanted) break;
  }
  return buckets_->start(std::min(bucket + 1, buckets_->size() - 1));
}

double DecayingHistogram::decay_factor(WallTime at) {
  if (!reference_ || at > *reference_ + kMaxExponent * half_life_) shift(at);
  return std::exp2(static_cast<double>((at - *reference_).count()) / static_cast<double>(half_life_.count()));
}

void DecayingHistogram::shift(WallTime reference) {
  reference = rounded(reference, half_life_);
  if (reference_) {
    const double moved = static_cast<double>((*reference_ - reference).count());
    scale(
        std::ldexp(1.0, static_cast<int>(std::floor(moved / static_cast<double>(half_life_.count()) + 0.5))));
  }
  reference_ = reference;
}

void DecayingHistogram::scale(double factor) {
  for (std::size_t bucket = min_; bucket <= max_; ++bucket) weights_[bucket] *= factor;
  total_ *= factor;
  trim();
}

void DecayingHistogram::trim() {
  while (weights_[min_] < buckets_->epsilon() && min_ + 1 < buckets_->size()) ++min_;
  while (weights_[max_] < buckets_->epsilon() && max_ > 0) --max_;
}

void DecayingHistogram::forget() {
  std::fill_n(weights_.get(), buckets_->size(), 0.0);
  total_ = 0;
  min_ = buckets_->size() - 1;
  max_ = 0;
  reference_.reset();
  latest_.reset();
}

void DecayingHistogram::save(SavedHistogram& out) const {
  out.reference = reference_;
  out.written.reset();
  out.weights.clear();
  out.total = total_;
  double largest = 0;
  for (std::size_t bucket = min_; bucket <= max_; ++bucket) largest = std::max(largest, weights_[bucket]);
  if (largest == 0) return;
  const double ratio = kLargestSaved / largest;
  for (std::size_t bucket = min_; bucket <= max_; ++bucket)
    if (const double weight = std::floor(weights_[bucket] * ratio + 0.5); weight > 0)
      out.weights.push_back({static_cast<std::uint32_t>(bucket), static_cast<std::uint32_t>(weight)});
}

Result<> DecayingHistogram::load(const SavedHistogram& saved, WallTime now) {
  if (!(saved.total >= 0 && saved.total <= kMaxTotal))
    return Error(Code::invalid, "a total weight that no samples add up to");
  // The same as in add().
  for (const auto& time : {saved.reference, saved.written})
    if (time && *time > now + half_life_) return Error(Code::invalid, "written in the future");
  double sum = 0;
  std::vector<bool> seen(buckets_->size());
  for (const auto& [bucket, weight] : saved.weights) {
    if (bucket >= buckets_->size() || seen[bucket])
      return Error(Code::invalid, fmt::format("bucket {} is not there, or twice", bucket));
    seen[bucket] = true;
    sum += weight;
  }
  if (sum == 0 || !saved.reference || *saved.reference < WallTime{}) return {};  // or all of it has decayed
  const double ratio = saved.total / sum;
  for (const auto& [bucket, weight] : saved.weights) {
    min_ = std::min<std::size_t>(min_, bucket);
    max_ = std::max<std::size_t>(max_, bucket);
    weights_[bucket] += weight * ratio;
  }
  trim();  // or it would count as empty for as long as the first bucket does
  total_ += saved.total;
  reference_ = saved.reference;
  latest_ = saved.written ? saved.written : saved.reference;
  return {};
}

}  // namespace koord::koordlet
