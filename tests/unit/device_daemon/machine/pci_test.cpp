// PCI in sysfs, and vendors' ways of writing a place on the bus.
#include "machine/pci.hpp"

#include <catch2/catch.hpp>

#include "machine_rig.hpp"

namespace koord::device_daemon {
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
  testing::Rig rig;
  rig.card("0000:3b:00.0", "10de", "20b5", 1, "pci0000:3a");
  rig.card("0000:03:00.0", "8086", "1572", -1, "pci0000:00");
  rig.tree.write("sys/bus/pci/devices/0000:04:00.0/vendor", "nonsense");  // and no device
  rig.tree.write("sys/bus/pci/devices/0000:05:00.0/", "");
  const std::string sys = rig.tree / "sys/";
  const auto all = scan_pci(sys);
  REQUIRE(all.has_value());
  REQUIRE(all->size() == 2);
  CHECK((*all)[0].bus_id == "0000:03:00.0");
  CHECK((*all)[1].vendor == 0x10de);
  CHECK((*all)[1].product == 0x20b5);
  const auto place = place_of(sys, "0000:3b:00.0");
  REQUIRE(place.has_value());
  CHECK(place->numa_node == 1);
  CHECK(place->root_id == "pci0000:3a");
  CHECK(place_of(sys, "0000:03:00.0")->numa_node == 0);
  CHECK(place_of(sys, "0000:ff:00.0").error().code() == Code::not_found);
  CHECK(scan_pci(rig.tree / "nowhere/").value().empty());
}

}  // namespace
}  // namespace koord::device_daemon
