// Work whose amount is known, for the protection benchmark: units of arithmetic and dependent reads, and the
// time that this machine takes for them.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace protection {

inline std::int64_t now_ns(clockid_t clock = CLOCK_MONOTONIC) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

/// Until CLOCK_MONOTONIC has passed it; at once if it has.
inline void wait_until(std::int64_t ns) {
  const timespec time{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) {
  }
}

/// A walk through a table of the size of half a CPU's own cache, with arithmetic at each step: that others
/// leave the cache cold is felt, as by most services; the machine's shared cache, which guests of the same
/// host share, too, is not. Walks share a table; each has its own place in it.
class Work {
 public:
  explicit Work(std::size_t bytes = std::size_t{512} << 10) : next_(bytes / sizeof(std::uint32_t)) {
    std::iota(next_.begin(), next_.end(), 0U);
    std::mt19937 dice(1);
    for (std::size_t i = next_.size() - 1; i > 0; --i)  // one cycle through all (Sattolo)
      std::swap(next_[i], next_[std::uniform_int_distribution<std::size_t>(0, i - 1)(dice)]);
  }
  /// `place` is where the walk stands, and goes on from.
  void run(std::int64_t units, std::uint64_t& place) const {
    std::uint64_t mixed = place | 1U;
    auto at = static_cast<std::uint32_t>(place % next_.size());
    for (std::int64_t i = 0; i < units; ++i) {
      at = next_[at];
      for (int round = 0; round < 32; ++round) {
        mixed ^= mixed << 13U;
        mixed ^= mixed >> 7U;
        mixed ^= mixed << 17U;
      }
      asm volatile("" : "+r"(mixed));
    }
    place = at;
  }
  /// Units a millisecond of CPU time, of the best of many tries: what a machine that is left alone does.
  double calibrate() const {
    constexpr std::int64_t kUnits = 20'000;
    double best = 0;
    std::uint64_t place = 7;
    for (const std::int64_t end = now_ns() + 2'000'000'000; now_ns() < end;) {
      const std::int64_t began = now_ns(CLOCK_THREAD_CPUTIME_ID);
      run(kUnits, place);
      best = std::max(best, kUnits * 1e6 / static_cast<double>(now_ns(CLOCK_THREAD_CPUTIME_ID) - began));
    }
    return best;
  }

 private:
  std::vector<std::uint32_t> next_;
};

/// `--name=value` words; nothing if one is something else or unknown.
inline std::optional<std::map<std::string, std::string>> options(int argc, char** argv,
                                                                 std::map<std::string, std::string> known) {
  for (int i = 1; i < argc; ++i) {
    const char* equals = std::strchr(argv[i], '=');
    const std::string name(argv[i], equals == nullptr ? std::strlen(argv[i]) : equals - argv[i]);
    const auto found = known.find(name);
    if (found == known.end()) {
      std::fprintf(stderr, "unknown: %s\n", argv[i]);
      return std::nullopt;
    }
    found->second = equals == nullptr ? "yes" : equals + 1;
  }
  return known;
}

}  // namespace protection
