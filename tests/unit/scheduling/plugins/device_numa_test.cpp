// Devices and CPUs from the same memory nodes, where the profile's topology policy wants that.
#include <catch2/catch.hpp>

#include "device_rig.hpp"
#include "numa_rig.hpp"

namespace koord::scheduling::test {
namespace {

struct NumaDevices : DeviceWorld {
  explicit NumaDevices(std::string_view args = {}) : DeviceWorld(device_config(args, {"NodeNUMAResource"})) {}

  /// 16 CPUs and four GPUs on each of two memory nodes.
  void numa_machine(const char* policy) {
    const DeviceMachine devices;
    const NumaMachine cpus;
    engine.put_node(changed_node(*devices.node("n"), policy));
    engine.put_object<api::Device>(devices.device("n"));
    engine.put_object<api::NodeResourceTopology>(cpus.topology("n"));
  }
  static std::shared_ptr<const api::Node> changed_node(api::Node node, const char* policy) {
    if (*policy != 0) node.metadata.labels[api::kNumaTopologyPolicyLabel] = Symbol(policy);
    return std::make_shared<const api::Node>(std::move(node));
  }
  static std::shared_ptr<const api::Pod> pod(std::string name, std::string_view cpu,
                                             std::string_view percent) {
    return make_pod(std::move(name), cpu, "1Gi", device_pod({{api::kGpu, percent}}));
  }
  /// "gpu 0 1 on 0": the devices, and the memory nodes of its CPUs.
  std::string both(const std::shared_ptr<const api::Pod>& wanted) {
    const Decision d = put(wanted);
    if (d.kind() != Decision::Kind::bind) return d.message();
    const auto there = bound(d);
    engine.put_pod(there);
    std::string all = given(d) + " on";
    const auto status = api::read_annotation<api::ResourceStatus>(there->metadata.annotations);
    if (status && *status)
      for (const api::NumaNodeResource& each : (*status)->numa_node_resources)
        all += fmt::format(" {}", each.node);
    return all;
  }
};

TEST_CASE("a pod of one memory node has its devices there, and its CPUs") {
  NumaDevices world;
  world.numa_machine("SingleNUMANode");
  CHECK(world.both(NumaDevices::pod("a", "4", "300")) == "gpu 0 1 2 on 0");
  // Its CPUs would fit beside the first one's.
  CHECK(world.both(NumaDevices::pod("b", "4", "300")) == "gpu 4 5 6 on 1");
  CHECK(world.refused(NumaDevices::pod("c", "1", "200")).starts_with("Unaligned NUMA Hint cause"));
  CHECK(world.refused(NumaDevices::pod("c", "1", "300")) == "Insufficient GPU Devices");
  CHECK(world.both(NumaDevices::pod("d", "12", "100")).ends_with("on 0"));
}

TEST_CASE(
    "without a policy, and where devices are not aligned, CPUs and devices have nothing to do with one "
    "another") {
  NumaDevices none;
  none.numa_machine("");
  CHECK(none.both(NumaDevices::pod("a", "4", "300")) == "gpu 0 1 2 on");
  CHECK(none.both(NumaDevices::pod("b", "4", "300")) == "gpu 4 5 6 on");

  NumaDevices apart(R"({"disableDeviceNUMATopologyAlignment":true})");
  apart.numa_machine("SingleNUMANode");
  CHECK(apart.both(NumaDevices::pod("a", "4", "300")) == "gpu 0 1 2 on 0");
  CHECK(apart.both(NumaDevices::pod("b", "4", "300")).starts_with("gpu 4 5 6 on"));
  CHECK(apart.refused(NumaDevices::pod("c", "1", "300")) == "Insufficient GPU Devices");
}

}  // namespace
}  // namespace koord::scheduling::test
