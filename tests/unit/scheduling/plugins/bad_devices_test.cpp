// What nobody should write into annotations and Devices, and what becomes of it.
#include <catch2/catch.hpp>

#include "device_rig.hpp"
#include "koord/scheduling/config/profile.hpp"
#include "koord/scheduling/plugin/complaints.hpp"
#include "koord/scheduling/plugin/explain_plugin.hpp"

namespace koord::scheduling::test {
namespace {

/// A pod that is bound to "n".
std::shared_ptr<const api::Pod> bound_with(Wants wants, std::string_view said) {
  return make_pod("there", "1", "1Gi", device_pod(std::move(wants), {allocated(said)}, "n"));
}
constexpr const char* kMinorOne =
    R"({"gpu":[{"minor":1,"resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory-ratio":"100"}}]})";

struct Told {
  explicit Told(DeviceWorld& world) {
    world.engine.context().shared.get<Complaints>().tell(
        [this](std::string_view kind, const api::ObjectMeta& object, std::string_view what) {
          all.push_back(fmt::format("{} {}: {}", kind, object.name, what));
        });
  }
  std::vector<std::string> all;
};

TEST_CASE("of who cannot say which devices it has nothing is given twice after a restart") {
  std::string many = R"({"gpu":[)";
  for (int i = 0; i < 200; ++i) many += fmt::format(R"({}{{"minor":{}}})", i == 0 ? "" : ",", i);
  many += "]}";
  struct Row {
    const char* name;
    Wants wants;
    std::string said;
    bool held;  // the node gives no GPUs
  };
  const Row rows[] = {
      {"not JSON", {{api::kGpu, "100"}}, "{", true},
      {"JSON of another kind", {{api::kGpuCore, "50"}, {api::kGpuMemoryRatio, "50"}}, "[1]", true},
      {"more devices than a machine has", {{api::kNvidiaGpu, "2"}}, many, true},
      {"of who asks for RDMA alone", {{api::kRdma, "100"}}, "{", false},
      {"of who asks for none: anybody may write it", {}, "{", false},
  };
  for (const bool pod_first : {false, true})
    for (const Row& row : rows) {
      INFO(row.name << (pod_first ? ", before its Device" : ""));
      DeviceWorld world;
      const Told told(world);
      if (pod_first) world.engine.put_pod(bound_with(row.wants, row.said));
      world.machine("n", {.gpus = 4, .rdma = 4});
      if (!pod_first) world.engine.put_pod(bound_with(row.wants, row.said));
      CHECK(world.refused(whole_gpus("p", "100")).empty() != row.held);
      CHECK(world.refused(gpu_pod("p", {{api::kRdma, "100"}})).empty() ==
            (row.wants.empty() || row.wants[0].first != api::kRdma));
      REQUIRE(told.all.size() == 1);
      INFO(told.all[0]);
      CHECK(told.all[0].starts_with("Pod there: "));
      CHECK(told.all[0].ends_with(
          row.wants.empty() ? "it asks for no devices, and counts as if it had none"
                            : fmt::format("nobody can tell which devices it has, and node n gives no "
                                          "{} until the annotation is repaired or the pod goes",
                                          row.held ? "gpu" : "rdma")));
    }
}

TEST_CASE("a node gives devices again when it is clear who has which") {
  const Wants one{{api::kGpu, "100"}};
  struct Row {
    const char* name;
    void (*then)(DeviceWorld& world, const Wants& one);
    const char* given;
  };
  const Row rows[] = {
      {"the pod goes", [](DeviceWorld& w, const Wants& one) { w.engine.remove_pod(*bound_with(one, "{")); },
       "gpu 0 1"},
      {"its annotation is repaired",
       [](DeviceWorld& w, const Wants& one) { w.engine.put_pod(bound_with(one, kMinorOne)); }, "gpu 2 3"},
      {"its annotation is taken away: it had none",
       [](DeviceWorld& w, const Wants& one) {
         w.engine.put_pod(make_pod("there", "1", "1Gi", device_pod(one, {}, "n")));
       },
       "gpu 0 1"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    DeviceWorld world;
    world.machine("n", {.gpus = 4});
    world.engine.put_pod(bound_with(one, "{"));
    CHECK_FALSE(world.refused(whole_gpus("p", "200")).empty());
    row.then(world, one);
    CHECK(world.place_text(whole_gpus("p", "200")) == row.given);
  }
}

TEST_CASE("who was given devices keeps them when somebody breaks the annotation") {
  DeviceWorld world;
  world.machine("n", {.gpus = 4});
  const auto there = world.place(whole_gpus("a", "100"));
  world.engine.put_pod(
      changed(there, [](api::Pod& p) { p.metadata.annotations[api::DeviceAllocations::kAnnotation] = "{"; }));
  CHECK(world.place_text(whole_gpus("p", "300")) == "gpu 1 2 3");
}

TEST_CASE("koord explain names the pod for whose sake a node gives no devices") {
  DeviceWorld world;
  world.machine("n", {.gpus = 4});
  world.engine.put_pod(bound_with({{api::kGpu, "100"}}, "{"));
  AdmitExplainPlugin* explains = nullptr;
  for (const Profile::Named& named : world.engine.profiles()[0].plugins)
    if (named.name == "DeviceShare") explains = dynamic_cast<AdmitExplainPlugin*>(named.plugin.get());
  REQUIRE(explains != nullptr);
  const PodInfo pod = make_pod_info(whole_gpus("p", "100"), world.engine.context().nodes.resources());
  CHECK(
      explains->explain_admission(pod).summary ==
      std::vector<std::string>{"n has 4 gpu, none of them given, as nobody can tell which default/there has: "
                               "Insufficient GPU Devices."});
}

TEST_CASE("a Device of 100,000 devices, and one whose texts are 64 KiB long") {
  DeviceWorld world;
  const Told told(world);
  world.engine.put_node(DeviceMachine{.gpus = 64}.node("n"));
  auto many = std::make_shared<api::Device>(*DeviceMachine{.gpus = 64}.device("n"));
  const api::DeviceInfo last = many->spec.devices.back();
  for (int i = 64; i < 100'000; ++i) {
    many->spec.devices.push_back(last);
    many->spec.devices.back().minor = i;
    many->spec.devices.back().id = fmt::format("gpu-{}", i);
  }
  world.engine.put_object<api::Device>(many);
  REQUIRE(told.all.size() == 1);
  CHECK(told.all[0].size() < 1000);
  CHECK(world.refused(whole_gpus("p", "6500")) == "Insufficient GPU Devices");
  CHECK(world.refused(whole_gpus("p", "6400")).empty());

  const std::string text(65'536, 'x');
  auto wide = std::make_shared<api::Device>(*DeviceMachine{.gpus = 2}.device("n"));
  for (api::DeviceInfo& info : wide->spec.devices) {
    info.id = text;
    info.topology->pcie_id = text;
    info.labels[text] = Symbol(text);
  }
  world.engine.put_object<api::Device>(wide);
  const Decision d = world.put(whole_gpus("wide", "200"));
  REQUIRE(d.as<Decision::Bind>() != nullptr);
  // What is written is no longer than an object may be: two ids.
  CHECK(d.as<Decision::Bind>()->changes->annotations.find(api::DeviceAllocations::kAnnotation)->size() <
        140'000);
}

}  // namespace
}  // namespace koord::scheduling::test
