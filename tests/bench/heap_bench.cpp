// The queues' heap beside Boost's that can give up any element: pods come, some leave the middle, all are
// taken.
// usage: heap_bench [PODS [PODS_A_RUN]]
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/heap/d_ary_heap.hpp>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <random>
#include <vector>

#include "koord/scheduling/queue/indexed_heap.hpp"

namespace {

using namespace koord::scheduling;

/// As PrioritySort has it.
struct Before {
  bool operator()(const QueuedPod& a, const QueuedPod& b) const {
    return a.priority != b.priority ? a.priority > b.priority : a.order < b.order;
  }
};
/// Boost's top is the largest.
struct After {
  bool operator()(const QueuedPod* a, const QueuedPod* b) const { return Before()(*b, *a); }
};

/// Every third pod leaves before its turn.
constexpr std::size_t kLeaves = 3;

std::uint64_t with_ours(std::vector<QueuedPod>& pods) {
  IndexedHeap<Before> heap{Before()};
  for (QueuedPod& pod : pods) heap.push(&pod);
  for (std::size_t i = 0; i < pods.size(); i += kLeaves) heap.erase(&pods[i]);
  std::uint64_t sum = 0, place = 0;
  while (!heap.empty()) sum += heap.pop()->order * ++place;
  return sum;
}

template <int kArity>
std::uint64_t with_boost(std::vector<QueuedPod>& pods) {
  using Heap = boost::heap::d_ary_heap<QueuedPod*, boost::heap::arity<kArity>, boost::heap::mutable_<true>,
                                       boost::heap::compare<After>>;
  Heap heap;
  static std::vector<typename Heap::handle_type> handles;  // a pod would carry its own
  handles.clear();
  for (QueuedPod& pod : pods) handles.push_back(heap.push(&pod));
  for (std::size_t i = 0; i < pods.size(); i += kLeaves) heap.erase(handles[i]);
  std::uint64_t sum = 0, place = 0;
  while (!heap.empty()) {
    sum += heap.top()->order * ++place;
    heap.pop();
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 10'000;
  const int a_run = argc > 2 ? std::atoi(argv[2]) : 200'000;
  if (count < 1) return 2;
  std::vector<QueuedPod> pods(static_cast<std::size_t>(count));
  std::minstd_rand random(7);
  for (std::size_t i = 0; i < pods.size(); ++i) {
    pods[i].priority = static_cast<std::int32_t>(random() % 4) * 1000;
    pods[i].order = i;
  }
  constexpr int kRounds = 7;
  const int times = std::max(1, a_run / count);
  std::array<std::array<double, kRounds>, 3> took{};
  std::array<std::uint64_t, 3> sums{};
  for (std::size_t round = 0; round < kRounds; ++round)
    for (std::size_t which = 0; which < took.size(); ++which) {
      const std::clock_t began = std::clock();
      for (int i = 0; i < times; ++i)
        sums[which] = which == 0 ? with_ours(pods) : which == 1 ? with_boost<2>(pods) : with_boost<4>(pods);
      took[which][round] = static_cast<double>(std::clock() - began) * 1e9 / CLOCKS_PER_SEC / times / count;
    }
  fmt::print("{} pods; CPU nanoseconds a pod, medians of {} interleaved runs\n", count, kRounds);
  constexpr const char* kNames[] = {"IndexedHeap", "boost::heap::d_ary_heap, 2 children", "4 children"};
  for (std::size_t which = 0; which < took.size(); ++which) {
    std::ranges::sort(took[which]);
    fmt::print("{:<40} {:>7.0f}\n", kNames[which], took[which][kRounds / 2]);
  }
  return sums[0] == sums[1] && sums[0] == sums[2] ? 0 : 1;
}
