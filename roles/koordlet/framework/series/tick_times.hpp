// TickTimes: when the last ticks were, kept once for all series.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "koord/base/clock.hpp"

namespace koord::koordlet {

/// Ticks are numbered from 0; the last `capacity` are known. Ticks that never happened take no room.
class TickTimes {
 public:
  TickTimes(std::size_t capacity, nanoseconds period) : times_(capacity), period_(period) {}

  std::uint32_t count() const { return count_; }
  std::uint32_t oldest() const {
    const auto capacity = static_cast<std::uint32_t>(times_.size());
    return count_ > capacity ? count_ - capacity : 0;
  }
  MonoTime at(std::uint32_t tick) const { return times_[tick % times_.size()]; }

  /// The tick at this time: the newest, or a new one if it is half a period later. Nothing for the past.
  bool tick_at(MonoTime time, std::uint32_t& tick) {
    if (count_ > 0) {
      const MonoTime newest = at(count_ - 1);
      if (time < newest) return false;
      if (time - newest < period_ / 2) {
        tick = count_ - 1;
        return true;
      }
    }
    times_[count_ % times_.size()] = time;
    tick = count_++;
    return true;
  }

  /// The first tick later than `time`; count() if there is none.
  std::uint32_t first_after(MonoTime time) const {
    std::uint32_t low = oldest();
    std::uint32_t high = count_;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (at(middle) > time)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }

  /// Puts back what a checkpoint had, oldest first; the ring is as good as new before.
  void restore(MonoTime time) { times_[count_++ % times_.size()] = time; }
  void clear() { count_ = 0; }

 private:
  std::vector<MonoTime> times_;
  nanoseconds period_;
  std::uint32_t count_ = 0;
};

}  // namespace koord::koordlet
