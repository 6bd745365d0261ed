// What work costs when there is ten times as much of it: tells n log n from n * n on a busy machine, too.
#pragma once

#include <algorithm>
#include <ctime>

namespace koord::test {

/// The CPU time of this thread, in seconds, that `work(count)` takes: the least of three.
template <class Work>
double cpu_seconds(std::size_t count, Work&& work) {
  const auto now = [] {
    std::timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    const double began = now();
    work(count);
    least = std::min(least, now() - began);
  }
  return least;
}

/// About 10 for what is linear, 13 for n log n, 100 for what is quadratic.
template <class Work>
double growth(std::size_t count, Work&& work) {
  return cpu_seconds(10 * count, work) / cpu_seconds(count, work);
}
/// Between the two.
inline constexpr double kMostGrowth = 35;

}  // namespace koord::test
