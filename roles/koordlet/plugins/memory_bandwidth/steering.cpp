// Steering: see steering.hpp.
#include "plugins/memory_bandwidth/steering.hpp"

#include <algorithm>
#include <cmath>

namespace koord::koordlet::memory_bandwidth {

namespace {

constexpr int kCalm = 3, kBlind = 3;
/// Of what sensitive work was seen to need, since it gets less than it needs where the memory is full.
constexpr double kReserve = 1.1;
/// Of the difference to what it needs now, what is forgotten with each reading.
constexpr double kForget = 0.25;

std::int64_t down_to_step(double percent, std::int64_t step) {
  return static_cast<std::int64_t>(percent / static_cast<double>(step)) * step;
}

}  // namespace

std::int64_t Steering::step(const Terms& terms, const Seen& seen) {
  const std::int64_t least = std::clamp<std::int64_t>(terms.least, 1, terms.most);
  const std::int64_t step = std::max<std::int64_t>(terms.step, 1);
  const std::int64_t now = std::clamp(percent_.value_or(terms.most), least, terms.most);
  const auto decide = [&](std::int64_t percent) {
    percent_ = std::clamp(percent, least, terms.most);
    return *percent_;
  };
  if (!std::isfinite(seen.sensitive) || !std::isfinite(seen.best_effort)) {
    calm_ = 0;
    blind_ = std::min(blind_ + 1, kBlind);
    return decide(blind_ < kBlind ? now : now + step);
  }
  blind_ = 0;
  needed_ = std::max(seen.sensitive, needed_ - (needed_ - seen.sensitive) * kForget);
  const double limit = terms.capacity * terms.target;
  const double floor = terms.capacity * static_cast<double>(least) / 100;
  const double allowed = std::max(limit - needed_ * kReserve, floor);
  if (seen.sensitive + seen.best_effort > limit && seen.best_effort > allowed) {
    calm_ = 0;
    const double part = std::max(allowed / seen.best_effort, 0.5);
    return decide(std::min(down_to_step(static_cast<double>(now) * part, step), now - step));
  }
  const double raised = seen.best_effort * static_cast<double>(now + step) / static_cast<double>(now);
  if (now >= terms.most || raised > allowed) {
    calm_ = 0;
    return decide(now);
  }
  calm_ = std::min(calm_ + 1, kCalm);
  return decide(calm_ < kCalm ? now : now + step);
}

}  // namespace koord::koordlet::memory_bandwidth
