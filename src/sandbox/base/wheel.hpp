// Wheel: many small jobs behind one timer of the clock, in ticks of 10 ms.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "koord/base/clock.hpp"

namespace koord::sandbox {

/// Jobs of one tick run together, in the order in which they were added. One thread, the clock's.
template <class Job>
class Wheel {
 public:
  Wheel(Clock& clock, std::function<void(Job&)> run) : clock_(clock), run_(std::move(run)) {}
  ~Wheel() { clock_.cancel(timer_); }
  Wheel(const Wheel&) = delete;
  Wheel& operator=(const Wheel&) = delete;

  void add(nanoseconds after, Job job) {
    std::int64_t tick = (clock_.mono().time_since_epoch() + after).count() / kTick + 1;
    slots_[tick].push_back(std::move(job));
    arm();
  }
  bool empty() const { return slots_.empty(); }

 private:
  static constexpr std::int64_t kTick = 10'000'000;

  void arm() {
    if (slots_.empty() || running_) return;
    std::int64_t first = slots_.begin()->first;
    if (timer_ != 0 && armed_ <= first) return;
    clock_.cancel(timer_);
    armed_ = first;
    timer_ = clock_.call_at(MonoTime(nanoseconds(first * kTick)), [this] { turn(); });
  }
  void turn() {
    timer_ = 0;
    running_ = true;
    std::int64_t now = clock_.mono().time_since_epoch().count() / kTick;
    while (!slots_.empty() && slots_.begin()->first <= now) {
      auto jobs = std::move(slots_.begin()->second);
      slots_.erase(slots_.begin());
      for (Job& job : jobs) run_(job);
    }
    running_ = false;
    arm();
  }

  Clock& clock_;
  std::function<void(Job&)> run_;
  std::map<std::int64_t, std::vector<Job>> slots_;
  TimerId timer_ = 0;
  std::int64_t armed_ = 0;
  bool running_ = false;
};

}  // namespace koord::sandbox
