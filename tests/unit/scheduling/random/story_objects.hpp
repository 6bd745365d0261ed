// The random numbers of one seed, from which a world's objects are made.
#pragma once

#include <cstddef>
#include <random>
#include <string>

namespace koord::scheduling::test {

/// The same numbers for the same seed. Worlds derive their objects from it.
class StoryObjects {
 public:
  /// Clusters of up to `nodes` nodes n0, n1, ...
  StoryObjects(unsigned seed, unsigned nodes) : random_(seed), nodes_(static_cast<int>(nodes)) {}

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T, std::size_t n>
  const T& one_of(const T (&all)[n]) {
    return all[below(static_cast<int>(n))];
  }
  /// One of the names that nodes may have.
  std::string node_name() { return "n" + std::to_string(below(nodes_)); }

 protected:
  std::mt19937 random_;

 private:
  int nodes_;
};

}  // namespace koord::scheduling::test
