// What becomes of random pods before they are bound: gates, other schedulers, and changes by others.
#pragma once

#include <memory>
#include <random>

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduling::test {

/// With random numbers of its own, as RandomLoads.
class PodLives {
 public:
  static constexpr const char* kProfiles[] = {"default-scheduler", "second-scheduler"};

  explicit PodLives(unsigned seed) : random_(seed * 104'729 + 3) {}

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return below(100) < percent; }

  /// Some ask for resources as a whole, some are gated, some are another profile's or another scheduler's,
  /// some have a seat, and of some extenders are asked.
  std::shared_ptr<const api::Pod> dress(std::shared_ptr<const api::Pod> pod, bool extended);
  /// As somebody may write it anew while it waits, or while its binding is on its way.
  std::shared_ptr<const api::Pod> change(const api::Pod& pod, bool assumed, api::SymbolMap labels);
  /// A profile is to decide about it.
  static bool is_ours(const api::Pod& pod);

 private:
  std::mt19937 random_;
};

}  // namespace koord::scheduling::test
