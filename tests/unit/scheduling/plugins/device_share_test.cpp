// DeviceShare: whom it refuses and why, which devices pods get, that nobody gets another's, and what of it
// lasts.
#include <catch2/catch.hpp>
#include <map>

#include "device_rig.hpp"
#include "koord/api/types/core_v1/config_map.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"
#include "koord/scheduling/config/profile.hpp"
#include "koord/scheduling/plugin/explain_plugin.hpp"
#include "koord/scheduling/plugin/service_plugin.hpp"

namespace koord::scheduling::test {
namespace {

TEST_CASE("what DeviceShare says of nodes and pods, in Koordinator's words") {
  struct Row {
    const char* name;
    DeviceMachine machine;
    std::shared_ptr<const api::Pod> pod;
    const char* refused;
    bool reports = true;
    const char* args = "";
  };
  const DeviceMachine plain;
  const Texts hami{{api::kGpuIsolationProviderLabel, "HAMi-core"}};
  const auto with_label = [](std::shared_ptr<const api::Pod> pod) {
    return changed(pod,
                   [](api::Pod& p) { p.metadata.labels[api::kGpuIsolationProviderLabel] = "HAMi-core"; });
  };
  constexpr const char* kUnshared = R"({"gpuShareUnsupportedModels":[{"vendor":"nvidia","model":"A100"}]})";
  const Texts a100{{api::kGpuVendorLabel, "nvidia"}, {api::kGpuModelLabel, "A100"}};
  const Row rows[] = {
      {"nothing is asked for", plain, make_pod("p"), ""},
      {"one", plain, whole_gpus("p", "100"), ""},
      {"all", plain, whole_gpus("p", "800"), ""},
      {"more than all", plain, whole_gpus("p", "900"), "Insufficient GPU Devices"},
      {"nvidia's", plain, gpu_pod("p", {{api::kNvidiaGpu, "9"}}), "Insufficient GPU Devices"},
      {"a part", plain, part_of_gpu("p", "50"), ""},
      {"one and a half", plain, whole_gpus("p", "150"), "invalid resource unit koordinator.sh/gpu: 150"},
      {"core alone", plain, gpu_pod("p", {{api::kGpuCore, "50"}}),
       "invalid resource device requests: [koordinator.sh/gpu-core]"},
      {"more memory than one has", plain, gpu_pod("p", {{api::kGpuMemory, "17Gi"}}),
       "Insufficient GPU Devices"},
      {"a sick one", {.gpus = 1, .sick = {0}}, whole_gpus("p", "100"), "Insufficient GPU Devices"},
      {"RDMA, of which there is none", plain, gpu_pod("p", {{api::kRdma, "100"}}),
       "Insufficient rdma devices"},
      {"RDMA", {.rdma = 4}, gpu_pod("p", {{api::kRdma, "100"}}), ""},
      {"more RDMA than there is",
       {.rdma = 4},
       gpu_pod("p", {{api::kRdma, "500"}}),
       "Insufficient rdma devices"},
      {"the kubelet's alone", plain, whole_gpus("p", "900"), "", false},
      {"nobody isolates", plain, with_label(part_of_gpu("p", "50")),
       "GPUIsolationProviderHAMICore not found on the node"},
      {"isolated", {.node_labels = hami}, with_label(part_of_gpu("p", "50")), ""},
      {"whole ones need no isolation", plain, with_label(whole_gpus("p", "100")), ""},
      {"a model that is not shared",
       {.node_labels = a100},
       part_of_gpu("p", "50"),
       "model \"A100\" of vendor \"nvidia\" does not support GPU Share",
       true,
       kUnshared},
      {"whole ones of it", {.node_labels = a100}, whole_gpus("p", "100"), "", true, kUnshared},
      {"a hint that nobody can read", plain,
       gpu_pod("p", {{api::kGpu, "100"}}, {{api::DeviceHints::kAnnotation, "{"}}),
       "invalid DeviceAllocateHint annotation, err: "},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    DeviceWorld world(row.args);
    world.engine.put_node(row.machine.node("n"));
    if (row.reports) world.engine.put_object<api::Device>(row.machine.device("n"));
    const std::string said = world.refused(row.pod);
    if (std::string_view(row.refused).ends_with("err: "))
      CHECK(said.starts_with(row.refused));
    else
      CHECK(said == row.refused);
    // What its filter proves holds when it is given.
    world.engine.put_pod(row.pod);
    CHECK((world.one().kind() == Decision::Kind::bind) == std::string(row.refused).empty());
  }
}

TEST_CASE("what a pod was given is written with its binding") {
  DeviceWorld world;
  world.machine("n", {.gpus = 2, .suffix = "x"});
  const Decision d = world.put(part_of_gpu("p", "50"));
  REQUIRE(d.as<Decision::Bind>() != nullptr);
  CHECK(
      *d.as<Decision::Bind>()->changes->annotations.find(api::DeviceAllocations::kAnnotation) ==
      R"({"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"50","koordinator.sh/gpu-memory":"8Gi","koordinator.sh/gpu-memory-ratio":"50"},"id":"gpu-0x"}]})");
}

TEST_CASE("nobody is given another's devices, and who goes leaves his") {
  DeviceWorld world;
  world.machine("n", {.gpus = 2});
  CHECK(world.place_text(part_of_gpu("a", "60")) == "gpu 0");
  CHECK(world.place_text(part_of_gpu("b", "60")) == "gpu 1");
  const std::string none = "0/1 nodes are available: 1 Insufficient GPU Devices.";
  CHECK(world.place_text(part_of_gpu("c", "50")).starts_with(none));
  CHECK(world.place_text(part_of_gpu("d", "40")) == "gpu 0");
  CHECK(world.run().empty());
  world.engine.remove_pod(*part_of_gpu("b", "60"));
  const auto out = world.run();
  REQUIRE(out.size() == 1);
  CHECK(out[0].pod->metadata.name == "c");
  CHECK(DeviceWorld::given(out[0]) == "gpu 1");
}

TEST_CASE("what a pod was given is there again when its binding fails") {
  DeviceWorld world;
  world.machine("n", {.gpus = 2, .rdma = 1});
  const auto pod = gpu_pod("p", {{api::kGpu, "200"}, {api::kRdma, "100"}});
  const Decision d = world.put(pod);
  CHECK(DeviceWorld::given(d) == "gpu 0 1 rdma 0");
  CHECK(world.refused(part_of_gpu("q", "1")) == "Insufficient GPU Devices");
  REQUIRE(world.engine.binding_failed(*d.pod));
  CHECK(world.refused(gpu_pod("q", {{api::kGpu, "200"}, {api::kRdma, "100"}})).empty());
  // Who asked for none, and who is on a node of which nothing is known, leave nothing behind.
  world.engine.remove_pod(*pod);
  const Decision none = world.put(make_pod("none"));
  REQUIRE(world.engine.binding_failed(*none.pod));
  world.engine.remove_object<api::Device>(DeviceMachine{}.device("n"));
  const Decision unknown = world.put(make_pod("unknown"));
  REQUIRE(world.engine.binding_failed(*unknown.pod));
}

TEST_CASE("a restart, a Device that comes late, and one that changes") {
  const auto there = make_pod(
      "there", "1", "1Gi",
      device_pod(
          {{api::kGpu, "100"}},
          {allocated(
              R"({"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory-ratio":"100","koordinator.sh/gpu-memory":"16Gi"}}]})")},
          "n"));
  for (const int order : {0, 1, 2}) {
    INFO(order);
    DeviceWorld world;
    const DeviceMachine two{.gpus = 2};
    if (order == 0) world.engine.put_pod(there);
    if (order != 1) world.engine.put_node(two.node("n"));
    if (order == 2) world.engine.put_pod(there);
    world.engine.put_object<api::Device>(two.device("n"));
    if (order == 1) {
      world.engine.put_pod(there);
      world.engine.put_node(two.node("n"));
    }
    CHECK(world.place_text(whole_gpus("p", "100")) == "gpu 1");
    // It grows, its second goes, it is deleted, and comes back.
    world.engine.put_object<api::Device>(DeviceMachine{.gpus = 3}.device("n"));
    CHECK(world.refused(whole_gpus("q", "100")).empty());
    CHECK(world.refused(whole_gpus("q", "200")) == "Insufficient GPU Devices");
    world.engine.put_object<api::Device>(DeviceMachine{.gpus = 1}.device("n"));
    CHECK(world.refused(whole_gpus("q", "100")) == "Insufficient GPU Devices");
    world.engine.remove_object<api::Device>(two.device("n"));
    CHECK(world.refused(whole_gpus("q", "100")) == "Insufficient GPU Devices");
    world.engine.put_object<api::Device>(DeviceMachine{.gpus = 3, .sick = {2}}.device("n"));
    CHECK(world.refused(whole_gpus("q", "100")) == "Insufficient GPU Devices");
    world.engine.put_object<api::Device>(DeviceMachine{.gpus = 3}.device("n"));
    CHECK(world.place_text(whole_gpus("q", "100")) == "gpu 2");
  }
}

TEST_CASE("with DevicePluginAdaption a pod has what its vendor's device plugin looks for") {
  struct Row {
    const char* vendor;
    bool works;  // something is done before the binding
    std::vector<std::string> keys;
  };
  const std::string time = "scheduling.koordinator.sh/bind-timestamp",
                    minors = "scheduling.koordinator.sh/gpu-minors",
                    given(api::DeviceAllocations::kAnnotation);
  const Row rows[] = {
      {"nvidia", false, {time, given, minors}},
      {"huawei", false, {"huawei.com/npu-core", "predicate-time", time, given, minors}},
      {"cambricon", true, {"CAMBRICON_DSMLU_ASSIGHED", "CAMBRICON_DSMLU_PROFILE", time, given, minors}},
      {"metax", true, {"metax-tech.com/gpu-devices-allocated", time, given, minors}},
  };
  static constexpr FeatureGate kGates[] = {
      {.name = "DevicePluginAdaption", .enabled = true, .stage = Stage::alpha, .help = ""}};
  const FeatureGates gates{kGates};
  for (const Row& row : rows) {
    INFO(row.vendor);
    DeviceWorld world(device_config(), gates);
    world.machine("n", {.gpus = 1, .labels = {{api::kGpuVendorLabel, row.vendor}}});
    const Decision d = world.put(part_of_gpu("p", "50"));
    const auto* const bind = d.as<Decision::Bind>();
    REQUIRE(bind != nullptr);
    CHECK(bind->pre_binds.empty() != row.works);
    std::vector<std::string> keys;
    for (const auto& [key, value] : bind->changes->annotations) keys.push_back(key.str());
    std::ranges::sort(keys);
    std::vector<std::string> expected = row.keys;
    std::ranges::sort(expected);
    CHECK(keys == expected);
  }
}

TEST_CASE("the pages and koord explain say which devices a node has left") {
  DeviceWorld world;
  world.machine("n", {.gpus = 4, .sick = {3}});
  world.place(part_of_gpu("a", "60"));
  world.place(whole_gpus("b", "100"));
  const ServicePlugin* pages = nullptr;
  AdmitExplainPlugin* explains = nullptr;
  for (const Profile::Named& named : world.engine.profiles()[0].plugins) {
    if (named.name != "DeviceShare") continue;
    pages = dynamic_cast<const ServicePlugin*>(named.plugin.get());
    explains = dynamic_cast<AdmitExplainPlugin*>(named.plugin.get());
  }
  REQUIRE(pages != nullptr);
  const auto one = pages->serve({"/nodeDeviceSummaries/n", {}});
  REQUIRE(one.has_value());
  const json::Document page = std::move(json::parse(one->json)).value();
  const auto at = [&](std::initializer_list<std::string_view> path) {
    const json::Value* value = &page;
    for (const std::string_view key : path) value = value != nullptr ? json::find(*value, key) : nullptr;
    return value != nullptr ? json::to_text(*value) : std::string("nothing");
  };
  CHECK(
      at({"deviceTotal"}) ==
      R"({"koordinator.sh/gpu-core":"300","koordinator.sh/gpu-memory":"48Gi","koordinator.sh/gpu-memory-ratio":"300"})");
  CHECK(at({"deviceFree", "koordinator.sh/gpu-core"}) == R"("140")");
  CHECK(at({"deviceUsedDetail", "gpu", "0", "koordinator.sh/gpu-core"}) == R"("60")");
  CHECK(at({"deviceUsedDetail", "gpu", "2"}) == "nothing");
  CHECK(at({"deviceTotalDetail", "gpu", "3"}) == "{}");
  CHECK(at({"allocateSet", "gpu", "default/b", "1", "koordinator.sh/gpu-memory"}) == R"("16Gi")");
  CHECK(pages->serve({"/nodeDeviceSummaries/m", {}})->status == 404);
  CHECK(pages->serve({"/nodeDeviceSummaries", {}})->json == fmt::format(R"({{"n":{}}})", one->json));
  CHECK_FALSE(pages->serve({"/else", {}}).has_value());

  const auto explained = [&](const std::shared_ptr<const api::Pod>& pod) {
    return explains->explain_admission(make_pod_info(pod, world.engine.context().nodes.resources())).summary;
  };
  CHECK(
      explained(whole_gpus("c", "200")) ==
      std::vector<std::string>{"n has 1 of 4 gpu free, 1 in part, 1 not healthy: Insufficient GPU Devices."});
  CHECK(explained(whole_gpus("c", "100")).empty());
  CHECK(explained(make_pod("c")).empty());
}

TEST_CASE("whose devices would serve goes, and nobody else") {
  KubeSchedulerConfiguration config = device_config();
  config.profiles[0].plugins->post_filter.enabled = {{"DefaultPreemption", {}}};
  DeviceWorld world(std::move(config));
  world.machine("n", {.gpus = 2});
  const auto of_priority = [](const std::shared_ptr<const api::Pod>& pod, int priority) {
    return changed(pod, [=](api::Pod& p) { p.spec.priority = priority; });
  };
  const auto part = world.place(of_priority(part_of_gpu("part", "50"), 0));
  world.place(of_priority(whole_gpus("whole", "100"), 100));
  world.place(of_priority(make_pod("none"), 0));
  // The less important one's going frees enough.
  const Decision d = world.put(of_priority(whole_gpus("p", "100"), 200));
  REQUIRE(d.nominate());
  CHECK(*d.nominate() == "n");
  REQUIRE(d.preemption().victims.size() == 1);
  CHECK(d.preemption().victims[0].pod->metadata.name == "part");
  world.engine.remove_pod(*part);
  world.clock.advance(std::chrono::seconds(20));
  CHECK(DeviceWorld::given(world.one()) == "gpu 0");
}

TEST_CASE("templates that change while pods alike wait") {
  const auto map = [](const char* data) {
    auto made = std::make_shared<api::ConfigMap>();
    made->metadata.namespace_ = "koordinator-system";
    made->metadata.name = "gpu-shared-resource-templates";
    made->data["data.yaml"] = data;
    return made;
  };
  const char* const of_another_model =
      "huawei-Ascend-910: {vir02: {koordinator.sh/gpu-memory: 6Gi, huawei.com/npu-core: 2, "
      "huawei.com/npu-cpu: 2}}";
  const char* const of_this_model =
      "huawei-Ascend-310P: {vir02: {koordinator.sh/gpu-memory: 6Gi, huawei.com/npu-core: 2, "
      "huawei.com/npu-cpu: 2}}";
  DeviceWorld world;
  world.engine.put_object<api::ConfigMap>(map(of_another_model));
  world.machine(
      "n",
      {.gpus = 1, .node_labels = {{api::kGpuVendorLabel, "huawei"}, {api::kGpuModelLabel, "Ascend-310P"}}});
  const Wants wants{
      {api::kGpuShared, "1"}, {api::kGpuMemory, "6Gi"}, {api::kNpuCore, "2"}, {api::kNpuCpu, "2"}};
  for (const char* name : {"p", "q", "r"}) world.engine.put_pod(gpu_pod(name, wants));
  // What is known of their class is kept.
  for (int again = 0; again < 3; ++again) {
    for (const Decision& d : world.run())
      CHECK(d.message().starts_with("0/1 nodes are available: 1 no matched GPU shared resource template"));
    world.engine.put_node(make_node("n", "64", "256Gi", [&](api::Node& node) {
      node.metadata.labels[api::kGpuVendorLabel] = "huawei";
      node.metadata.labels[api::kGpuModelLabel] = again == 2 ? "Ascend-310P" : "Ascend-310";
    }));
    world.clock.advance(std::chrono::seconds(20));
  }
  world.engine.put_object<api::ConfigMap>(map(of_this_model));
  world.clock.advance(std::chrono::seconds(20));
  const auto out = world.run();
  REQUIRE_FALSE(out.empty());
  CHECK(DeviceWorld::given(out[0]) == "gpu 0");
}

TEST_CASE("who waits for devices is tried again when a pod has less than its annotation said") {
  DeviceWorld world;
  world.machine("n", {.gpus = 1});
  const auto has = [](const char* said) {
    return make_pod("there", "1", "1Gi", device_pod({{api::kGpu, "100"}}, {allocated(said)}, "n"));
  };
  for (
      const char* before :
      {"{",
       R"({"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory-ratio":"100"}}]})"}) {
    INFO(before);
    world.engine.put_pod(has(before));
    const auto waits = whole_gpus("p", "100");
    CHECK(world.put(waits).kind() == Decision::Kind::unschedulable);
    world.engine.put_pod(has(R"({"gpu":[{"minor":1,"resources":{"koordinator.sh/gpu-core":"100"}}]})"));
    world.clock.advance(std::chrono::seconds(20));
    CHECK(DeviceWorld::given(world.one()) == "gpu 0");
    world.engine.remove_pod(*waits);
  }
}

TEST_CASE("a node without a Device on which pods have devices is judged by its own labels") {
  // Whoever is told first.
  for (const bool pod_first : {true, false}) {
    DeviceWorld world;
    const auto there = make_pod(
        "there", "1", "1Gi",
        device_pod({{api::kGpu, "100"}},
                   {allocated(R"({"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"100"}}]})")},
                   "n"));
    const auto node = DeviceMachine{.node_labels = {{api::kGpuModelLabel, "H100"},
                                                    {api::kGpuPartitionPolicyLabel, "Honor"}}}
                          .node("n");
    if (pod_first) world.engine.put_pod(there);
    world.engine.put_node(node);
    if (!pod_first) world.engine.put_pod(there);
    CHECK(world.refused(whole_gpus("p", "100")) == "Insufficient Partitioned GPU Devices");
  }
}

TEST_CASE("templates that come or change, and pods that wait for them") {
  DeviceWorld world;
  world.machine("n",
                {.gpus = 1,
                 .labels = {{api::kGpuVendorLabel, "huawei"}, {api::kGpuModelLabel, "Ascend-310P"}},
                 .node_labels = {{api::kGpuVendorLabel, "huawei"}, {api::kGpuModelLabel, "Ascend-310P"}}});
  const auto pod = gpu_pod("p", {{api::kGpuShared, "1"},
                                 {api::kGpuMemory, "6Gi"},
                                 {api::kNpuCore, "2"},
                                 {api::kNpuCpu, "2"},
                                 {api::kNpuDvpp, "25"}});
  CHECK(world.refused(pod) == "no matched GPU shared resource template");
  world.engine.put_pod(pod);
  CHECK(world.one().kind() == Decision::Kind::unschedulable);
  world.clock.advance(std::chrono::seconds(20));
  CHECK(world.run().empty());
  auto map = std::make_shared<api::ConfigMap>();
  map->metadata.namespace_ = "koordinator-system";
  map->metadata.name = "gpu-shared-resource-templates";
  map->data["data.yaml"] =
      "huawei-Ascend-310P: {vir02: {koordinator.sh/gpu-memory: 6Gi, huawei.com/npu-core: 2, "
      "huawei.com/npu-cpu: 2, huawei.com/npu-dvpp: 25}}";
  world.engine.put_object<api::ConfigMap>(map);
  world.clock.advance(std::chrono::seconds(20));
  // Its Device says nothing of NPU cores: what a device does not have is not asked of it.
  const auto out = world.run();
  REQUIRE(out.size() == 1);
  const auto* const bind = out[0].as<Decision::Bind>();
  REQUIRE(bind != nullptr);
  CHECK(bind->changes->annotations.find(api::DeviceAllocations::kAnnotation)
            ->find(R"("gpuSharedResourceTemplate":"vir02")") != std::string::npos);
}

TEST_CASE("what is left of an annotation that nothing was given for goes") {
  DeviceWorld world;
  world.machine("n");
  const auto pod =
      make_pod("p", "1", "1Gi", device_pod({}, {allocated(R"({"gpu":[{"minor":0,"resources":{}}]})")}));
  const Decision d = world.put(pod);
  REQUIRE(d.as<Decision::Bind>() != nullptr);
  REQUIRE(d.as<Decision::Bind>()->changes != nullptr);
  CHECK(d.as<Decision::Bind>()->changes->removed_annotations ==
        std::vector<std::string>{std::string(api::DeviceAllocations::kAnnotation)});
}

}  // namespace
}  // namespace koord::scheduling::test
