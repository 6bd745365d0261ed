// Compares the scheduler's engine with the oracle on random machines with memory nodes, under
// NodeNUMAResource, every node at every step.
//   scheduler_reference_numa [STEPS [SEED]]
#include "random/numa/numa_world.hpp"
#include "random/stories.hpp"

int main(int argc, char** argv) {
  return koord::scheduling::test::run_stories<koord::scheduling::test::RandomNumaWorld>(
      argc, argv, "scheduler_reference_numa", "engine and oracle agree on CPUs and memory nodes");
}
