// What work costs when there is ten times as much of it: tells n log n from n * n on a busy machine, too.
#pragma once

#include <algorithm>
#include <ctime>

namespace koord::test {

/// The CPU time of this thread, in seconds, that `work(count)` takes.
template <class Work>
double cpu_seconds(std::size_t count, Work&& work) {
  const auto now = [] {
    std::timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  const double began = now();
  work(count);
  return now() - began;
}

/// How many times as long ten times as much work takes: about 10 for what is linear, 13 for n log n, up to
/// 100 for what is quadratic.
template <class Work>
double growth(std::size_t count, Work&& work) {
  double least = cpu_seconds(count, work);
  for (int i = 0; i < 4; ++i) least = std::min(least, cpu_seconds(count, work));
  return cpu_seconds(10 * count, work) / least;
}
/// Between the two.
inline constexpr double kMostGrowth = 25;

}  // namespace koord::test
