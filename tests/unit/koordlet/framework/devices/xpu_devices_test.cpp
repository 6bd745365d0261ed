// Accelerators of files, as a Device has them: upstream's rows (states_device_linux_test.go
// Test_reportXPUDevice, collector_xpu_test.go), and what lies.
#include <catch2/catch.hpp>

#include "framework/devices/xpu_files.hpp"
#include "koord/api/schema/codec.hpp"

namespace koord::koordlet {
namespace {

api::XpuDevice npu(std::string uuid, std::string minor, std::string node, std::string bus,
                   std::string peers = "") {
  api::XpuDevice device{
      .vendor = "huawei", .model = "Ascend-910B", .uuid = std::move(uuid), .minor = std::move(minor)};
  device.resources = {{"huawei.com/npu-core", "32"},
                      {"huawei.com/npu-cpu", "14"},
                      {"koordinator.sh/gpu-memory", "32Gi"},
                      {"huawei.com/npu-dvpp", "100"}};
  api::XpuTopology place;
  if (!peers.empty()) place.p2p_links = {{.peer_minor = std::move(peers), .type = "HCCS"}};
  place.must_honor_partition = !place.p2p_links.empty();
  place.socket_id = "0";
  place.node_id = std::move(node);
  place.pcie_id = "0000:00:08.0";
  place.bus_id = std::move(bus);
  device.topology = std::move(place);
  return device;
}

std::string text_of(const api::DeviceInfo& device) { return api::encode(device); }

TEST_CASE("Upstream's four cards") {
  std::vector<api::XpuDevice> cards = {
      npu("185011D4-21104518-A0C4ED94-14CC040A-56102003", "0", "0", "0000:00:08.0", "1,2,3,g"),
      npu("185011D4-21104518-A0C4ED94-14CC040A-56102001", "1", "1", "0000:00:08.1", "0,1,2,3"),
      npu("185011D4-21104518-A0C4ED94-14CC040A-56102002", "2", "2", "0000:00:08.2"),
      npu("185011D4-21104518-A0C4ED94-14CC040A-56102004", "4", "4", "0000:00:08.4", "5,6,7,7,g")};
  cards[0].status = api::XpuStatus{.healthy = true};
  cards[1].status = api::XpuStatus{.healthy = true};
  cards[3].status = api::XpuStatus{.healthy = false, .err_code = "-8001"};
  const DeviceReading reading = read_xpu_devices({{"/cards", cards}});
  CHECK(reading.complete);
  REQUIRE(reading.devices.size() == 4);
  CHECK(text_of(reading.devices[0]) ==
        R"({"type":"gpu","id":"185011D4-21104518-A0C4ED94-14CC040A-56102003","minor":0,"health":true,)"
        R"("resources":{"huawei.com/npu-core":"32","huawei.com/npu-cpu":"14","huawei.com/npu-dvpp":"100",)"
        R"("koordinator.sh/gpu-memory":"32Gi","koordinator.sh/gpu-memory-ratio":"100"},)"
        R"("topology":{"socketID":-1,"nodeID":0,"pcieID":"0000:00:08.0","busID":"0000:00:08.0"},)"
        R"("conditions":[{"type":"Healthy","status":"True","lastTransitionTime":null,)"
        R"("reason":"DeviceHealthy","message":"device is healthy"}]})");
  CHECK(reading.devices[1].topology->node_id == 1);
  CHECK(reading.devices[2].conditions.empty());
  CHECK(reading.devices[2].health);
  CHECK_FALSE(reading.devices[3].health);
  REQUIRE(reading.devices[3].conditions.size() == 1);
  CHECK(reading.devices[3].conditions[0].status == "False");
  CHECK(reading.devices[3].conditions[0].reason == "Code_8001");  // upstream's -8001 is refused by the CRD
  CHECK(reading.devices[3].conditions[0].message == "device is unhealthy (-8001)");
  CHECK(reading.gpus.vendor == "huawei");
  CHECK(reading.gpus.model == "Ascend-910B");
  CHECK(reading.gpus.partition_policy == "Honor");
  CHECK(reading.gpus.partitions == R"({"4":[{"minors":[0,1,2,3],"gpuLinkType":"HCCS","allocationScore":1},)"
                                   R"({"minors":[4,5,6,7],"gpuLinkType":"HCCS","allocationScore":1}]})");
  CHECK(reading.problems.size() == 2);  // the peers "g"
}

TEST_CASE("Health: upstream's rows of conditions") {
  struct Row {
    api::XpuStatus status;
    std::string_view reason, message;
  };
  const Row rows[] = {
      {{.healthy = true}, "DeviceHealthy", "device is healthy"},
      {{.err_code = "Xid44", .err_message = "Xid error detected on device, error code: 44"},
       "Xid44",
       "Xid error detected on device, error code: 44"},
      {{.err_code = "DeviceHealthCheckNotSupported",
        .err_message = "device does not support health checking"},
       "DeviceHealthCheckNotSupported",
       "device does not support health checking"},
      {{.err_code = "Xid44"}, "Xid44", "device is unhealthy"},
      {{}, "Unknown", "device is unhealthy"},
      {{.err_code = "chip error"}, "chip_error", "device is unhealthy (chip error)"},
      {{.err_code = "not known", .err_message = "no answer"}, "not_known", "no answer (not known)"},
      {{.err_code = "ECC:"}, "ECC_", "device is unhealthy (ECC:)"},
      {{.err_code = "42"}, "Code42", "device is unhealthy (42)"},
  };
  for (const Row& row : rows) {
    api::XpuDevice card = npu("a", "0", "0", "0000:00:08.0");
    card.status = row.status;
    const DeviceReading reading = read_xpu_devices({{"/cards", {card}}});
    REQUIRE(reading.devices.size() == 1);
    REQUIRE(reading.devices[0].conditions.size() == 1);
    CHECK(reading.devices[0].health == row.status.healthy);
    CHECK(reading.devices[0].conditions[0].reason == row.reason);
    CHECK(reading.devices[0].conditions[0].message == row.message);
  }
}

TEST_CASE("What lies about itself costs that device, or that field, alone") {
  struct Row {
    std::string_view what;
    void (*spoil)(api::XpuDevice& card);
    std::size_t devices;  // beside the good one
    std::string_view problem;
  };
  const Row rows[] = {
      {"no id", [](api::XpuDevice& card) { card.uuid.clear(); }, 0,
       "/cards: device 1: uuid \"\", minor \"1\": an id and a number are expected; the device is left out"},
      {"a minor that is none", [](api::XpuDevice& card) { card.minor = "one"; }, 0,
       "/cards: device 1: uuid \"b\", minor \"one\": an id and a number are expected; the device is left "
       "out"},
      {"a minor below 0", [](api::XpuDevice& card) { card.minor = "-1"; }, 0, "minor \"-1\""},
      {"a huge minor", [](api::XpuDevice& card) { card.minor = "4294967296"; }, 0, "minor \"4294967296\""},
      {"the minor of another", [](api::XpuDevice& card) { card.minor = "0"; }, 0,
       "/cards: device 1: uuid b, minor 0: an earlier device has the id or the number; this one is left out"},
      {"the id of another", [](api::XpuDevice& card) { card.uuid = "a"; }, 0, "this one is left out"},
      {"an amount that is none", [](api::XpuDevice& card) { card.resources["gpu-core"] = "much"; }, 1,
       "/cards: device 1: koordinator.sh/gpu-core: \"much\" is no amount, and does not count"},
      {"an amount below 0", [](api::XpuDevice& card) { card.resources["gpu-memory"] = "-1Gi"; }, 1,
       "/cards: device 1: koordinator.sh/gpu-memory: -1Gi is below 0, and does not count"},
      {"a resource's name", [](api::XpuDevice& card) { card.resources["../x"] = "1"; }, 1,
       "/cards: device 1: ../x is no name of a resource, and does not count"},
      {"a NUMA node", [](api::XpuDevice& card) { card.topology->node_id = "east"; }, 1,
       "/cards: device 1: topology.nodeID: \"east\" is no NUMA node; it counts as not known"},
      {"a link to nobody",
       [](api::XpuDevice& card) { card.topology->p2p_links = {{.peer_minor = "", .type = "HCCS"}}; }, 1,
       "/cards: device 1: topology.p2pLinks: a link without peers or without a type does not count"},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    std::vector<api::XpuDevice> cards = {npu("a", "0", "0", "0000:00:08.0"),
                                         npu("b", "1", "0", "0000:00:08.1")};
    row.spoil(cards[1]);
    const DeviceReading reading = read_xpu_devices({{"/cards", cards}});
    CHECK(reading.devices.size() == 1 + row.devices);
    REQUIRE(reading.problems.size() == 1);
    CHECK_THAT(reading.problems[0], Catch::Contains(std::string(row.problem)));
    for (const api::DeviceInfo& device : reading.devices)
      for (const auto& [name, amount] : device.resources) CHECK(amount.sign() >= 0);
  }
}

TEST_CASE("gpu-core and gpu-memory are Koordinator's, and labels must be labels") {
  api::XpuDevice card = npu("a", "0", "", "");
  card.resources = {{"gpu-core", "100"}, {"gpu-memory", "16Gi"}, {"koordinator.sh/gpu-memory-ratio", "50"}};
  card.model = "Some Card (rev. 2)";
  const DeviceReading reading = read_xpu_devices({{"/cards", {card}}});
  REQUIRE(reading.devices.size() == 1);
  CHECK(reading.devices[0].resources.find("koordinator.sh/gpu-core")->value() == 100);
  CHECK(reading.devices[0].resources.find("koordinator.sh/gpu-memory")->value() == 16LL << 30);
  CHECK(reading.devices[0].resources.find("koordinator.sh/gpu-memory-ratio")->value() == 50);
  CHECK(reading.devices[0].topology->node_id == -1);
  CHECK(reading.gpus.model.empty());
  CHECK(reading.gpus.vendor == "huawei");
  REQUIRE(reading.problems.size() == 1);
  CHECK(reading.problems[0] == "/cards: model \"Some-Card-(rev.-2)\" can be no label, and is not reported");
}

}  // namespace
}  // namespace koord::koordlet
