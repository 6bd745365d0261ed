// Relief's steps: see relief.hpp.
#include "plugins/memory_qos/relief.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "koord/host/page.hpp"

namespace koord::koordlet::memory_qos {

namespace {

constexpr double kSmoothing = 5;  // seconds
constexpr double kStalls = 0.1, kCalm = 0.01;
constexpr nanoseconds kUpAfter = std::chrono::seconds(5), kDownAfter = std::chrono::minutes(1);
/// What was before a longer silence says nothing about now.
constexpr nanoseconds kSilence = std::chrono::seconds(30);

}  // namespace

void Relief::see(MonoTime at, std::uint64_t stalled_us, bool at_high) {
  const std::optional<MonoTime> before = std::exchange(at_, at);
  const std::uint64_t total = std::exchange(total_us_, stalled_us);
  // The first one, one after a silence, and that of another group of the name tell nothing yet.
  if (!before || at <= *before || at - *before > kSilence || stalled_us < total) {
    stalled_ = 0;
    calm_ = at;
    return;
  }
  const double seconds = std::chrono::duration<double>(at - *before).count();
  const double share = std::min(static_cast<double>(stalled_us - total) / 1e6 / seconds, 1.0);
  stalled_ += (share - stalled_) * (1 - std::exp(-seconds / kSmoothing));
  if (stalled_ >= kCalm) calm_ = at;
  if (stalled_ >= kStalls && at_high && steps_ < kSteps && (steps_ == 0 || at - lifted_ >= kUpAfter)) {
    ++steps_;
    lifted_ = at;
  } else if (steps_ > 0 && at - calm_ >= kDownAfter) {
    --steps_;
    calm_ = lifted_ = at;
  }
}

std::int64_t Relief::high(std::int64_t base, std::int64_t most) const {
  if (most <= base) return base;
  return (base + (most - base) / kSteps * steps_ + (most - base) % kSteps * steps_ / kSteps) /
         host::page_size() * host::page_size();
}

}  // namespace koord::koordlet::memory_qos
