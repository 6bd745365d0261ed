// BlamedWaits: what latency-sensitive tasks waited for a CPU in one period, and who ran on those CPUs
// meanwhile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "koord/base/clock.hpp"

namespace koord::koordlet {

/// Whom a CPU belongs to while it runs: the QoS class of the pod, the system (all that is no pod), or nobody
/// (it idles although somebody waits for it: a wake-up on its way, or the waiter's own quota is used up).
enum class Runner : std::uint8_t { lse, lsr, ls, best_effort, system, nobody };
inline constexpr std::size_t kRunners = 6;
std::string_view name_of(Runner runner);  // "LSE", "BE", "system", "nobody"

/// In a tick's view: of the last second; null where nobody asks for it or the kernel does not tell.
/// Of LSE, LSR and LS tasks together. All sums are over waits that ended within the period.
struct BlamedWaits {
  std::uint64_t reading = 0;  // grows with each period that was read
  nanoseconds period{};       // how long it was, about a second; 0: nothing is known, whatever the sums are
  std::uint64_t waits = 0;    // those by the waiters' own quotas are not among them
  /// Seconds of waiting by who ran meanwhile: their sum is that of all waiting.
  std::array<double, kRunners> seconds{};
  /// Seconds of waiting that best-effort work caused: it ran on the waiter's CPU, or on another one that the
  /// waiter may use as well. 0 of a wait in which its own quota, or that of a group above it, was used up, or
  /// had been a quarter of a second before.
  double caused_seconds = 0;
  /// Of `seconds`, while somebody ran: what tasks waited whose own quota was used up like that.
  double own_quota_seconds = 0;
  /// The p99 of the caused part of each wait; a wait without such a part counts as 0. An upper bound of its
  /// bucket (four an octave); 0 where nobody waited.
  double best_effort_p99_us = 0;
  /// Whether somebody may act on it; `why_unfit` says why not (static text): losses, a reading that is
  /// missing or late, tiers that are not known yet.
  bool fit = false;
  std::string_view why_unfit;
  /// Seconds that tasks of an LSE, LSR or LS pod waited by best-effort work's doing, by the pod's uid, within
  /// the last five seconds. Who did not is not in it.
  std::unordered_map<std::string, double> pods = {};

  double of(Runner runner) const { return seconds[static_cast<std::size_t>(runner)]; }
};

}  // namespace koord::koordlet
