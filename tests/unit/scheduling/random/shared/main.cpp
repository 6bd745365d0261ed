// Random quotas and gangs through the scheduler's engine, judged at each step by the objects alone.
//   scheduler_reference_shared [STEPS [SEED]]
#include "random/shared/shared_world.hpp"
#include "random/stories.hpp"

int main(int argc, char** argv) {
  return koord::scheduling::test::run_stories<koord::scheduling::test::SharedWorld>(
      argc, argv, "scheduler_reference_shared",
      "what the engine does of quotas and gangs is what they allow");
}
