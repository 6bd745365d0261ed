// Random: the scheduler's own generator, so that a seed means the same decisions on every machine.
#pragma once

#include <cstdint>

namespace koord::scheduling {

/// splitmix64; the bounded draw is Lemire's multiplication with rejection, so exactly uniform.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// 0 <= result < bound; bound > 0.
  std::uint32_t below(std::uint32_t bound) {
    std::uint64_t m = (next() >> 32) * bound;
    if (static_cast<std::uint32_t>(m) < bound) {
      std::uint32_t floor = -bound % bound;
      while (static_cast<std::uint32_t>(m) < floor) m = (next() >> 32) * bound;
    }
    return static_cast<std::uint32_t>(m >> 32);
  }

 private:
  std::uint64_t state_;
};

}  // namespace koord::scheduling
