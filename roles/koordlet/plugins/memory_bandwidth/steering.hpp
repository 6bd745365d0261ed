// Steering: how much of the memory's bandwidth best-effort work may have behind one cache, from what it and
// latency-sensitive work were seen to use.
#pragma once

#include <cstdint>
#include <optional>

namespace koord::koordlet::memory_bandwidth {

struct Terms {
  double capacity = 0;                  // bytes a second
  double target = 0.8;                  // the part of it that all may use together
  std::int64_t least = 10, most = 100;  // percent that best-effort work may have
  std::int64_t step = 10;               // what the hardware tells apart
  friend bool operator==(const Terms&, const Terms&) = default;
};

/// Bytes a second; NaN: not known.
struct Seen {
  double sensitive = 0, best_effort = 0;
};

/// Down at once where both together pass the target, to what the sensitive work leaves, by half at most; up
/// by a step where three readings have had room for it, and again with each one after. The hardware's
/// percentages are no bandwidth: what a percentage gives is seen by what it was used for. Readings that are
/// missing let go, a step each after three.
class Steering {
 public:
  Steering() = default;
  /// Goes on from what is in force.
  explicit Steering(std::int64_t percent) : percent_(percent) {}

  /// A reading's turn: the percentage from now on, within least and most.
  std::int64_t step(const Terms& terms, const Seen& seen);
  /// What was decided last; nothing: no reading yet.
  std::optional<std::int64_t> percent() const { return percent_; }

 private:
  std::optional<std::int64_t> percent_;
  double needed_ = 0;         // by sensitive work: rises at once, falls slowly
  int calm_ = 0, blind_ = 0;  // readings in a row
};

}  // namespace koord::koordlet::memory_bandwidth
