// Digests: what a series was in each minute of the last hours, in a ring of fixed size.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "koord/base/clock.hpp"

namespace koord::koordlet {

inline constexpr nanoseconds kDigestStep = std::chrono::minutes(1);

/// A histogram in which each bucket is 2^(1/10) times as wide as the one before. The first is [0, base), the
/// last is open: 25.4 octaves are told apart. A value is given back as the geometric middle of its bucket:
/// off by a factor of 2^(1/20) at most, which is 3.6%; below the base by the base at most.
class LogHistogram {
 public:
  static constexpr std::size_t kBuckets = 256;
  using Counts = std::array<std::uint8_t, kBuckets>;  // each stays at 255: a minute has at most 240 ticks

  static std::size_t bucket_of(double value, double base);
  static double middle_of(std::size_t bucket, double base);
};

/// Trivial, so that a ring's memory is touched only where minutes are; Digest{} is the empty one.
struct Digest {
  std::int64_t minute;  // of the monotonic clock
  double sum;
  float min, max;
  std::uint32_t count;
  LogHistogram::Counts counts;

  void add(float value, double base);
};

class DigestRing {
 public:
  DigestRing(std::size_t minutes, double base);

  /// Minutes ascend; an earlier one is ignored.
  void add(MonoTime at, float value);
  /// A whole minute, as a checkpoint has it. The same rule.
  void put(const Digest& digest);

  /// The minutes that lie in (from, to] with all or most of themselves, oldest first.
  template <class Fn>
  void each(MonoTime from, MonoTime to, Fn&& fn) const {
    for (std::size_t i = 0; i < used_; ++i) {
      const Digest& digest = ring_[(first_ + i) % size_];
      if (start_of(digest.minute) + kDigestStep / 2 > from && start_of(digest.minute) <= to) fn(digest);
    }
  }
  double base() const { return base_; }
  std::size_t bytes() const { return size_ * sizeof(Digest); }

  static std::int64_t minute_of(MonoTime at);
  static MonoTime start_of(std::int64_t minute) { return MonoTime(minute * kDigestStep); }

 private:
  Digest* next(std::int64_t minute);

  std::size_t size_;
  double base_;
  std::unique_ptr<Digest[]> ring_;  // pages are touched as minutes come
  std::size_t first_ = 0, used_ = 0;
};

}  // namespace koord::koordlet
