// Compares the scheduler's engine with the oracle on random clusters, every node at every step.
//   scheduler_reference [STEPS [SEED]]
#include <cstdio>
#include <cstdlib>

#include "random/random_world.hpp"

int main(int argc, char** argv) {
  using namespace koord::scheduling;
  const int steps = argc > 1 ? std::atoi(argv[1]) : 1'000;
  const auto first = static_cast<unsigned>(argc > 2 ? std::atoi(argv[2]) : 1);
  if (steps <= 0) {
    std::fprintf(stderr, "usage: scheduler_reference [STEPS [SEED]]\n");
    return 2;
  }
  // Next to no memory for classes and a short log: nearly everything is forgotten and made again.
  const EngineOptions options{.queue = {}, .class_memory = {.per_node = 0, .floor = 1 << 10}, .min_log = 16};
  constexpr int kStory = 200;  // steps of a seed
  unsigned seed = first;
  std::map<std::string, test::RandomWorld::Met> met;
  for (int done = 0; done < steps; ++seed) {
    test::RandomWorld world(seed, options);
    for (int i = 0; i < kStory && done < steps; ++i, ++done) {
      world.step();
      if (world.found().empty()) continue;
      std::printf("%s\n\nTo see it again: scheduler_reference %d %u\n", world.found().c_str(), i + 1, seed);
      return 1;
    }
    for (const auto& [plugin, n] : world.met()) {
      met[plugin].rejected += n.rejected;
      met[plugin].scored += n.scored;
    }
  }
  std::printf("%-34s %10s %10s\n", "nodes compared", "rejected", "scored");
  for (const auto& [plugin, n] : met)
    std::printf("%-34s %10zu %10zu\n", plugin.empty() ? "(not named by PreFilter)" : plugin.c_str(),
                n.rejected, n.scored);
  std::printf("seeds %u to %u, %d steps: engine and oracle agree on every node\n", first, seed - 1, steps);
  return 0;
}
