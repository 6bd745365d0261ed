// SearchShare: how much of the engine's time hard searches for devices may take.
#pragma once

#include <algorithm>
#include <chrono>

#include "koord/base/clock.hpp"

namespace koord::scheduling::dynamic_resources {

/// Anybody may write claims that keep a search busy for as long as it is let. Each attempt has kFree; who
/// needs more has it only if those before him, of whatever claims, have used up no more than a tenth of the
/// time. All profiles together; one thread.
class SearchShare {
 public:
  static constexpr nanoseconds kFree = std::chrono::milliseconds(5);

  /// What an attempt that begins now has, of `timeout`.
  nanoseconds of(nanoseconds timeout, MonoTime now) const {
    return now >= rests_until_ ? timeout : std::min(timeout, kFree);
  }
  /// An attempt has taken that much till now, and as much before.
  void spent(nanoseconds before, nanoseconds took, MonoTime now) {
    if (before + took > kFree) rests_until_ = std::max(rests_until_, now) + 9 * took;
  }

 private:
  MonoTime rests_until_{};
};

}  // namespace koord::scheduling::dynamic_resources
