// Compares the scheduler's engine with the oracle on random clusters with reservations, under Koordinator's
// plugins, every node at every step.
//   scheduler_reference_reserved [STEPS [SEED]]
#include "random/reserved/reserved_world.hpp"
#include "random/stories.hpp"

int main(int argc, char** argv) {
  return koord::scheduling::test::run_stories<koord::scheduling::test::ReservedWorld>(
      argc, argv, "scheduler_reference_reserved", "engine and oracle agree on reservations");
}
