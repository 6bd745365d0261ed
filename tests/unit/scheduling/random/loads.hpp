// Random reports of what nodes use, with arguments and annotations that LoadAwareScheduling judges by.
#pragma once

#include <memory>
#include <random>
#include <string>

#include "random/objects.hpp"

namespace koord::scheduling::test {

/// With random numbers of its own: the stories of worlds in which nobody looks at loads are as they were.
class RandomLoads {
 public:
  explicit RandomLoads(unsigned seed) : random_(seed * 7919 + 5), on_(seed % 2 == 1) {}

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return below(100) < percent; }

  /// In every other world the profile has LoadAwareScheduling.
  bool on() const { return on_; }
  RandomProfile with_loads(RandomProfile profile);
  std::shared_ptr<const api::Node> dress(std::shared_ptr<const api::Node> node);
  std::shared_ptr<const api::Pod> dress(std::shared_ptr<const api::Pod> pod);
  /// What the API server and the node agent write of a pod that is on its node since some time.
  void settle(api::Pod& pod, WallTime now);
  /// Of a node, with some of its pods.
  std::shared_ptr<const api::NodeMetric> report(const std::string& node, const reference::Cluster& cluster);

 private:
  template <class T, std::size_t n>
  const T& one_of(const T (&all)[n]) {
    return all[below(static_cast<int>(n))];
  }
  std::string numbers(reference::LoadArgs::Numbers& into, std::initializer_list<const char*> names, int most);
  api::ResourceMap usage(int most);

  std::mt19937 random_;
  bool on_;
};

}  // namespace koord::scheduling::test
