// What a pod asks for of devices: Koordinator's table of combinations, what they come to, and what a pod is
// rejected with.
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "koord/api/koordinator/devices.hpp"
#include "scheduling/plugins/device_share/request/combinations.hpp"
#include "scheduling/plugins/device_share/request/demand.hpp"

namespace koord::scheduling::test {
namespace {

using namespace device_share;

constexpr std::int64_t kGi = std::int64_t{1} << 30;

std::string text(DeviceType type, const Amounts& amounts) {
  std::string out;
  for (std::size_t i = 0; i < kUnits; ++i)
    if (const auto unit = static_cast<Unit>(i); amounts.has(unit)) {
      const std::string_view name = resource_name(type, unit);
      out += (out.empty() ? "" : " ") + std::string(name.substr(name.find('/') + 1)) + "=" +
             std::to_string(amounts[unit]);
    }
  return out;
}

DeviceDemand read(const DeviceRequests& requests, std::map<std::string, std::string> annotations = {},
                  DemandRules rules = {}) {
  api::SymbolMap written;
  for (const auto& [name, value] : annotations) written[name] = Symbol(value);
  return read_demand(requests, {}, written, rules);
}

TEST_CASE("Which resources of devices go together, and what they come to") {
  struct Row {
    DeviceRequests requests;
    const char* asked;  // of the one type; "": the pod is rejected
    const char* rejected = "";
  };
  const std::vector<Row> rows = {
      {{{api::kGpuCore, 101}}, "", "invalid resource device requests: [koordinator.sh/gpu-core]"},
      {{{api::kNvidiaGpu, 2},
        {api::kGpu, 200},
        {api::kGpuCore, 200},
        {api::kGpuMemory, 32 * kGi},
        {api::kGpuMemoryRatio, 200}},
       "",
       "invalid resource device requests: [koordinator.sh/gpu koordinator.sh/gpu-core "
       "koordinator.sh/gpu-memory "
       "koordinator.sh/gpu-memory-ratio nvidia.com/gpu]"},
      {{{api::kGpu, 101}}, "", "invalid resource unit koordinator.sh/gpu: 101"},
      {{{api::kGpuCore, 100}, {api::kGpuMemoryRatio, 101}},
       "",
       "invalid resource device requests: [koordinator.sh/gpu-core koordinator.sh/gpu-memory-ratio]"},
      {{{api::kNvidiaGpu, 2}}, "gpu-core=200 gpu-memory-ratio=200"},
      {{{api::kAmdGpu, 1}}, "gpu-core=100 gpu-memory-ratio=100"},
      {{{api::kHygonDcu, 2}}, "gpu-core=200 gpu-memory-ratio=200"},
      {{{api::kNvidiaGpu, 1}, {api::kAmdGpu, 1}},
       "",
       "invalid resource device requests: [amd.com/gpu nvidia.com/gpu]"},
      {{{api::kGpu, 200}}, "gpu-core=200 gpu-memory-ratio=200"},
      {{{api::kGpu, 50}}, "gpu-core=50 gpu-memory-ratio=50"},
      {{{api::kGpuCore, 200}, {api::kGpuMemory, 64 * kGi}}, "gpu-core=200 gpu-memory=68719476736"},
      {{{api::kGpuCore, 200}, {api::kGpuMemoryRatio, 200}}, "gpu-core=200 gpu-memory-ratio=200"},
      {{{api::kGpuCore, 50}, {api::kGpuMemoryRatio, 50}}, "gpu-core=50 gpu-memory-ratio=50"},
      {{{api::kGpuMemoryRatio, 200}}, "gpu-memory-ratio=200"},
      {{{api::kGpuMemory, 64 * kGi}}, "gpu-memory=68719476736"},
      {{{api::kGpuMemoryRatio, 101}, {api::kGpuShared, 1}},
       "",
       "invalid resource device requests: [koordinator.sh/gpu-memory-ratio koordinator.sh/gpu.shared]"},
      {{{api::kGpuMemoryRatio, 101}, {api::kGpuShared, 2}},
       "",
       "invalid resource device requests: [koordinator.sh/gpu-memory-ratio koordinator.sh/gpu.shared]"},
      {{{api::kGpuCore, 101}, {api::kGpuMemory, 64 * kGi}, {api::kGpuShared, 1}},
       "",
       "invalid resource device requests: [koordinator.sh/gpu-core koordinator.sh/gpu-memory "
       "koordinator.sh/gpu.shared]"},
      {{{api::kGpuCore, 101}, {api::kGpuMemory, 64 * kGi}, {api::kGpuShared, 2}},
       "",
       "invalid resource device requests: [koordinator.sh/gpu-core koordinator.sh/gpu-memory "
       "koordinator.sh/gpu.shared]"},
      {{{api::kGpuMemoryRatio, 200}, {api::kGpuShared, 2}}, "gpu-memory-ratio=200"},
      {{{api::kGpuMemoryRatio, 100}, {api::kGpuShared, 2}}, "gpu-memory-ratio=100"},
      {{{api::kGpuCore, 100}, {api::kGpuMemory, 64 * kGi}, {api::kGpuShared, 1}},
       "gpu-core=100 gpu-memory=68719476736"},
      {{{api::kGpuCore, 100}, {api::kGpuMemory, 64 * kGi}, {api::kGpuShared, 2}},
       "gpu-core=100 gpu-memory=68719476736"},
      {{{api::kGpuMemory, 64 * kGi}, {api::kGpuShared, 2}}, "gpu-memory=68719476736"},
      {{{api::kGpuShared, 2}}, "", "invalid resource device requests: [koordinator.sh/gpu.shared]"},
      {{{api::kNpuCore, 40}, {api::kGpuMemoryRatio, 200}}, "gpu-memory-ratio=200 npu-core=40"},
      {{{api::kNpuCore, 40}, {api::kGpuMemory, 128 * kGi}},
       "",
       "invalid resource device requests: [huawei.com/npu-core koordinator.sh/gpu-memory]"},
      {{{api::kGpuShared, 1}, {api::kNpuCore, 10}, {api::kNpuCpu, 3}, {api::kGpuMemory, 16 * kGi}},
       "gpu-memory=17179869184 npu-core=10 npu-cpu=3"},
      {{{api::kGpuShared, 1},
        {api::kNpuCore, 10},
        {api::kNpuCpu, 3},
        {api::kNpuDvpp, 100},
        {api::kGpuMemory, 16 * kGi}},
       "gpu-memory=17179869184 npu-core=10 npu-cpu=3 npu-dvpp=100"},
      {{{api::kGpuShared, 1},
        {api::kNpuCore, 10},
        {api::kNpuCpu, 3},
        {api::kNpuDvpp, 101},
        {api::kGpuMemory, 16 * kGi}},
       "",
       "invalid resource device requests: [huawei.com/npu-core huawei.com/npu-cpu huawei.com/npu-dvpp "
       "koordinator.sh/gpu-memory koordinator.sh/gpu.shared]"},
      {{{api::kGpuShared, 2},
        {api::kNpuCore, 20},
        {api::kNpuCpu, 6},
        {api::kNpuDvpp, 200},
        {api::kGpuMemory, 32 * kGi}},
       "",
       "invalid resource device requests: [huawei.com/npu-core huawei.com/npu-cpu huawei.com/npu-dvpp "
       "koordinator.sh/gpu-memory koordinator.sh/gpu.shared]"},
      {{{api::kGpuShared, 1}, {api::kNpuCore, 10}, {api::kGpuMemory, 16 * kGi}},
       "",
       "invalid resource device requests: [huawei.com/npu-core koordinator.sh/gpu-memory "
       "koordinator.sh/gpu.shared]"},
      {{{api::kFpga, 201}}, "", "invalid resource unit koordinator.sh/fpga: 201"},
      {{{api::kFpga, 50}}, "fpga=50"},
      {{{api::kRdma, 201}}, "", "invalid resource unit koordinator.sh/rdma: 201"},
      {{{api::kRdma, 80}}, "rdma=80"},
  };
  for (const Row& row : rows) {
    const DeviceDemand demand = read(row.requests);
    CAPTURE(row.asked, row.rejected);
    CHECK(demand.rejected == row.rejected);
    CHECK(demand.is_rejected() == std::string(row.asked).empty());
    if (demand.is_rejected()) {
      CHECK(demand.code == StatusCode::unresolvable);
      continue;
    }
    for (const DeviceType type : kAllDeviceTypes)
      CHECK(text(type, demand.of(type).asked) == (is_of(type, row.requests.front().first) ? row.asked : ""));
  }
}

TEST_CASE("Nothing is asked of devices") {
  CHECK(read({}).none());
  CHECK_FALSE(read({}).is_rejected());
  CHECK_FALSE(combine(DeviceType::gpu, {}).has_value());
}

TEST_CASE("How many devices, and how much of each") {
  struct Row {
    DeviceRequests requests;
    const char* hints;
    DeviceType type;
    int count;
    const char* each;
    bool shared = false;
  };
  const auto gpu = DeviceType::gpu, rdma = DeviceType::rdma;
  const std::vector<Row> rows = {
      {{{api::kNvidiaGpu, 2}}, "{}", gpu, 2, "gpu-core=100 gpu-memory-ratio=100"},
      {{{api::kGpuCore, 50}, {api::kGpuMemoryRatio, 50}},
       "{}",
       gpu,
       1,
       "gpu-core=50 gpu-memory-ratio=50",
       true},
      {{{api::kGpuMemory, 8 * kGi}}, "{}", gpu, 1, "gpu-memory=8589934592", true},
      {{{api::kGpuMemoryRatio, 100}}, "{}", gpu, 1, "gpu-memory-ratio=100"},
      // Memory alone never says how many.
      {{{api::kGpuCore, 200}, {api::kGpuMemory, 16 * kGi}},
       "{}",
       gpu,
       1,
       "gpu-core=200 gpu-memory=17179869184",
       true},
      {{{api::kGpuShared, 2}, {api::kGpuCore, 100}, {api::kGpuMemoryRatio, 100}},
       "{}",
       gpu,
       2,
       "gpu-core=50 gpu-memory-ratio=50",
       true},
      {{{api::kGpuShared, 2}, {api::kGpuMemory, 16 * kGi}}, "{}", gpu, 2, "gpu-memory=8589934592", true},
      {{{api::kGpuShared, 2}, {api::kGpuMemoryRatio, 200}}, "{}", gpu, 2, "gpu-memory-ratio=100"},
      {{{api::kNpuCore, 40}, {api::kGpuMemoryRatio, 200}}, "{}", gpu, 2, "gpu-memory-ratio=100 npu-core=20"},
      {{{api::kRdma, 100}}, "{}", rdma, 1, "rdma=100"},
      {{{api::kRdma, 300}}, "{}", rdma, 3, "rdma=100"},
      {{{api::kRdma, 1}}, R"({"rdma":{"allocateStrategy":"ApplyForAll"}})", rdma, 1, "rdma=1"},
      {{{api::kRdma, 4}}, R"({"rdma":{"allocateStrategy":"RequestsAsCount"}})", rdma, 4, "rdma=1"},
      {{{api::kRdma, 4}},
       R"({"rdma":{"allocateStrategy":"RequestsAsCount","exclusivePolicy":"DeviceLevel"}})",
       rdma,
       4,
       "rdma=100"},
      {{{api::kRdma, 4}},
       R"({"rdma":{"allocateStrategy":"RequestsAsCount","exclusivePolicy":"PCIeLevel"}})",
       rdma,
       4,
       "rdma=1"},
      // Whole devices are counted as such, whatever the strategy.
      {{{api::kRdma, 400}}, R"({"rdma":{"allocateStrategy":"RequestsAsCount"}})", rdma, 4, "rdma=100"},
  };
  for (const Row& row : rows) {
    const DeviceDemand demand = read(row.requests, {{std::string(api::DeviceHints::kAnnotation), row.hints}});
    CAPTURE(row.each, row.hints);
    REQUIRE(demand.rejected.empty());
    CHECK(demand.of(row.type).count == row.count);
    CHECK(text(row.type, demand.of(row.type).per_device) == row.each);
    CHECK(demand.gpu.shared == row.shared);
  }
}

TEST_CASE("What a pod's annotations say of its devices") {
  const DeviceRequests both = {{api::kGpu, 200}, {api::kRdma, 1}, {api::kFpga, 50}};
  const std::string hints(api::DeviceHints::kAnnotation), joint(api::DeviceJointAllocate::kAnnotation),
      partition(api::GpuPartitionSpec::kAnnotation), allocated(api::DeviceAllocations::kAnnotation);

  SECTION("which types go together") {
    DeviceDemand demand =
        read(both, {{joint, R"({"deviceTypes":["gpu","xpu","rdma","gpu"],"requiredScope":"SamePCIe"})"}});
    CHECK(demand.joint == std::vector{DeviceType::gpu, DeviceType::rdma});
    CHECK(demand.same_pcie);
    CHECK(demand.secondary_can_wait);
    demand = read(both, {{joint, R"({"deviceTypes":["gpu","rdma"]})"},
                         {hints, R"({"rdma":{"allocateStrategy":"ApplyForAll"}})"}});
    CHECK(demand.joint == std::vector{DeviceType::gpu});
    CHECK_FALSE(demand.same_pcie);
    CHECK(demand.of(DeviceType::rdma).strategy == Strategy::apply_for_all);
    CHECK(read({{api::kRdma, 1}}, {{joint, R"({"deviceTypes":["gpu","rdma"]})"}}).joint ==
          std::vector{DeviceType::rdma});
  }
  SECTION("how near, and by which partition") {
    DeviceDemand demand =
        read(both, {{partition, R"({"allocatePolicy":"Restricted","ringBusBandwidth":"200Gi"})"},
                    {hints, R"({"gpu":{"requiredTopologyScope":"NUMANode"}})"}});
    CHECK(demand.gpu.by_partition);
    CHECK(demand.gpu.best_partition);
    CHECK(demand.gpu.bandwidth == api::Quantity::must("200Gi"));
    CHECK(demand.gpu.scoped);
    CHECK(demand.gpu.scope == Scope::numa_node);
    demand = read(both, {{partition, "{}"}, {hints, R"({"gpu":{"requiredTopologyScope":"Rack"}})"}});
    CHECK(demand.gpu.by_partition);
    CHECK_FALSE(demand.gpu.best_partition);
    CHECK(demand.gpu.scoped);
    CHECK(demand.gpu.scope == Scope::none);
  }
  SECTION("what nobody can read of them") {
    struct Row {
      std::map<std::string, std::string> annotations;
      const char* begins;
    };
    const std::vector<Row> rows = {
        {{{hints, "invalid"}}, "invalid DeviceAllocateHint annotation, err: "},
        {{{hints, R"({"rdma":{"selector":{"matchExpressions":[{"key":"a","operator":"Near"}]}}})"}},
         "invalid Selector of DeviceHint, deviceType: rdma, err: "},
        {{{hints, R"({"xpu":{"vfSelector":{"matchExpressions":[{"key":"a","operator":"Near"}]}}})"}},
         "invalid VFSelector of DeviceHint, deviceType: xpu, err: "},
        {{{joint, "[]"}}, "invalid DeviceJointAllocate annotation, err: "},
        {{{partition, "invalid GPU Partition Spec"}}, "invalid GPUPartitionSpec annotation, err: "},
        {{{allocated, "{"}}, "scheduling.koordinator.sh/device-allocated: "},
    };
    for (const Row& row : rows) {
      const DeviceDemand demand = read(both, row.annotations);
      CAPTURE(row.begins);
      CHECK(demand.rejected.starts_with(row.begins));
      CHECK(demand.code == StatusCode::unresolvable);
    }
    // Who asks for none has no hints to be read, but may not have been given what nobody can tell.
    CHECK_FALSE(read({}, {{hints, "invalid"}}).is_rejected());
    CHECK(read({}, {{allocated, "{"}}).is_rejected());
    CHECK_FALSE(read({{api::kRdma, 1}}, {{partition, "invalid"}}).is_rejected());
  }
}

TEST_CASE("A share by template is what one of them has, exactly") {
  const std::vector<std::string> by_template{"huawei.com/npu-core"};
  const auto templates = std::move(api::parse_gpu_share_templates(R"(
huawei-Ascend-310P:
  vir04: {koordinator.sh/gpu-memory: 12Gi, huawei.com/npu-core: 4, huawei.com/npu-cpu: 4, huawei.com/npu-dvpp: 50}
  vir04_again: {koordinator.sh/gpu-memory: 12Gi, huawei.com/npu-core: 4, huawei.com/npu-cpu: 4, huawei.com/npu-dvpp: 50}
  vir02: {koordinator.sh/gpu-memory: 6Gi, huawei.com/npu-core: 2, huawei.com/npu-cpu: 2, huawei.com/npu-dvpp: 25}
huawei-Ascend-910:
  vir04: {koordinator.sh/gpu-memory: 12Gi, huawei.com/npu-core: 4, huawei.com/npu-cpu: 4}
)"))
                             .value();
  const DemandRules rules{.templates = &templates, .template_resources = by_template};
  const DeviceRequests npu = {{api::kGpuShared, 1},
                              {api::kNpuCore, 4},
                              {api::kNpuCpu, 4},
                              {api::kNpuDvpp, 50},
                              {api::kGpuMemory, 12 * kGi}};
  const DeviceDemand demand = read(npu, {}, rules);
  CHECK(demand.gpu.by_template);
  CHECK(demand.gpu.templates ==
        decltype(demand.gpu.templates){{"huawei-Ascend-310P", {"vir04", "vir04_again"}}});
  DeviceRequests more = npu;
  more[1].second = 5;
  CHECK(read(more, {}, rules).rejected == "no matched GPU shared resource template");
  // Of what a template names nothing may be missing.
  more = npu;
  more.erase(more.begin() + 3);
  CHECK(read(more, {}, rules).gpu.templates ==
        decltype(demand.gpu.templates){{"huawei-Ascend-910", {"vir04"}}});
}

TEST_CASE("A share by template that nobody knows") {
  const std::vector<std::string> by_template{"huawei.com/npu-core"};
  const DeviceRequests npu = {
      {api::kGpuShared, 1}, {api::kNpuCore, 5}, {api::kNpuCpu, 4}, {api::kGpuMemory, 12 * kGi}};
  CHECK(read(npu, {}, {.template_resources = by_template}).rejected ==
        "no matched GPU shared resource template");
  CHECK_FALSE(read(npu).is_rejected());
  // Whole ones need none.
  CHECK_FALSE(
      read({{api::kNpuCore, 40}, {api::kGpuMemoryRatio, 200}}, {}, {.template_resources = by_template})
          .is_rejected());
}

TEST_CASE("What a pod was given is read and written") {
  const std::string text =
      R"({"gpu":[{"minor":3,"resources":{"koordinator.sh/gpu-core":"50","koordinator.sh/gpu-memory":"8Gi","koordinator.sh/gpu-memory-ratio":"50"}}],)"
      R"("rdma":[{"minor":1,"resources":{"koordinator.sh/rdma":"1"},"extension":{"vfs":[{"minor":2,"busID":"0000:1f:00.4"}]}}]})";
  api::DeviceAllocations said;
  REQUIRE(api::decode_annotation(text, said).has_value());
  const Given given = std::move(read_given(said)).value();
  REQUIRE(given.devices.size() == 2);
  CHECK(given.devices[0].amounts[Unit::memory] == 8 * kGi);
  CHECK(given.devices[1].vfs.size() == 1);
  CHECK(given.has(DeviceType::rdma));
  CHECK_FALSE(given.has(DeviceType::fpga));
  CHECK(api::encode_annotation(write_given(given, nullptr)) == text);
}

}  // namespace
}  // namespace koord::scheduling::test
