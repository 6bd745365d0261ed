// Runs random worlds, one story a seed, until they have taken so many steps or one finds something.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "koord/scheduling/engine/engine.hpp"

namespace koord::scheduling::test {

/// A program's main(): `NAME [STEPS [SEED]]`. A World has step(), empty() and what they found. `agree` ends
/// the line of success. Every other seed has next to no memory for classes and a short log: nearly
/// everything is forgotten and made again.
template <class World>
int run_stories(int argc, char** argv, const char* name, const char* agree) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 1'000;
  const auto first = static_cast<unsigned>(argc > 2 ? std::atoi(argv[2]) : 1);
  if (steps <= 0) {
    std::fprintf(stderr, "usage: %s [STEPS [SEED]]\n", name);
    return 2;
  }
  const EngineOptions forgetful{
      .queue = {}, .class_memory = {.per_node = 0, .floor = 1 << 10}, .min_log = 16};
  constexpr int kStory = 200;  // steps of a seed
  unsigned seed = first;
  std::map<std::string, std::size_t> met;
  for (int done = 0; done < steps; ++seed) {
    World world(seed, seed % 2 == 0 ? forgetful : EngineOptions{});
    for (int i = 0; i < kStory && done < steps && world.found().empty(); ++i, ++done) world.step();
    world.empty();
    if (!world.found().empty()) {
      std::printf("%s\n\nTo see it again: %s %d %u\n", world.found().c_str(), name, kStory, seed);
      return 1;
    }
    for (const auto& [what, n] : world.met()) met[what] += n;
  }
  for (const auto& [what, n] : met) std::printf("%-34s %10zu\n", what.c_str(), n);
  std::printf("seeds %u to %u, %d steps: %s\n", first, seed - 1, steps, agree);
  return 0;
}

}  // namespace koord::scheduling::test
