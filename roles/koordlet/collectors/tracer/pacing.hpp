// Pacing: how much of the waiting for CPUs is traced, by what tracing costs. Driver + state pair: step() is
// told what the programs have cost so far, the rest is what follows from all that it was told.
//
//   full --- beyond the limit ---> sampled --- beyond the limit ---> paused
//    ^                              |   ^                              |
//    +-- it would be cheap again ---+   +-------- after a while -------+
//        (by way of a short pause)
//
// The cost is that of all events, by the time of those that were timed: what these do not see of the kernel's
// way to them and back is about what the clock adds that times them (`tests/node/run_queue_latency_test
// --cost`). Whether full tracing would be cheap again is told by the events, which are counted while it
// samples, too, and by what one cost in full.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "koord/base/clock.hpp"
#include "koord/host/run_queue_latency.hpp"

namespace koord::koordlet::tracer {

using host::RunQueueLatency;

/// An event's cost until enough were timed.
inline constexpr double kAssumedNs = 400;
inline constexpr std::uint64_t kEnoughTimed = 20;
/// So many readings in a row beyond the limit: a burst is no reason.
inline constexpr int kPatience = 3;
/// Full again once it would cost below so much of the limit, for so long.
inline constexpr double kCheap = 0.5;
inline constexpr nanoseconds kCalm = std::chrono::seconds(10);
/// How long it pauses: twice as long each time, until it was full for as long as the longest.
inline constexpr nanoseconds kFirstPause = std::chrono::seconds(30), kLastPause = std::chrono::minutes(32);

class Pacing {
 public:
  using Tracing = RunQueueLatency::Tracing;

  /// `limit`: of the machine's CPU time, in (0, 1]; 0: there is none.
  explicit Pacing(double limit) : limit_(limit) {}

  /// At most once a tick; `cpus` are online. Nothing of `spent`: it could not be read.
  void step(MonoTime at, const std::optional<RunQueueLatency::Spent>& spent, int cpus);
  /// What was wanted could not be done.
  void failed(MonoTime at) { pause(at); }

  Tracing wanted() const { return tracing_; }
  /// Of the machine's CPU time, over the last two readings; 0 while it pauses.
  double cost() const { return cost_; }
  MonoTime paused_until() const { return until_; }

 private:
  double event_ns() const;
  void pause(MonoTime at);
  void judge(MonoTime at, double full_cost);

  double limit_;
  Tracing tracing_ = Tracing::full;
  std::optional<MonoTime> read_;
  RunQueueLatency::Spent last_, timed_;  // timed_: since the tracing is what it is
  double cost_ = 0;
  double full_event_ns_ = kAssumedNs;
  int beyond_ = 0;                 // readings in a row
  std::optional<MonoTime> cheap_;  // since when full tracing would be
  std::optional<MonoTime> full_since_;
  MonoTime until_{};                 // of a pause
  bool then_full_ = false;           // after it
  nanoseconds pause_ = kFirstPause;  // the next one
};

/// "sampled".
std::string_view name_of(RunQueueLatency::Tracing tracing);

}  // namespace koord::koordlet::tracer
