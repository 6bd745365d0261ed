#include "collectors/tracer/pacing.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace koord::koordlet::tracer {

namespace {

RunQueueLatency::Spent between(const RunQueueLatency::Spent& before, const RunQueueLatency::Spent& now) {
  return {now.events - before.events, now.timed - before.timed, now.timed_ns - before.timed_ns};
}

}  // namespace

/// Of the present tracing, all events that were timed together.
double Pacing::event_ns() const {
  if (timed_.timed < kEnoughTimed) return tracing_ == Tracing::full ? full_event_ns_ : kAssumedNs;
  return static_cast<double>(timed_.timed_ns) / static_cast<double>(timed_.timed);
}

void Pacing::pause(MonoTime at) {
  tracing_ = Tracing::paused;
  until_ = at + pause_;
  pause_ = std::min(2 * pause_, kLastPause);
  then_full_ = false;
  cost_ = 0;
  full_since_.reset();
}

void Pacing::step(MonoTime at, const std::optional<RunQueueLatency::Spent>& spent, int cpus) {
  if (tracing_ == Tracing::paused) {
    read_.reset();
    if (at < until_) return;
    tracing_ = std::exchange(then_full_, false) ? Tracing::full : Tracing::sampled;
    if (tracing_ == Tracing::full) full_since_ = at;
    timed_ = {};
    beyond_ = 0;
    cheap_.reset();
    return;
  }
  if (!spent || cpus <= 0) return;
  const auto before = std::exchange(read_, at);
  const auto part = between(std::exchange(last_, *spent), *spent);
  if (!before || at <= *before) return;
  timed_.timed += part.timed;
  timed_.timed_ns += part.timed_ns;
  const double machine_ns = static_cast<double>((at - *before).count()) * cpus;
  const auto events = static_cast<double>(part.events);
  cost_ = events * event_ns() / machine_ns;
  if (tracing_ == Tracing::full) full_event_ns_ = event_ns();
  judge(at, events * full_event_ns_ / machine_ns);
}

void Pacing::judge(MonoTime at, double full_cost) {
  if (limit_ <= 0) return;
  if (!full_since_ && tracing_ == Tracing::full) full_since_ = at;
  if (full_since_ && at - *full_since_ >= kLastPause) pause_ = kFirstPause;
  beyond_ = cost_ > limit_ ? beyond_ + 1 : 0;
  if (beyond_ >= kPatience) {
    beyond_ = 0;
    if (tracing_ == Tracing::sampled) return pause(at);
    tracing_ = Tracing::sampled;
    full_since_.reset();
    timed_ = {};
    cheap_.reset();
    return;
  }
  if (tracing_ != Tracing::sampled) return;
  if (full_cost >= kCheap * limit_) {
    cheap_.reset();
    return;
  }
  if (!cheap_) cheap_ = at;
  if (at - *cheap_ < kCalm) return;
  // The programs that sample have to be through before those begin that see everything.
  tracing_ = Tracing::paused;
  until_ = at;
  then_full_ = true;
  cost_ = 0;
}

std::string_view name_of(RunQueueLatency::Tracing tracing) {
  constexpr std::array<std::string_view, 3> kNames = {"full", "sampled", "paused"};
  return kNames[static_cast<std::size_t>(tracing)];
}

}  // namespace koord::koordlet::tracer
