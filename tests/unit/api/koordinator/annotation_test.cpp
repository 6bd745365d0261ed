// Annotations of nodes, CPUs and devices: Koordinator's shapes, what is bounded, and errors with a name and a
// path.
#include "annotation_rows.hpp"
#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/koordinator/devices.hpp"
#include "koord/api/koordinator/node.hpp"

namespace koord::api {
namespace {

TEST_CASE("Node reservations as Koordinator has them") {
  check<NodeReservation>({
      {R"({"resources":{"cpu":"1500m","memory":"2Gi"},"reservedCPUs":"0-5","applyPolicy":"ReservedCPUsOnly"})",
       ""},
      {R"({"reservedCPUs":"0-5"})", ""},
      {R"({"resources":{"cpu":2,"memory":1.5}})", R"({"resources":{"cpu":"2","memory":"1500m"}})"},
      {"{}", ""},
      {"null", "{}"},
      {R"({"resources":null,"unknown":[1]})", "{}"},
      {R"({"resources":{"cpu":"lots"}})",
       "node.koordinator.sh/reservation: .resources[cpu]: quantities must match the regular expression "
       "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
      {R"({"reservedCPUs":4})",
       "node.koordinator.sh/reservation: .reservedCPUs: expected a string, got a number"},
      {"[]", "node.koordinator.sh/reservation: .: expected an object, got a list"},
  });
  CHECK(reduces_allocatable({}));
  CHECK(reduces_allocatable({.apply_policy = "Default"}));
  CHECK_FALSE(reduces_allocatable({.apply_policy = "ReservedCPUsOnly"}));
}

TEST_CASE("What else is said of nodes") {
  check<SystemQosResource>(
      {{R"({"cpuset":"0-3","cpusetExclusive":false})", ""}, {R"({"cpuset":"0-3"})", ""}});
  check<AmplificationRatios>({{R"({"cpu":1.50,"memory":2.00})", ""},
                              {R"({"cpu":1.2})", R"({"cpu":1.20})"},
                              {R"({"cpu":"1.2"})",
                               "node.koordinator.sh/resource-amplification-ratio: [cpu]: expected "
                               "a number, got a string"}});
  check<ThirdPartyAllocations>({
      {R"({"allocations":[{"name":"hadoop-yarn","priority":"koord-batch","resources":{"kubernetes.io/batch-cpu":"10k","kubernetes.io/batch-memory":"10Gi"}}]})",
       ""},
      {R"({"allocations":[{"name":"a","unknown":{}},null]})", R"({"allocations":[{"name":"a"},{}]})"},
      {R"({"allocations":[{"resources":{"kubernetes.io/batch-cpu":"lots"}}]})",
       "node.koordinator.sh/thirdPartyAllocations: .allocations[0].resources[kubernetes.io/batch-cpu]: "
       "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
      {R"({"allocations":{}})",
       "node.koordinator.sh/thirdPartyAllocations: .allocations: expected a list, got an object"},
  });
  const auto raw = read<AnnotatedResources>(R"({"cpu":"32","memory":"64Gi"})", kRawAllocatable);
  REQUIRE(raw.has_value());
  CHECK((*raw)->resources == ResourceList{{"cpu", Quantity::must("32")}, {"memory", Quantity::must("64Gi")}});
}

TEST_CASE("By how much a node's CPUs are faster") {
  const std::string name(kCpuNormalizationRatio);
  struct Ratio {
    std::string_view text;
    std::optional<double> ratio;
    bool fails = false;
  };
  for (const Ratio& row : {Ratio{"", {}}, Ratio{"1.20", 1.2}, Ratio{"1000", 1000}, Ratio{"0", {}, true},
                           Ratio{"-1", {}, true}, Ratio{"1000.1", {}, true}, Ratio{"nan", {}, true},
                           Ratio{"inf", {}, true}, Ratio{"1.2x", {}, true}, Ratio{" 1", {}, true}}) {
    CAPTURE(row.text);
    const auto ratio = cpu_normalization_ratio({{name, Symbol(row.text)}});
    REQUIRE(ratio.has_value() == !row.fails);
    if (ratio) CHECK(*ratio == row.ratio);
    if (!ratio) CHECK(ratio.error().message() == name + ": \"" + std::string(row.text) + "\" is no ratio");
  }
  CHECK(cpu_normalization_ratio({}).value() == std::nullopt);
}

TEST_CASE("CPUs that pods ask for and have") {
  check<ResourceStatus>({
      {R"({"cpuset":"0-3","numaNodeResources":[{"node":0,"resources":{"cpu":"4"}},{"node":1}]})", ""},
      {R"({"cpuset":"0-3,8"})", ""},
      {R"({"numaNodeResources":[{"node":"0"}]})",
       "scheduling.koordinator.sh/resource-status: .numaNodeResources[0].node: expected a number, got a "
       "string"},
  });
  check<ResourceSpec>({
      {R"({"requiredCPUBindPolicy":"FullPCPUs","preferredCPUBindPolicy":"SpreadByPCPUs","preferredCPUExclusivePolicy":"PCPULevel"})",
       ""},
      {"{}", ""},
  });
  check<NumaTopologySpec>(
      {{R"({"numaTopologyPolicy":"SingleNUMANode","singleNUMANodeExclusive":"Required"})", ""}});
  check<CpuBasicInfo>({
      {R"({"cpuModel":"Model","hyperThreadEnabled":true,"turboEnabled":true,"catL3CbmMask":"7ff","vendorID":"GenuineIntel"})",
       ""},
      {R"({"hyperThreadEnabled":false,"new":1})", R"({"cpuModel":"","vendorID":""})"},
      {R"({"turboEnabled":"yes"})",
       "node.koordinator.sh/cpu-basic-info: .turboEnabled: expected true or false, got a string"},
  });
  check<CpuTopology>(
      {{R"({"detail":[{"id":0,"core":0,"socket":0,"node":0},{"id":1,"core":0,"socket":0,"node":0}]})", ""}});
  check<PodCpuAllocs>(
      {{R"([{"namespace":"n","name":"p","uid":"u","cpuset":"1-2","managedByKubelet":true}])", ""},
       {"null", "[]"}});
  check<CpuSharedPools>({{R"([{"socket":0,"node":0,"cpuset":"0-3"},{"socket":1,"node":1}])", ""}});
  check<KubeletCpuManagerPolicy>(
      {{R"({"policy":"static","options":{"full-pcpus-only":"true"},"reservedCPUs":"0"})", ""}});
}

TEST_CASE("Devices that pods ask for and have") {
  check<DeviceAllocations>({
      {R"({"gpu":[{"minor":1,"resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory":"16Gi","koordinator.sh/gpu-memory-ratio":"100"},"id":"0000:08.00.0"}]})",
       ""},
      {R"({"rdma":[{"minor":0,"resources":{"koordinator.sh/rdma":100},"extension":{"vfs":[{"minor":-1,"busID":"0000:1f:00.2"}],"gpuSharedResourceTemplate":"t"}}]})",
       R"({"rdma":[{"minor":0,"resources":{"koordinator.sh/rdma":"100"},"extension":{"vfs":[{"minor":-1,"busID":"0000:1f:00.2"}],"gpuSharedResourceTemplate":"t"}}]})"},
      {R"({"gpu":[{"minor":-1}]})",
       "scheduling.koordinator.sh/device-allocated: [gpu][0].minor: -1 is not from 0 to 65535"},
      {R"({"gpu":{}})", "scheduling.koordinator.sh/device-allocated: [gpu]: expected a list, got an object"},
      {R"({"gpu":[{"minor":99999999999}]})",
       "scheduling.koordinator.sh/device-allocated: [gpu][0].minor: 99999999999 does not fit 32 bits"},
  });
  check<DeviceHints>({
      {R"({"gpu":{"selector":{"matchLabels":{"type":"a"}},"requiredTopologyScope":"PCIe","exclusivePolicy":"PCIeLevel"},"rdma":{"vfSelector":{},"allocateStrategy":"ApplyForAll"}})",
       ""},
      {"{}", ""},
  });
  check<DeviceJointAllocate>({{R"({"deviceTypes":["gpu","rdma"],"requiredScope":"SamePCIe"})", ""}});
  check<GpuPartitionSpec>({
      {"{}", R"({"allocatePolicy":"BestEffort"})"},
      {R"({"allocatePolicy":"BestEffort"})", ""},
      {R"({"allocatePolicy":"Restricted"})", ""},
      {R"({"allocatePolicy":"Restricted","ringBusBandwidth":"200Gi"})", ""},
  });
  check<GpuPartitions>({
      {R"({"0":[{"minors":[0,1],"gpuLinkType":"NVLink","ringBusBandwidth":"200Gi","allocationScore":10}]})",
       ""},
      {R"({"two":[]})", "scheduling.koordinator.sh/gpu-partitions: [two]: expected a number of GPUs"},
      {R"({"2":[{"minors":[0,70000]}]})",
       "scheduling.koordinator.sh/gpu-partitions: [2][0].minors: 70000 is not from 0 to 65535"},
  });
  CHECK(honors_gpu_partitions({{kGpuPartitionPolicyLabel, "Honor"}}));
  CHECK_FALSE(honors_gpu_partitions({{kGpuPartitionPolicyLabel, "Prefer"}}));
  CHECK_FALSE(honors_gpu_partitions({}));
}

}  // namespace
}  // namespace koord::api
