// Compares the scheduler's engine with the oracle on random clusters with reservations, under Koordinator's
// plugins, every node at every step.
//   scheduler_reference_reserved [STEPS [SEED]]
#include <cstdio>
#include <cstdlib>

#include "random/reserved/reserved_world.hpp"

int main(int argc, char** argv) {
  using namespace koord::scheduling;
  const int steps = argc > 1 ? std::atoi(argv[1]) : 1'000;
  const auto first = static_cast<unsigned>(argc > 2 ? std::atoi(argv[2]) : 1);
  if (steps <= 0) {
    std::fprintf(stderr, "usage: scheduler_reference_reserved [STEPS [SEED]]\n");
    return 2;
  }
  // Next to no memory for classes and a short log: nearly everything is forgotten and made again.
  const EngineOptions forgetful{
      .queue = {}, .class_memory = {.per_node = 0, .floor = 1 << 10}, .min_log = 16};
  constexpr int kStory = 200;  // steps of a seed
  unsigned seed = first;
  std::map<std::string, std::size_t> met;
  for (int done = 0; done < steps; ++seed) {
    test::ReservedWorld world(seed, seed % 2 == 0 ? forgetful : EngineOptions{});
    for (int i = 0; i < kStory && done < steps && world.found().empty(); ++i, ++done) world.step();
    world.empty();
    if (!world.found().empty()) {
      std::printf("%s\n\nTo see it again: scheduler_reference_reserved %d %u\n", world.found().c_str(),
                  kStory, seed);
      return 1;
    }
    for (const auto& [what, n] : world.met()) met[what] += n;
  }
  for (const auto& [what, n] : met) std::printf("%-34s %10zu\n", what.c_str(), n);
  std::printf("seeds %u to %u, %d steps: engine and oracle agree on reservations\n", first, seed - 1, steps);
  return 0;
}
