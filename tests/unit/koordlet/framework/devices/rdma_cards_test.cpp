// RDMA cards in a sysfs of text files: upstream's rules, and random machines whose cards come and go.
#include "framework/devices/rdma_cards.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <filesystem>
#include <map>
#include <random>

#include "support/pci_tree.hpp"

namespace koord::koordlet {
namespace {

struct Machine {
  testing::Tree tree;
  host::Root root = host::Root::below(tree.path());

  void card(const std::string& bus, const std::string& name, std::initializer_list<std::string_view> ports,
            int node = 0, const std::string& complex = "pci0000:3a") {
    const std::string place = pci_card(tree, bus, "15b3", "101b", node, complex, "0x020000");
    if (name.empty()) return;
    tree.write(fmt::format("{}/infiniband/{}/", place, name), "");
    int port = 0;
    for (const std::string_view state : ports)
      tree.write(fmt::format("sys/class/infiniband/{}/ports/{}/state", name, ++port),
                 fmt::format("{}\n", state));
  }
  void function(const std::string& of, int number, const std::string& bus) {
    const std::string place = pci_card(tree, bus, "15b3", "101c", 0, "pci0000:3a", "0x020000");
    const std::string parent = tree / fmt::format("sys/bus/pci/devices/{}", of);
    std::filesystem::create_symlink(fmt::format("../{}", bus), fmt::format("{}/virtfn{}", parent, number));
    std::filesystem::create_symlink(fmt::format("../{}", of), tree / (place + "/physfn"));
  }
  void functions_wanted(const std::string& of, std::string_view number) {
    tree.write(fmt::format("sys/bus/pci/devices/{}/sriov_numvfs", of), fmt::format("{}\n", number));
  }
};

TEST_CASE("A card, its place, its ports, its virtual functions") {
  Machine machine;
  machine.card("0000:3b:00.0", "mlx5_1", {"4: ACTIVE", "4: ACTIVE"}, 1);
  machine.functions_wanted("0000:3b:00.0", "2");
  machine.function("0000:3b:00.0", 0, "0000:3b:00.3");
  machine.function("0000:3b:00.0", 1, "0000:3b:00.2");
  machine.card("0000:5e:00.0", "mlx5_0", {"4: ACTIVE", "1: DOWN"}, -1);
  machine.card("0000:5f:00.0", "", {});                    // without RDMA
  pci_card(machine.tree, "0000:60:00.0", "10de", "20b5");  // no network card
  const DeviceReading reading = read_rdma_cards(machine.root);
  CHECK(reading.complete);
  CHECK(reading.problems.empty());
  REQUIRE(reading.devices.size() == 2);
  const api::DeviceInfo& first = reading.devices[0];
  CHECK(first.type == kRdmaType);
  CHECK(first.id == "0000:3b:00.0");
  CHECK(first.minor == 1);
  CHECK(first.health);
  CHECK(first.resources.find("koordinator.sh/rdma")->value() == 100);
  CHECK(first.topology->socket_id == -1);
  CHECK(first.topology->node_id == 1);
  CHECK(first.topology->pcie_id == "pci0000:3a");
  REQUIRE(first.vf_groups.size() == 1);
  REQUIRE(first.vf_groups[0].vfs.size() == 2);
  CHECK(first.vf_groups[0].vfs[0].bus_id == "0000:3b:00.2");
  CHECK(first.vf_groups[0].vfs[0].minor == -1);
  const api::DeviceInfo& second = reading.devices[1];
  CHECK(second.minor == 0);
  CHECK_FALSE(second.health);
  CHECK(second.topology->node_id == 0);
  CHECK(second.vf_groups.empty());
}

TEST_CASE("Virtual functions are told only where they are wanted") {
  for (const std::string_view wanted : {"0", "", "many"}) {
    Machine machine;
    machine.card("0000:3b:00.0", "mlx5_0", {"4: ACTIVE"});
    machine.functions_wanted("0000:3b:00.0", wanted);
    machine.function("0000:3b:00.0", 0, "0000:3b:00.1");
    const DeviceReading reading = read_rdma_cards(machine.root);
    REQUIRE(reading.devices.size() == 1);
    CHECK(reading.devices[0].vf_groups.empty());
  }
}

TEST_CASE("Names without a number, and numbers that are taken, are told") {
  Machine machine;
  machine.card("0000:01:00.0", "bnxt_re0", {"4: ACTIVE"});
  machine.card("0000:02:00.0", "mlx4_0", {"4: ACTIVE"});
  machine.card("0000:03:00.0", "mlx5_0", {"4: ACTIVE"});
  machine.card("0000:04:00.0", "mlx5_x", {"4: ACTIVE"});
  const DeviceReading reading = read_rdma_cards(machine.root);
  REQUIRE(reading.devices.size() == 1);
  CHECK(reading.devices[0].id == "0000:02:00.0");
  REQUIRE(reading.problems.size() == 3);
  CHECK(reading.problems[0] ==
        "RDMA device bnxt_re0 at 0000:01:00.0: a name such as mlx5_0 is expected, which has a number; it is "
        "not "
        "reported");
  CHECK(reading.problems[1] ==
        "RDMA device mlx5_0 at 0000:03:00.0: an earlier device has this number; it is not reported");
  CHECK(reading.complete);
}

TEST_CASE("A machine without PCI has none") {
  testing::Tree tree{{"sys/", ""}};
  const DeviceReading reading = read_rdma_cards(host::Root::below(tree.path()));
  CHECK(reading.devices.empty());
  CHECK(reading.complete);
}

TEST_CASE("Random machines whose cards come and go") {
  std::mt19937 random(20'261'128);  // NOLINT: the same machines each time
  for (int round = 0; round < 20; ++round) {
    Machine machine;
    std::map<std::string, bool> expected;  // by bus: whether it works
    const int cards = static_cast<int>(random() % 12);
    for (int i = 0; i < cards; ++i) {
      const std::string bus = fmt::format("0000:{:02x}:00.0", 16 + i);
      const bool works = random() % 2 == 0;
      machine.card(bus, fmt::format("mlx5_{}", i), {works ? "4: ACTIVE" : "1: DOWN"},
                   static_cast<int>(random() % 4));
      expected[bus] = works;
    }
    for (int change = 0; change < 3; ++change) {
      std::map<std::string, bool> seen;
      for (const api::DeviceInfo& device : read_rdma_cards(machine.root).devices)
        seen[device.id] = device.health;
      CHECK(seen == expected);
      if (expected.empty()) break;
      const auto gone = std::next(expected.begin(), static_cast<long>(random() % expected.size()));
      machine.tree.remove(fmt::format("sys/bus/pci/devices/{}", gone->first));
      expected.erase(gone);
    }
  }
}

}  // namespace
}  // namespace koord::koordlet
