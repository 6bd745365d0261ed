// Rate: how a kernel counter changed since it was last read.
#pragma once

#include <cstdint>

#include "koord/base/clock.hpp"

namespace koord::koordlet {

/// The first value, one that went back (another cgroup of the same name) and one that comes too long after
/// the one before give no change: they are where the next one is counted from.
class Rate {
 public:
  struct Change {
    double amount = 0;
    nanoseconds over{};  // 0: no change is known
    explicit operator bool() const { return over > nanoseconds(0); }
  };
  Change next(std::uint64_t value, MonoTime at, nanoseconds max_age) {
    Change change;
    if (has_ && value >= value_ && at > at_ && at - at_ <= max_age)
      change = {static_cast<double>(value - value_), at - at_};
    value_ = value;
    at_ = at;
    has_ = true;
    return change;
  }
  void forget() { has_ = false; }

 private:
  std::uint64_t value_ = 0;
  MonoTime at_;
  bool has_ = false;
};

}  // namespace koord::koordlet
