// nvidia.com/gpu by a claim (DRAExtendedResource) or of the Device: on each node one of them, never both.
#include "plugins/device_rig.hpp"
#include "plugins/dynamic_resources/extended_rig.hpp"
#include "plugins/dynamic_resources/plugin_rows.hpp"

namespace koord::scheduling::test {
namespace {

/// "worker" has two GPUs and two RDMA NICs in its Device, and in a slice the GPUs, by the same ids.
struct BackedLedger : ExtendedRig {
  explicit BackedLedger(const std::string& listed = "", const std::string& gates = "DRAExtendedResource=true")
      : ExtendedRig({.gates = gates, .shares = true}) {
    put_machine(listed);
    put_class(backing_class(api::kNvidiaGpu.data()));
    put_slice(
        R"({"metadata":{"name":"worker-some-driver"},"spec":{"driver":"some-driver","nodeName":"worker",)"
        R"("pool":{"name":"worker","generation":1,"resourceSliceCount":1},"devices":[)"
        R"({"name":"instance-1","attributes":{"uuid":{"string":"gpu-0"}}},)"
        R"({"name":"instance-2","attributes":{"uuid":{"string":"gpu-1"}}}]}})");
    world.engine.put_object<api::Device>(kMachine.device(kNode));
  }
  void put_machine(const std::string& listed) {
    auto node = std::make_shared<api::Node>(*kMachine.node(kNode));
    node->status.allocatable[api::kRdma] = api::Quantity::must("1000");
    if (!listed.empty()) node->status.allocatable[api::kNvidiaGpu] = api::Quantity::must(listed);
    world.engine.put_node(node);
  }
  /// What its binding writes of devices, and the claim's.
  std::string place(const std::string& name, Wants wants) {
    world.engine.put_pod(make_pod(name, "1", "1Gi", device_pod(std::move(wants))));
    const Decision d = world.one();
    if (d.as<Decision::Bind>() == nullptr) return d.message();
    const std::string given = DeviceWorld::given(d);
    carry_out(d);
    world.engine.put_pod(DeviceWorld::bound(d));
    for (const auto& [claim, object] : claims)
      if (claim.starts_with(name)) return fmt::format("{}, {}", given, has(claim));
    return given;
  }
  const DeviceMachine kMachine{.gpus = 2, .rdma = 2};
};

const std::string kOne = "nothing, container-0-request-2=instance-1@worker; a";

struct SideCase {
  const char* name;
  const char* listed;  // of nvidia.com/gpu by the node
  const char* gates;
  std::string has;
};

TEST_CASE("who gives nvidia.com/gpu on a node") {
  const char *on = "DRAExtendedResource=true", *off = "DRAExtendedResource=false";
  for (const SideCase& c : {SideCase{"the node lists it: the Device", "2", on, "gpu 0"},
                            SideCase{"it does not: a claim, and nothing of the Device", "", on, kOne},
                            SideCase{"without the gate: the Device", "2", off, "gpu 0"}}) {
    INFO(c.name);
    BackedLedger w(c.listed, c.gates);
    CHECK(w.place("a", {{api::kNvidiaGpu, "1"}}) == c.has);
  }
}

TEST_CASE("all GPUs of a node are to be had, each once") {
  BackedLedger w;
  CHECK(w.place("a", {{api::kNvidiaGpu, "1"}}) == kOne);
  CHECK(w.place("b", {{api::kGpu, "100"}}) == "gpu 1");
  CHECK(w.place("c", {{api::kNvidiaGpu, "1"}}) == none_fits("cannot allocate all claims"));
  CHECK(w.place("d", {{api::kGpu, "100"}}) ==
        none_fits("Insufficient GPU Devices", "no new claims to deallocate"));
}

TEST_CASE("what a pod asks for besides is of the Device") {
  BackedLedger w;
  CHECK(w.place("a", {{api::kNvidiaGpu, "1"}, {api::kRdma, "100"}}) ==
        "rdma 0, container-0-request-3=instance-1@worker; a");
  CHECK(w.place("b", {{api::kNvidiaGpu, "1"}, {api::kRdma, "200"}}) ==
        none_fits("Insufficient rdma devices"));
}

TEST_CASE("a node that lists it from now on gives it of the Device from now on") {
  BackedLedger w;
  CHECK(w.place("a", {{api::kNvidiaGpu, "1"}}) == kOne);
  w.put_machine("2");
  CHECK(w.place("b", {{api::kNvidiaGpu, "1"}}) == "gpu 1");
  w.put_machine("");
  CHECK(w.place("c", {{api::kNvidiaGpu, "1"}}) == none_fits("cannot allocate all claims"));
}

}  // namespace
}  // namespace koord::scheduling::test
