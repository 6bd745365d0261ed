// Waits grow by multiplication and are spread by a small generator of our own, so that a seed repeats them.
#include "koord/async/backoff.hpp"

#include <algorithm>

namespace koord {

namespace {
/// splitmix64, by Sebastiano Vigna (public domain): enough to spread waits.
double uniform(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1p-53;
}
}  // namespace

Backoff::Backoff(BackoffPolicy policy, std::uint64_t seed)
    : policy_(policy), random_(seed), wait_(std::min(policy.initial, policy.cap)) {}

nanoseconds Backoff::next() {
  const nanoseconds wait = wait_;
  ++tries_;
  // Compared as doubles: wait * factor may not fit into 64 bits.
  const double grown = static_cast<double>(wait_.count()) * policy_.factor;
  wait_ = grown < static_cast<double>(policy_.cap.count()) ? nanoseconds{static_cast<std::int64_t>(grown)}
                                                           : policy_.cap;
  if (policy_.jitter <= 0) return wait;
  return wait + nanoseconds{static_cast<std::int64_t>(static_cast<double>(wait.count()) * policy_.jitter *
                                                      uniform(random_))};
}

void Backoff::reset() {
  wait_ = std::min(policy_.initial, policy_.cap);
  tries_ = 0;
}

}  // namespace koord
