// Hints that are replayed: a pod that says which devices it was given gets these, or is told why not.
#include <catch2/catch.hpp>

#include "device_rig.hpp"
#include "koord/api/koordinator/scheduling.hpp"
#include "koord/base/metrics.hpp"
#include "koord/scheduling/config/profile.hpp"
#include "koord/scheduling/plugin/telling_plugin.hpp"

namespace koord::scheduling::test {
namespace {

/// Its hint wants back what its annotation says.
std::shared_ptr<const api::Pod> replayed(std::shared_ptr<const api::Pod> pod, std::string_view said,
                                         bool wants = true) {
  return changed(pod, [&](api::Pod& p) {
    p.metadata.annotations[api::DeviceAllocations::kAnnotation] = Symbol(said);
    p.metadata.annotations[api::kSchedulingHint] =
        wants ? R"({"extensions":{"DeviceShare":{}}})" : R"({"extensions":{"Other":{}}})";
  });
}
std::string gpus(std::initializer_list<int> minors, std::string_view percent = "100",
                 std::string_view more = "") {
  std::string all;
  for (const int minor : minors)
    all += fmt::format(
        R"({}{{"minor":{},"resources":{{"koordinator.sh/gpu-core":"{}","koordinator.sh/gpu-memory-ratio":"{}"{}}}}})",
        all.empty() ? "" : ",", minor, percent, percent, more);
  return fmt::format(R"({{"gpu":[{}]}})", all);
}

TEST_CASE("who says which devices it was given gets them again") {
  struct Row {
    const char* name;
    DeviceMachine machine;
    std::shared_ptr<const api::Pod> pod;
    std::string result;  // what it is given, or is told
  };
  const DeviceMachine plain{.gpus = 4, .topology = false};
  const std::string none = "0/1 nodes are available: 1 ";
  const Row rows[] = {
      {"one that is not the first", plain, replayed(whole_gpus("p", "100"), gpus({2})), "gpu 2"},
      {"two, in whatever order", plain, replayed(whole_gpus("p", "200"), gpus({3, 1})), "gpu 1 3"},
      {"a part", plain, replayed(part_of_gpu("p", "30"), gpus({2}, "30")), "gpu 2"},
      {"with its memory, which follows from its ratio", plain,
       replayed(part_of_gpu("p", "50"), gpus({3}, "50", R"(,"koordinator.sh/gpu-memory":"8Gi")")), "gpu 3"},
      {"without a hint that wants it the annotation is of no use", plain,
       replayed(whole_gpus("p", "100"), gpus({2}), false), "gpu 0"},
      {"one that another has", plain, replayed(whole_gpus("p", "100"), gpus({0})),
       none + "Insufficient gpu devices"},
      {"one that is sick",
       {.gpus = 4, .sick = {2}, .topology = false},
       replayed(whole_gpus("p", "100"), gpus({2})),
       none + "fillGPUTotalMem failed: no healthy gpu device with minor 2 of allocation, node: n"},
      {"one that there is not", plain, replayed(whole_gpus("p", "100"), gpus({7})),
       none + "fillGPUTotalMem failed: no healthy gpu device with minor 7 of allocation, node: n"},
      {"fewer than it asks for", plain, replayed(whole_gpus("p", "200"), gpus({2})),
       none + "Insufficient gpu devices"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    DeviceWorld world;
    world.machine("n", row.machine);
    if (row.result.find("Insufficient gpu devices") != std::string::npos && row.pod->metadata.name == "p")
      world.place(whole_gpus("first", "100"));
    const std::string given = world.place_text(row.pod);
    INFO(given);
    CHECK(given.starts_with(row.result));
  }
}

TEST_CASE("a node whose Device says that its secondary devices are not planned well is told of") {
  DeviceWorld world;
  metrics::Registry registry;
  for (const Profile::Named& named : world.engine.profiles()[0].plugins)
    if (auto* const counts = dynamic_cast<MeasuredPlugin*>(named.plugin.get())) counts->measure(registry);
  const auto told = [&](std::string_view node) {
    const std::string text = registry.exposition();
    return text.find(fmt::format(R"(scheduler_secondary_device_not_well_planned{{node_name="{}"}} 1)",
                                 node)) != std::string::npos;
  };
  const auto planned = [](std::string_view well) {
    return DeviceMachine{.labels = {{api::kSecondaryDeviceWellPlannedLabel, std::string(well)}}};
  };
  world.machine("well", planned("true"));
  world.machine("badly", planned("false"));
  world.machine("silent");
  CHECK_FALSE(told("well"));
  CHECK(told("badly"));
  CHECK_FALSE(told("silent"));
  world.engine.put_object<api::Device>(planned("true").device("badly"));
  CHECK_FALSE(told("badly"));
  world.engine.put_object<api::Device>(planned("false").device("well"));
  CHECK(told("well"));
  world.engine.remove_object<api::Device>(planned("false").device("well"));
  CHECK_FALSE(told("well"));
}

}  // namespace
}  // namespace koord::scheduling::test
