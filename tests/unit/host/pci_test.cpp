// PCI in sysfs, and vendors' ways of writing a place on the bus.
#include "koord/host/pci.hpp"

#include <catch2/catch.hpp>

#include "support/pci_tree.hpp"

namespace koord::host {
namespace {

TEST_CASE("A place on the bus, however it is written") {
  struct Row {
    std::string_view text;
    const char* bus;  // null: it is none
  };
  const Row rows[] = {{"0000:3b:00.0", "0000:3b:00.0"},
                      {"00000000:3B:00.0", "0000:3b:00.0"},
                      {"3b:00.0", "0000:3b:00.0"},
                      {"0001:C1:1f.7", "0001:c1:1f.7"},
                      {"10000:01:00.0", "10000:01:00.0"},
                      {"0000:3b:20.0", nullptr},
                      {"0000:3b:00.8", nullptr},
                      {"0000:3b:00", nullptr},
                      {"", nullptr},
                      {".", nullptr},
                      {":.0", nullptr},
                      {"../../../etc", nullptr},
                      {"0000:3b:00.0/..", nullptr},
                      {"0000:zz:00.0", nullptr},
                      {"000000000:3b:00.0", nullptr},
                      {"0:0:0:0.0", nullptr},
                      {"::::..", nullptr}};
  for (const Row& row : rows) {
    INFO(row.text);
    const auto bus = parse_bus_id(row.text);
    CHECK(bus.has_value() == (row.bus != nullptr));
    if (bus && row.bus != nullptr) CHECK(*bus == row.bus);
  }
}

TEST_CASE("The machine's devices, and where they are") {
  koord::testing::Tree tree;
  pci_card(tree, "0000:3b:00.0", "10de", "20b5", 1);
  pci_card(tree, "0000:03:00.0", "8086", "1572", -1, "pci0000:00", "0x020000");
  tree.write("sys/bus/pci/devices/0000:04:00.0/vendor", "nonsense");  // and no device
  tree.write("sys/bus/pci/devices/0000:05:00.0/", "");
  const std::string sys = tree / "sys/";
  const auto all = scan_pci(sys);
  REQUIRE(all.has_value());
  REQUIRE(all->size() == 2);
  CHECK((*all)[0].bus_id == "0000:03:00.0");
  CHECK((*all)[1].vendor == 0x10de);
  CHECK((*all)[0].base_class == 0x02);
  CHECK((*all)[1].product == 0x20b5);
  CHECK((*all)[1].base_class == 0x03);
  const auto place = pci_place(sys, "0000:3b:00.0");
  REQUIRE(place.has_value());
  CHECK(place->numa_node == 1);
  CHECK(place->root_id == "pci0000:3a");
  CHECK(pci_place(sys, "0000:03:00.0")->numa_node == 0);
  CHECK(pci_place(sys, "0000:ff:00.0").error().code() == Code::not_found);
  CHECK(scan_pci(tree / "nowhere/").value().empty());
}

}  // namespace
}  // namespace koord::host
