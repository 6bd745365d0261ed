// A PCI device in a tree of text files, as sysfs shows one.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "support/tree.hpp"

namespace koord::testing {

/// Below sys/: a folder where it is on the board, and the link by which it is found. Returns that folder.
inline std::string pci_card(Tree& tree, const std::string& bus, std::string_view vendor,
                            std::string_view product, int node = 0, const std::string& root = "pci0000:3a",
                            std::string_view type = "0x030200") {
  const std::string place = fmt::format("sys/devices/{}/{}", root, bus);
  tree.write(place + "/vendor", fmt::format("0x{}\n", vendor));
  tree.write(place + "/device", fmt::format("0x{}\n", product));
  tree.write(place + "/class", fmt::format("{}\n", type));
  tree.write(place + "/numa_node", fmt::format("{}\n", node));
  tree.write("sys/bus/pci/devices/", "");
  std::filesystem::create_symlink(fmt::format("../../../devices/{}/{}", root, bus),
                                  tree / ("sys/bus/pci/devices/" + bus));
  return place;
}

}  // namespace koord::testing
