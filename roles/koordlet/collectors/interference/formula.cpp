// What a pod lost of late: see formula.hpp.
#include "collectors/interference/formula.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace koord::koordlet {

double InterferenceParts::all() const {
  double kept = 1;
  bool any = false;
  for (const double part : {run_queue, memory, io, cpi}) {
    if (!known(part)) continue;
    any = true;
    kept *= 1 - part;
  }
  return any ? 1 - kept : kUnknown;
}

namespace interference {

namespace {

double seconds(nanoseconds time) { return std::chrono::duration<double>(time).count(); }

double share(double part, double whole) { return std::clamp(part / whole, 0.0, 1.0); }

}  // namespace

Sums& Sums::operator+=(const Sums& other) {
  waited += other.waited;
  used += other.used;
  ready_wall += other.ready_wall;
  cpu += other.cpu;
  memory += other.memory;
  io += other.io;
  cpu_wall += other.cpu_wall;
  memory_wall += other.memory_wall;
  io_wall += other.io_wall;
  lost_cycles += other.lost_cycles;
  cycles += other.cycles;
  return *this;
}

void Sums::fade(double factor) {
  for (double* const sum : {&waited, &used, &ready_wall, &cpu, &memory, &io, &cpu_wall, &memory_wall,
                            &io_wall, &lost_cycles, &cycles})
    *sum *= factor;
}

InterferenceParts Sums::parts() const {
  InterferenceParts parts;
  const double least = seconds(kFirst) / 2;  // what is left of it when it has faded
  if (ready_wall >= least)
    parts.run_queue = share(waited, std::max(waited + used, kLeastCpu * ready_wall));
  else if (cpu_wall >= least)
    parts.run_queue = share(cpu, cpu_wall);
  if (memory_wall >= least) parts.memory = share(memory, memory_wall);
  if (io_wall >= least) parts.io = share(io, io_wall);
  if (cycles > 0) parts.cpi = share(lost_cycles, cycles);
  return parts;
}

void LostTime::stalled(double now_us, std::optional<double>& before, double seconds, double& sum,
                       double& wall) const {
  if (!known(now_us)) {
    before.reset();
    return;
  }
  if (before && now_us >= *before) {
    sum += (now_us - *before) / 1e6;
    wall += seconds;
  }
  before = now_us;
}

void LostTime::tick(const Seen& seen, nanoseconds since) {
  const double time = seconds(since);
  if (time <= 0) return;
  sums_.fade(std::exp2(-time / seconds(kHalfLife)));
  since_window_ += since;
  if (seconds(since_window_) > std::max(seconds(kWindowStays), kWindowsMissing * seconds(between_windows_)))
    sums_.cycles = sums_.lost_cycles = 0;  // shares do not fade with their sums
  if (known(seen.used)) {
    pending_used_ += seen.used * time;
    pending_wall_ += time;
  }
  stalled(seen.cpu_us, cpu_us_, time, sums_.cpu, sums_.cpu_wall);
  stalled(seen.memory_us, memory_us_, time, sums_.memory, sums_.memory_wall);
  stalled(seen.io_us, io_us_, time, sums_.io, sums_.io_wall);
}

void LostTime::waited(double seconds, bool whole) {
  if (whole) {
    sums_.waited += seconds;
    sums_.used += pending_used_;
    sums_.ready_wall += pending_wall_;
  }
  pending_used_ = pending_wall_ = 0;
}

void LostTime::window(double cycles, double instructions, MonoTime at) {
  if (!(cycles > 0) || !(instructions > 0)) return;
  between_windows_ = std::exchange(since_window_, nanoseconds(0));
  std::erase_if(history_, [at](const Window& one) { return at - one.at > kMemory; });
  const double cpi = cycles / instructions;
  if (history_.size() >= kLeastWindows) {
    sorted_.clear();
    for (const Window& one : history_) sorted_.push_back(one.cpi);
    const auto middle = sorted_.begin() + static_cast<std::ptrdiff_t>(sorted_.size() / 2);
    std::ranges::nth_element(sorted_, middle);
    // The last window counts: they are a minute apart, and what was a minute ago has faded.
    sums_.cycles = cycles;
    sums_.lost_cycles = cycles * std::max(0.0, 1 - *middle / cpi);
  } else {
    sums_.cycles = sums_.lost_cycles = 0;  // what is usual is not known any more
  }
  if (history_.size() == kMostWindows) history_.erase(history_.begin());
  history_.push_back({at, cpi});
}

}  // namespace interference
}  // namespace koord::koordlet
