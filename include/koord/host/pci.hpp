// PCI devices, as sysfs lists them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"

namespace koord::host {

struct PciDevice {
  std::string bus_id;  // "0000:3b:00.0"
  std::uint16_t vendor = 0, product = 0;
  std::uint8_t base_class = 0;  // 0x02: network, 0x03: display; 0: not known
};

/// Of a device's place on the board.
struct PciPlace {
  int numa_node = 0;    // 0 where the machine does not say, as upstream has it
  std::string root_id;  // of its root complex: "pci0000:3a"; empty: not known
};

/// A vendor's way of writing one, in the kernel's: "00000000:3B:00.0" is "0000:3b:00.0". Nothing: it is none.
std::optional<std::string> parse_bus_id(std::string_view text);

/// All of the machine, by `sys_root` + bus/pci/devices, in the order of their names. One that goes meanwhile
/// is left out. A machine without PCI has none. Blocks for milliseconds.
Result<std::vector<PciDevice>> scan_pci(const std::string& sys_root);

/// Where a device is on the board. Code::not_found: sysfs has none of that name. `bus_id` is as
/// parse_bus_id() has it.
Result<PciPlace> pci_place(const std::string& sys_root, const std::string& bus_id);

}  // namespace koord::host
