// NVIDIA's cards as a Device has them: upstream's rows (states_device_linux_test.go Test_reportGPUDevice,
// Test_reportGPUDeviceUnhealthy, topology_test.go), MIG, and cards that get lost.
#include "framework/devices/nvidia_cards.hpp"

#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "koord/api/koordinator/devices.hpp"
#include "koord/async/system_clock.hpp"
#include "support/pci_tree.hpp"

namespace koord::koordlet {
namespace {

struct Rig {
  testing::Tree tree;
  boost::asio::io_context loop;
  SystemClock clock{loop.get_executor()};
  metrics::Registry metrics;
  std::optional<NvidiaCards> cards;

  Rig() {
    tree.write("sys/bus/pci/drivers/nvidia/", "");
    pci_card(tree, "0000:44:00.0", "10de", "20b5", -1, "pci0000:3a");
    pci_card(tree, "0000:4d:00.0", "10de", "20b5", 1, "pci0000:4a");
    std::filesystem::copy_file(std::getenv("KOORD_FAKE_NVML"), tree / "nvml.so");
    start();
  }
  void start() {
    // Of the tests, which ask again at once: without a rest between two questions.
    const GpuDriver::Options options{
        .helper = {.root = {}, .limit = std::chrono::seconds(20), .library = tree / "nvml.so"}, .share = 0};
    const host::Root root = host::Root::below(tree.path());
    cards.emplace(std::make_shared<GpuDriver>(clock, root, options, metrics), root,
                  BootFile::Place{.path = tree / "gpu-faults", .older = {}, .boot_id = "b1"});
  }
  DeviceReading read(const std::string& text) {
    tree.write("nvml.so.say", text);
    return cards->read();
  }
};

constexpr const char* kTwo =
    "0 gpu-1 00000000:44:00.0 8000 0 NVIDIA A100 80GB\n1 gpu-2 00000000:4D:00.0 10000 0 NVIDIA A100 80GB\n";

TEST_CASE("Cards with their places, and what all are") {
  Rig rig;
  const DeviceReading reading = rig.read(kTwo);
  CHECK(reading.complete);
  CHECK(reading.problems.empty());
  REQUIRE(reading.devices.size() == 2);
  const api::DeviceInfo& first = reading.devices[0];
  CHECK(first.id == "gpu-1");
  CHECK(first.minor == 0);
  CHECK(first.health);
  CHECK(first.conditions.empty());
  CHECK(first.resources.find(api::kGpuCore)->to_string() == "100");
  CHECK(first.resources.find(api::kGpuMemory)->value() == 8000);
  CHECK(first.resources.find(api::kGpuMemoryRatio)->to_string() == "100");
  REQUIRE(first.topology);
  CHECK(first.topology->socket_id == -1);
  CHECK(first.topology->node_id == 0);  // -1 in sysfs
  CHECK(first.topology->pcie_id == "pci0000:3a");
  CHECK(first.topology->bus_id == "0000:44:00.0");
  CHECK(reading.devices[1].topology->node_id == 1);
  CHECK(reading.gpus.vendor == "nvidia");
  CHECK(reading.gpus.model == "A100-80GB");
  CHECK(reading.gpus.driver_version == "535.104.05");
  CHECK_FALSE(reading.gpus.knows_partitions);
}

TEST_CASE("Models: upstream's forms, and none where they differ") {
  struct Row {
    std::vector<std::string> models;
    std::string_view label;
  };
  const Row rows[] = {{{"A100 SXM4 80GB", "A100 SXM4 80GB"}, "A100-SXM4-80GB"},
                      {{"NVIDIA A100-SXM4-80GB"}, "A100-SXM4-80GB"},
                      {{"Tesla P100-PCIE-16GB"}, "Tesla-P100-PCIE-16GB"},
                      {{"GeForce RTX 2080 Ti"}, "GeForce-RTX-2080-Ti"},
                      {{"Tesla T4", "Tesla P40"}, ""},
                      {{"Tesla T4", ""}, ""},
                      {{}, ""}};
  for (const Row& row : rows) {
    host::GpuAnswer answer;
    for (const std::string& model : row.models) answer.cards.emplace_back().model = model;
    CHECK(gpu_model_label(answer) == row.label);
  }
}

TEST_CASE("An Xid error is that card's, until the next boot; those of applications are none") {
  Rig rig;
  CHECK(rig.read(std::string(kTwo) + "xid 00000000:44:00.0 13\n").devices[0].health);
  DeviceReading reading = rig.read(std::string(kTwo) + "xid 00000000:4D:00.0 44\n");
  CHECK(reading.devices[0].health);
  CHECK_FALSE(reading.devices[1].health);
  reading = rig.read(kTwo);
  REQUIRE(reading.devices[1].conditions.size() == 1);
  CHECK(reading.devices[1].conditions[0].type == "Healthy");
  CHECK(reading.devices[1].conditions[0].status == "False");
  CHECK(reading.devices[1].conditions[0].reason == "Xid44");
  CHECK(reading.devices[1].conditions[0].message == "Xid error detected on device, error code: 44");
  rig.start();  // another agent of this boot
  CHECK(rig.read(kTwo).devices[0].health);
  CHECK_FALSE(rig.read(kTwo).devices[1].health);
  CHECK(rig.read(kTwo).devices[1].conditions[0].reason == "Xid44");
  rig.tree.write("gpu-faults", "koord-gpu-faults 1 b0\n0000:4d:00.0\tXid44\tx\n");  // of an earlier boot
  rig.start();
  CHECK(rig.read(kTwo).devices[1].health);
  Rig old;
  reading = old.read("0 gpu-1 00000000:44:00.0 8000 0 Old Card\n");
  REQUIRE(reading.devices.size() == 1);
  CHECK(reading.devices[0].conditions[0].reason == "DeviceHealthCheckNotSupported");
  CHECK(reading.devices[0].conditions[0].message == "device does not support health checking");
}

TEST_CASE("MIG, lost cards, numbers twice: by name, and the others are reported") {
  Rig rig;
  DeviceReading reading = rig.read(std::string(kTwo) +
                                   "2 gpu-3 00000000:5E:00.0 8000 1 NVIDIA A100 80GB\n"
                                   "1 gpu-4 00000000:60:00.0 8000 0 NVIDIA A100 80GB\n");
  CHECK(reading.devices.size() == 2);
  REQUIRE(reading.problems.size() == 2);
  CHECK(reading.problems[0] == "GPU 2 (gpu-3) is divided into MIG instances, and is not reported");
  CHECK(reading.problems[1] == "GPU 1 (gpu-4): an earlier one has this number; it is not reported");
  reading = rig.read(std::string(kTwo) + "crowd 1 5000\n");
  CHECK(reading.devices.size() == 2);
  REQUIRE(reading.problems.size() == 1);
  CHECK(
      reading.problems[0].ends_with("more processes compute on it than are looked at; its use is not shown"));
  for (int i = 0; i < 2; ++i) {
    reading = rig.read("lost\n1 gpu-2 00000000:4D:00.0 10000 0 NVIDIA A100 80GB\n");
    REQUIRE(reading.devices.size() == 2);
    CHECK(reading.devices[0].id == "gpu-2");
    CHECK(reading.devices[0].health);
    CHECK(reading.devices[1].id == "gpu-1");
    CHECK_FALSE(reading.devices[1].health);
    CHECK(reading.devices[1].conditions[0].reason == "DeviceLost");
  }
  CHECK(rig.read(kTwo).devices[0].health);  // it is back
  rig.start();                              // one that this agent never saw
  reading = rig.read("lost\n1 gpu-2 00000000:4D:00.0 10000 0 NVIDIA A100 80GB\n");
  CHECK(reading.devices.size() == 1);
  CHECK_FALSE(reading.complete);
  // One that the driver does not count any more was taken out.
  CHECK(rig.read("1 gpu-2 00000000:4D:00.0 10000 0 NVIDIA A100 80GB\n").devices.size() == 1);
}

TEST_CASE("A driver that does not answer leaves what is reported; a host without one has none") {
  Rig rig;
  REQUIRE(rig.read(kTwo).devices.size() == 2);
  DeviceReading reading = rig.read("crash\n");
  CHECK_FALSE(reading.complete);
  REQUIRE(reading.problems.size() == 1);
  CHECK(reading.problems[0] == "NVIDIA's GPUs cannot be asked for: NVML's helper has ended");
  rig.tree.remove("sys/bus/pci/drivers/nvidia");
  reading = rig.read(kTwo);
  CHECK(reading.complete);
  CHECK(reading.devices.empty());
  CHECK(reading.problems.empty());
}

}  // namespace
}  // namespace koord::koordlet
