// GPUs that resource claims have: DeviceShare gives nothing of them, and says which GPUs its pods have.
#include <catch2/catch.hpp>

#include "device_rig.hpp"
#include "koord/scheduling/plugin/complaints.hpp"
#include "koord/scheduling/plugin/explain_plugin.hpp"
#include "scheduling/common_devices/common_devices.hpp"

namespace koord::scheduling::test {
namespace {

constexpr const char* kDriver = "gpu.example.test";

/// A machine "n" of four GPUs, and a slice that lists the same by their ids, numbers 0 to 3.
struct ClaimedWorld : DeviceWorld {
  CommonDevices& common = engine.context().shared.get<CommonDevices>();
  std::vector<std::string> told;

  explicit ClaimedWorld(std::size_t listed = 4) {
    engine.context().shared.get<Complaints>().tell(
        [this](std::string_view kind, const api::ObjectMeta& object, std::string_view what) {
          told.push_back(fmt::format("{} {}: {}", kind, object.name, what));
        });
    machine("n", {.gpus = 4});
    std::vector<CommonDevices::Offered> devices;
    for (CommonDevices::Number i = 0; i < listed; ++i)
      devices.push_back({.number = i, .driver = kDriver, .ids = {fmt::format("gpu-{}", i)}, .buses = {}});
    common.offer("n", std::move(devices));
  }
  void claim(CommonDevices::Number number) {
    common.claim({.number = number, .driver = kDriver, .node = "n"});
  }
};

TEST_CASE("of a GPU that a claim has nothing is given, until it is given back") {
  ClaimedWorld world;
  world.claim(0);
  world.claim(2);
  CHECK(world.place_text(whole_gpus("a", "200")) == "gpu 1 3");
  CHECK(world.refused(part_of_gpu("b", "10")) == "Insufficient GPU Devices");
  CHECK(world.put(part_of_gpu("b", "10")).kind() == Decision::Kind::unschedulable);
  // It is asked again when one is free.
  world.common.release(2);
  world.clock.advance(std::chrono::seconds(20));
  const Decision again = world.one();
  CHECK(again.pod->metadata.name == "b");
  CHECK(DeviceWorld::given(again) == "gpu 2");
}

TEST_CASE("claims are told which GPUs somebody has, and when nobody has them any more") {
  ClaimedWorld world;
  const auto there = world.place(part_of_gpu("a", "10"));
  CHECK(world.common.shared(0));
  CHECK_FALSE(world.common.shared(1));
  world.engine.remove_pod(*there);
  CHECK_FALSE(world.common.shared(0));
}

TEST_CASE("after a restart it is the same, whoever is known first") {
  const auto there = ClaimedWorld().place(whole_gpus("a", "100"));
  for (const bool claim_first : {false, true}) {
    ClaimedWorld world;
    if (claim_first) world.claim(1);
    world.engine.put_pod(there);
    if (!claim_first) world.claim(1);
    CHECK(world.common.shared(0));
    CHECK(world.place_text(whole_gpus("b", "200")) == "gpu 2 3");
  }
}

TEST_CASE("a Device that is gone, or not there yet, frees nothing for claims") {
  ClaimedWorld world;
  world.place(whole_gpus("a", "100"));
  world.engine.remove_object<api::Device>(DeviceMachine{}.device("n"));
  CHECK(world.common.shared(0));
  CHECK_FALSE(world.common.shared(1));

  const auto there = ClaimedWorld().place(whole_gpus("a", "100"));
  DeviceWorld restarted;
  auto& common = restarted.engine.context().shared.get<CommonDevices>();
  common.offer("n", {{.number = 7, .driver = kDriver, .ids = {"gpu-3"}, .buses = {}}});
  restarted.engine.put_node(DeviceMachine{.gpus = 4}.node("n"));
  restarted.engine.put_pod(there);
  CHECK(common.shared(7));  // nobody can say that it is not the one that the pod has
  restarted.engine.put_object<api::Device>(DeviceMachine{.gpus = 4}.device("n"));
  CHECK_FALSE(common.shared(7));
}

TEST_CASE("what is given twice, and what may be, is said once by the Device's name") {
  ClaimedWorld world;
  world.place(whole_gpus("a", "200"));
  world.claim(1);
  world.machine("n", {.gpus = 4, .labels = {{"another", "one"}}});  // as agents write it, again and again
  REQUIRE(world.told.size() == 1);
  CHECK(world.told[0] ==
        "Device n: pods have GPUs by DeviceShare that ResourceClaims have, too (minors 1): nobody is "
        "evicted, and "
        "nothing more of these is given until one side has given them back");
  // Nobody is worse off: the pod keeps what it has, and the rest is given.
  CHECK(world.place_text(whole_gpus("b", "200")) == "gpu 2 3");

  ClaimedWorld nameless(0);
  nameless.common.offer("n", {{.number = 0, .driver = kDriver, .ids = {}, .buses = {}}});
  nameless.machine("n", {.gpus = 4, .labels = {{"another", "one"}}});
  REQUIRE(nameless.told.size() == 1);
  CHECK(nameless.told[0].starts_with("Device n: this Device and ResourceSlices both list GPUs of the node"));
}

TEST_CASE("koord explain says how many of a node's GPUs are resource claims'") {
  ClaimedWorld world;
  world.claim(0);
  world.claim(3);
  AdmitExplainPlugin* explains = nullptr;
  for (const Profile::Named& named : world.engine.profiles()[0].plugins)
    if (named.name == "DeviceShare") explains = dynamic_cast<AdmitExplainPlugin*>(named.plugin.get());
  REQUIRE(explains != nullptr);
  const PodInfo pod = make_pod_info(whole_gpus("p", "400"), world.engine.context().nodes.resources());
  CHECK(explains->explain_admission(pod).summary ==
        std::vector<std::string>{"n has 2 of 4 gpu free, 2 of resource claims: Insufficient GPU Devices."});
}

}  // namespace
}  // namespace koord::scheduling::test
