// Compares the scheduler's engine with the oracle on random machines with GPUs, NICs and FPGAs, under
// DeviceShare, every node at every step.
//   scheduler_reference_devices [STEPS [SEED]]
#include "random/devices/devices_world.hpp"
#include "random/stories.hpp"

int main(int argc, char** argv) {
  return koord::scheduling::test::run_stories<koord::scheduling::test::RandomDevicesWorld>(
      argc, argv, "scheduler_reference_devices", "engine and oracle agree on devices");
}
