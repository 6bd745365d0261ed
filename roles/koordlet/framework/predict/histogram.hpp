// DecayingHistogram: the distribution of a usage, in which old samples count less. The original's (and the
// vertical pod autoscaler's) to the last bucket, so that both predict the same of the same samples.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"

namespace koord::koordlet {

/// Buckets each of which is `ratio` times as wide as the one before; the last is open.
class Buckets {
 public:
  /// Up to a last bucket that begins at `max` or later. A bucket whose weight is below `epsilon` counts as
  /// empty. `ratio` is above 1, the others above 0.
  Buckets(double max, double first, double ratio, double epsilon);

  std::size_t size() const { return starts_.size(); }
  double epsilon() const { return epsilon_; }
  /// Within [0, size()), whatever the value is. A value at a start may lie in the bucket before it: that is
  /// how the original's logarithm rounds.
  std::size_t find(double value) const;
  double start(std::size_t bucket) const { return starts_[bucket]; }

 private:
  double first_, ratio_, log_ratio_, epsilon_;
  std::vector<double> starts_;
};

/// What a checkpoint has of a histogram: weights as shares of the largest one, which is 10000.
struct SavedHistogram {
  struct Weight {
    std::uint32_t bucket = 0, weight = 0;
    friend bool operator==(const Weight&, const Weight&) = default;
  };
  std::optional<WallTime> reference;
  std::vector<Weight> weights;
  double total = 0;
  std::optional<WallTime> written = {};  // nothing: not told
};

/// Has one number for each bucket and never allocates after it was made. One thread at a time.
class DecayingHistogram {
 public:
  /// `buckets` outlives it. A sample's weight halves every `half_life`, which is between a minute and a year.
  /// Where the clock goes back by more than that, it begins anew.
  DecayingHistogram(const Buckets& buckets, nanoseconds half_life);

  void add(double value, WallTime at, double weight = 1);
  /// The end of the bucket that holds this share (0 to 1) of the weight, the start of the last one; 0 while
  /// it is empty.
  double percentile(double share) const;
  bool empty() const { return weights_[min_] < buckets_->epsilon(); }
  double total() const { return total_; }
  std::size_t bytes() const { return buckets_->size() * sizeof(double); }

  /// `out` is filled anew; buckets that are next to nothing beside the largest are left out.
  void save(SavedHistogram& out) const;
  /// Into one that is as good as new. Code::invalid, and nothing changed: a bucket that is not there or is
  /// named twice, a weight that no samples add up to, a time that `now` has not come near.
  Result<> load(const SavedHistogram& saved, WallTime now);

 private:
  double decay_factor(WallTime at);
  void shift(WallTime reference);
  void scale(double factor);
  void trim();
  void forget();

  const Buckets* buckets_;
  nanoseconds half_life_;
  /// A multiple of the half-life since the year 1; a sample of this time weighs 1. Nothing: no sample yet.
  std::optional<WallTime> reference_;
  std::optional<WallTime> latest_;  // of all samples
  std::unique_ptr<double[]> weights_;
  double total_ = 0;
  /// The first and the last bucket that is not empty; the last and the first one while all are.
  std::size_t min_, max_ = 0;
};

}  // namespace koord::koordlet
