// FragmentationGradient: where it leaves GPUs whole for the pods that come, and what it makes of a profile.
#include <catch2/catch.hpp>

#include "device_rig.hpp"
#include "koord/scheduling/config/profile.hpp"

namespace koord::scheduling::test {
namespace {

KubeSchedulerConfiguration packing(std::string_view args = {}, std::int32_t weight = 1) {
  KubeSchedulerConfiguration config = device_config(
      R"({"scoringStrategy":{"type":"MostAllocated","resources":[{"name":"koordinator.sh/gpu-memory-ratio","weight":1}]}})");
  ProfileConfig& profile = config.profiles[0];
  profile.plugins->score.enabled = {{"FragmentationGradient", weight}};
  if (!args.empty())
    profile.plugin_config.push_back({"FragmentationGradient", api::RawJson{std::string(args)}, nullptr});
  return config;
}

/// Pods of other schedulers count, too: all that come make the mix.
void come(DeviceWorld& world, int pods, std::string_view percent) {
  for (int i = 0; i < pods; ++i)
    world.engine.put_pod(changed(whole_gpus(fmt::format("comes-{}", i), percent),
                                 [](api::Pod& p) { p.spec.scheduler_name = "another"; }));
}

struct PackingWorld : DeviceWorld {
  explicit PackingWorld(std::string_view args = {}) : DeviceWorld(packing(args)) {}
  std::string node_of(const std::shared_ptr<const api::Pod>& pod) {
    const Decision d = put(pod);
    return d.kind() == Decision::Kind::bind ? d.node().str() : d.message();
  }
};

TEST_CASE("pods go where they leave most to those that come") {
  const auto cpus = [](std::string_view amount) { return make_pod("p", amount); };
  struct Row {
    const char* name;
    std::string_view come;  // what pods ask for that come
    std::shared_ptr<const api::Pod> pod;
    const char* node;
  };
  // "broken" has four GPUs, of one of which half is taken, "whole" has four, "none" has none.
  const Row rows[] = {
      {"a share goes where a GPU is shared already", "100", part_of_gpu("p", "50"), "broken"},
      {"one that does not fit beside it breaks a GPU where one is broken, for pods that want all four", "400",
       part_of_gpu("p", "60"), "broken"},
      {"a whole one, where pods come that want all four", "400", whole_gpus("p", "100"), "broken"},
      {"CPUs that GPUs need are left to them", "100", cpus("62"), "none"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    PackingWorld world;
    world.engine.put_node(make_node("none", "64", "256Gi"));
    world.machine("broken", {.gpus = 4});
    world.machine("whole", {.gpus = 4});
    const auto taken = part_of_gpu("taken", "50");
    world.engine.put_pod(make_pod(
        "taken", "1", "1Gi",
        device_pod(
            {{api::kGpuCore, "50"}, {api::kGpuMemoryRatio, "50"}},
            {allocated(
                R"({"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"50","koordinator.sh/gpu-memory-ratio":"50"}}]})")},
            "broken")));
    come(world, 100, row.come);
    CHECK(world.node_of(row.pod) == row.node);
  }
}

TEST_CASE("what nodes are worth follows the pods that come") {
  PackingWorld world(R"({"halfLifePods":10})");
  world.machine("two", {.gpus = 2});
  world.machine("four", {.gpus = 4});
  // One of two: of use to nobody who wants two. Of four two are left to one of them, three to none.
  come(world, 50, "200");
  const auto pod = whole_gpus("p", "100");
  const std::int64_t before = world.score(pod, "two") - world.score(pod, "four");
  come(world, 50, "200");  // the same pods again: told, not come
  CHECK(world.score(pod, "two") - world.score(pod, "four") == before);
  for (int i = 0; i < 200; ++i)
    world.engine.put_pod(changed(whole_gpus(fmt::format("four-{}", i), "400"),
                                 [](api::Pod& p) { p.spec.scheduler_name = "another"; }));
  const std::int64_t after = world.score(pod, "two") - world.score(pod, "four");
  CHECK(after > before);  // "four" is now what all want
}

TEST_CASE("FragmentationGradient in a profile") {
  for (const char* args :
       {R"({"halfLifePods":-1})", R"({"halfLifePods":1000001})", R"({"halfLifePods":1})"}) {
    KubeSchedulerConfiguration config = packing(args);
    REQUIRE(complete(config, plugin_table()).has_value());
    const Result<> valid = validate(config, plugin_table());
    INFO(args);
    CHECK(valid.has_value() == std::string_view(args).ends_with(R"(":1})"));
    if (!valid) CHECK_THAT(valid.error().message(), Catch::Contains("must be from 1 to 1000000"));
  }
  CHECK_THROWS_WITH(DeviceWorld(packing({}, 30'000)), Catch::Contains("could overflow"));
  CHECK_NOTHROW(DeviceWorld(packing({}, 10'000)));
  // A node without a Device, and a pod without GPUs on a node with them: neither good nor bad.
  PackingWorld world;
  world.engine.put_node(make_node("n", "64", "256Gi"));
  CHECK(world.score(make_pod("p"), "n") == 50'000);
  world.machine("gpus", {.gpus = 8});
  come(world, 10, "100");
  CHECK(world.score(make_pod("p"), "gpus") == 50'000);
}

}  // namespace
}  // namespace koord::scheduling::test
