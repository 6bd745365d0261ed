// Compares the scheduler's engine with the oracle on random nodes whose drivers offer devices, under
// DynamicResources, every node at every step.
//   scheduler_reference_claims [STEPS [SEED]]
#include "random/claims/claims_world.hpp"
#include "random/stories.hpp"

int main(int argc, char** argv) {
  return koord::scheduling::test::run_stories<koord::scheduling::test::RandomClaimsWorld>(
      argc, argv, "scheduler_reference_claims", "engine and oracle agree on claims");
}
