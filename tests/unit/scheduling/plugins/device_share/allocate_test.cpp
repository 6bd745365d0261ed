// Where a choice of devices differs from Koordinator's, and what its tests do not ask: scripts as in
// allocation_script.hpp.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "allocation_script.hpp"
#include "device_machines.hpp"

namespace koord::scheduling::test {
namespace {

using namespace device_share;

constexpr const char* kScorers = "scorer least LeastAllocated koordinator.sh/gpu-memory-ratio=1";

/// Two GPUs to a switch, two switches to a memory node.
std::vector<std::string> gpus(int count, const std::string& machine = "machine") {
  std::vector<std::string> lines{machine};
  for (int i = 0; i < count; ++i)
    lines.push_back("gpu " + std::to_string(i) + " " + std::to_string(i / 4) + " p" + std::to_string(i / 2) +
                    " ok - -");
  return lines;
}

std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_CASE("Devices are chosen") {
  struct Row {
    const char* name;
    std::vector<std::string> script;  // "place ... => WHAT IT GETS"
  };
  const std::string table =
      R"(table={"2":[{"minors":[0,1],"allocationScore":1},{"minors":[2,3],"allocationScore":3},{"minors":[1,2],"allocationScore":3},{"minors":[0],"allocationScore":9}]})";
  const std::vector<Row> rows = {
      {"of partitions those with the highest score come first",
       gpus(4, "machine " + table) +
           std::vector<std::string>{
               "try nvidia.com/gpu=2 => gpu:2,3",
               "place nvidia.com/gpu=2 partition={\"allocatePolicy\":\"Restricted\"} => gpu:2,3",
               "try nvidia.com/gpu=2 partition={\"allocatePolicy\":\"Restricted\"} => "
               "unschedulable Insufficient Partitioned GPU Devices",
               "place nvidia.com/gpu=2 partition={} => gpu:0,1",
           }},
      {"a share goes onto the GPU that suits the scorer, also of those that are in use",
       gpus(2) +
           std::vector<std::string>{
               "held gpu 0 koordinator.sh/gpu-core=60,koordinator.sh/gpu-memory-ratio=60",
               "held gpu 1 koordinator.sh/gpu-core=10,koordinator.sh/gpu-memory-ratio=10",
               "try koordinator.sh/gpu=20 scorer=least => gpu:1",
               "try koordinator.sh/gpu=20 scorer=most => gpu:0",
               "try koordinator.sh/gpu=50 scorer=most => gpu:1",
               "try koordinator.sh/gpu=95 scorer=most => unschedulable Insufficient GPU Devices",
           }},
      {"a share is whole where none of a machine's GPUs has a place, but several shares have none in common",
       {"machine", "gpu 0 - - ok - -", "gpu 1 - - ok - -",
        "try koordinator.sh/gpu=50 hint={\"gpu\":{\"requiredTopologyScope\":\"Node\"}} => unresolvable "
        "node(s) "
        "missing GPU Device Topology Tree",
        "place koordinator.sh/gpu=50 => gpu:0",
        "place koordinator.sh/gpu.shared=2 koordinator.sh/gpu-memory-ratio=100 => gpu:0,1",
        "place koordinator.sh/gpu.shared=2 koordinator.sh/gpu-memory-ratio=100 => unschedulable Insufficient "
        "gpu "
        "devices"}},
      {"GPUs that follow NICs are not more than were asked for",
       {"machine", "gpu 0 - - ok - -", "gpu 1 - - ok - -", "gpu 2 - - ok - -", "rdma 0 0 a ok - -",
        "rdma 1 0 b ok - -",
        "try nvidia.com/gpu=1 koordinator.sh/rdma=200 joint={\"deviceTypes\":[\"rdma\",\"gpu\"]} => gpu:0 "
        "rdma:0,1"}},
      {"a NIC for each switch of the GPUs, and no other",
       gpus(4) +
           std::vector<std::string>{
               "rdma 0 0 p0 ok - -",
               "rdma 1 0 p1 ok - -",
               "place nvidia.com/gpu=4 koordinator.sh/rdma=50 joint={\"deviceTypes\":[\"gpu\",\"rdma\"]} => "
               "gpu:0,1,2,3 "
               "rdma:0,1",
               "remove 0",
               "held rdma 1 koordinator.sh/rdma=60",
               "try nvidia.com/gpu=4 koordinator.sh/rdma=50 joint={\"deviceTypes\":[\"gpu\",\"rdma\"]} => "
               "gpu:0,1,2,3 "
               "rdma:0",
               "try nvidia.com/gpu=4 koordinator.sh/rdma=50 "
               "joint={\"deviceTypes\":[\"gpu\",\"rdma\"],\"requiredScope\":\"SamePCIe\"} => unschedulable "
               "Insufficient rdma devices",
               "try nvidia.com/gpu=2 koordinator.sh/rdma=50 "
               "joint={\"deviceTypes\":[\"gpu\",\"rdma\"],\"requiredScope\":\"SamePCIe\"} => gpu:0,1 rdma:0",
           }},
      {"what can wait is looked for when the node is chosen",
       gpus(2, "machine planned") +
           std::vector<std::string>{"try nvidia.com/gpu=1 koordinator.sh/rdma=1 "
                                    "joint={\"deviceTypes\":[\"gpu\",\"rdma\"]} => gpu:0",
                                    "try nvidia.com/gpu=1 koordinator.sh/rdma=1 "
                                    "joint={\"deviceTypes\":[\"gpu\",\"rdma\"]} reserving => "
                                    "unresolvable Insufficient rdma devices",
                                    "try koordinator.sh/gpu=50 koordinator.sh/rdma=1 "
                                    "joint={\"deviceTypes\":[\"gpu\",\"rdma\"]} => "
                                    "unresolvable Insufficient rdma devices"}},
      {"of a vendor's GPU what it does not count is not asked",
       {"machine", "gpu 0 0 a ok - - koordinator.sh/gpu-memory-ratio=100,koordinator.sh/gpu-memory=1000",
        "try huawei.com/npu-core=20 koordinator.sh/gpu-memory-ratio=100 => gpu:0"}},
      {"a GPU that is sick or full is none",
       {"machine", "gpu 0 0 a sick - -", "gpu 1 0 a ok - -", "gpu 3 0 a ok - -",
        "held gpu 3 koordinator.sh/gpu-core=100,koordinator.sh/gpu-memory-ratio=100",
        "held gpu 9 koordinator.sh/gpu-core=100,koordinator.sh/gpu-memory-ratio=100",
        "try nvidia.com/gpu=2 => unschedulable Insufficient GPU Devices", "try nvidia.com/gpu=1 => gpu:1",
        "back gpu 3 koordinator.sh/gpu-core=100,koordinator.sh/gpu-memory-ratio=100",
        "try nvidia.com/gpu=2 => gpu:1,3",
        "back gpu 0 koordinator.sh/gpu-core=100,koordinator.sh/gpu-memory-ratio=100",
        "try nvidia.com/gpu=2 => unschedulable Insufficient GPU Devices"}},
      {"for all, also those that are gone while somebody has them",
       {"machine", "rdma 0 0 a ok - -", "rdma 1 0 b ok - -",
        "place koordinator.sh/rdma=1 hint={\"rdma\":{\"allocateStrategy\":\"ApplyForAll\"}} => rdma:0,1",
        "held rdma 7 koordinator.sh/rdma=1",
        "try koordinator.sh/rdma=1 hint={\"rdma\":{\"allocateStrategy\":\"ApplyForAll\"}} => unschedulable "
        "Insufficient "
        "rdma devices"}},
      {"a virtual function each, the lowest bus first, none twice",
       {"machine", "rdma 0 0 a ok - kind=x:0@b,1@a|kind=y:2@c", "rdma 1 0 b ok - -",
        "place koordinator.sh/rdma=1 hint={\"rdma\":{\"vfSelector\":{\"matchLabels\":{\"kind\":\"x\"}}}} => "
        "rdma:0/a",
        "place koordinator.sh/rdma=1 hint={\"rdma\":{\"vfSelector\":{}}} => rdma:0/b",
        "try koordinator.sh/rdma=1 hint={\"rdma\":{\"vfSelector\":{\"matchLabels\":{\"kind\":\"x\"}}}} => "
        "unschedulable "
        "Insufficient rdma devices",
        "place koordinator.sh/rdma=1 hint={\"rdma\":{\"vfSelector\":{}}} => rdma:0/c",
        "try koordinator.sh/rdma=1 hint={\"rdma\":{\"vfSelector\":{}}} => unschedulable Insufficient rdma "
        "devices",
        "try koordinator.sh/rdma=1 => rdma:0", "remove 1",
        "try koordinator.sh/rdma=1 hint={\"rdma\":{\"vfSelector\":{}}} => rdma:0/b"}},
      {"a virtual function that is named, and of who has none named any",
       {"machine", "rdma 0 0 a ok - kind=x:0@a,1@b,2@c", "rdma 1 0 b ok - kind=x:0@a,1@b",
        "named rdma 0 - b,c", "place koordinator.sh/rdma=1 hint={\"rdma\":{\"vfSelector\":{}}} => rdma:0/b",
        "named rdma 0 - b,c", "place koordinator.sh/rdma=1 hint={\"rdma\":{\"vfSelector\":{}}} => rdma:0/c",
        "named rdma 0 - b,c", "try koordinator.sh/rdma=1 hint={\"rdma\":{\"vfSelector\":{}}} => rdma:1/a",
        "named rdma 0 - b,c", "within rdma 0 koordinator.sh/rdma=1",
        "try koordinator.sh/rdma=1 hint={\"rdma\":{\"vfSelector\":{}}} => unschedulable Insufficient rdma "
        "devices",
        "try koordinator.sh/rdma=1 hint={\"rdma\":{\"vfSelector\":{}}} => rdma:0/a"}},
  };
  for (const Row& row : rows) {
    AllocationScript script;
    script.read(kScorers);
    script.read("scorer most MostAllocated koordinator.sh/gpu-memory-ratio=1");
    for (const std::string& line : row.script) {
      if (script.read(line)) continue;
      const std::size_t at = line.find(" => ");
      CAPTURE(row.name, line);
      REQUIRE(at != std::string::npos);
      CHECK(script.ask(line.substr(0, at)).given == line.substr(at + 4));
    }
  }
}

TEST_CASE("A choice is the same for who asks and who reserves, also of a share beside a NIC") {
  // The emptier GPU has no NIC beside it: whoever proves it without the scorer would promise what Reserve
  // refuses.
  AllocationScript script;
  for (const char* line : {kScorers, "machine", "gpu 0 0 a ok - -", "gpu 1 0 b ok - -", "rdma 0 0 a ok - -",
                           "held gpu 0 koordinator.sh/gpu-core=10,koordinator.sh/gpu-memory-ratio=10"})
    script.read(line);
  const std::string joint = R"( joint={"deviceTypes":["gpu","rdma"],"requiredScope":"SamePCIe"})";
  CHECK(script.ask("try koordinator.sh/gpu=50 koordinator.sh/rdma=1 scorer=-" + joint).given ==
        "gpu:0 rdma:0");
  // ask() holds fits() against it.
  CHECK(script.ask("try koordinator.sh/gpu=50 koordinator.sh/rdma=1 scorer=least" + joint).given ==
        "gpu:0 rdma:0");
}

TEST_CASE("Memory nodes that have too few devices") {
  KnownShapes shapes;
  api::Device device = eight_gpus();
  device.spec.devices[0].topology->node_id = -1;  // a NIC of which nobody knows where it is
  const auto shape = shapes.read(&device, nullptr);
  DeviceLedger ledger;
  ledger.bind(shape, healthy_places(*shape, &device));
  struct Row {
    DeviceRequests requests;
    NumaMask nodes;
    const char* refused;
  };
  constexpr const char* kTooFew = "Insufficient NUMA Scoped Devices";
  for (const Row& row : std::vector<Row>{
           {{{api::kNvidiaGpu, 4}}, 0b01, ""},
           {{{api::kNvidiaGpu, 5}}, 0b01, kTooFew},
           {{{api::kNvidiaGpu, 5}}, 0b11, ""},
           {{{api::kNvidiaGpu, 5}}, 0b100, ""},  // none there: the choice will say so
           {{{api::kRdma, 200}}, 0b01, kTooFew},
           {{{api::kRdma, 200}}, 0b10, ""},
           {{{api::kFpga, 100}}, 0b10, "Insufficient fpga devices"},
       }) {
    const DeviceDemand demand = read_demand(row.requests, {}, {}, {});
    const BoundDemand bound(demand, shape);
    const Refusal refusal = lacks_on_numa_nodes(ledger.devices(), bound, {.numa_nodes = row.nodes});
    CAPTURE(row.requests.front().first, row.nodes);
    CHECK(refusal.text() == row.refused);
    CHECK(refusal.code() == (*row.refused == '\0' ? StatusCode::success : StatusCode::unresolvable));
  }
}

TEST_CASE("What a GPU's memory is of its ratio, and its ratio of the memory") {
  KnownShapes shapes;
  const api::Device device = eight_gpus();
  DeviceLedger ledger;
  auto shape = shapes.read(&device, nullptr);
  ledger.bind(shape, healthy_places(*shape, &device));
  struct Row {
    std::int32_t minor;
    std::int64_t memory, ratio;  // -1: absent
    std::int64_t then_memory, then_ratio;
  };
  constexpr std::int64_t kGi = std::int64_t{1} << 30;
  for (const Row& row : std::vector<Row>{{0, -1, 50, 40 * kGi, 50},
                                         {1, 40 * kGi, -1, 40 * kGi, 50},
                                         {1, 1 * kGi, -1, 1 * kGi, 1},
                                         {2, 7, 9, 7, 9},
                                         {2, -1, -1, 0, 0}}) {
    Given given{{{DeviceType::gpu, row.minor, {}}}};
    if (row.memory >= 0) given.devices[0].amounts.set(Unit::memory, row.memory);
    if (row.ratio >= 0) given.devices[0].amounts.set(Unit::memory_ratio, row.ratio);
    const Given filled = std::move(fill_memory(ledger.devices(), given)).value();
    CAPTURE(row.minor, row.memory, row.ratio);
    CHECK(filled.devices[0].amounts[Unit::memory] == row.then_memory);
    if (row.ratio >= 0 || row.memory >= 0)
      CHECK(filled.devices[0].amounts[Unit::memory_ratio] == row.then_ratio);
  }
  const auto missing = fill_memory(ledger.devices(), Given{{{DeviceType::gpu, 8, {}}}});
  REQUIRE(missing.has_error());
  CHECK(missing.error().message() == "no healthy gpu device with minor 8 of allocation");
  ledger.bind(shape, {});
  CHECK(fill_memory(ledger.devices(), Given{{{DeviceType::gpu, 0, {}}}}).has_error());
  CHECK(fill_memory(ledger.devices(), Given{{{DeviceType::rdma, 0, {}}}}).has_value());
}

}  // namespace
}  // namespace koord::scheduling::test
