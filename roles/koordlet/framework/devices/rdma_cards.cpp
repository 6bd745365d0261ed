// RDMA network cards in sysfs: see rdma_cards.hpp.
#include "framework/devices/rdma_cards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "koord/api/koordinator/devices.hpp"
#include "koord/base/file.hpp"
#include "koord/host/file.hpp"
#include "koord/host/pci.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {

namespace {

constexpr std::uint8_t kNetwork = 0x02;  // PCI's base class
constexpr std::size_t kMostText = 256;   // of a file in sysfs

/// Of "mlx5_1" 1.
std::optional<std::int32_t> minor_of(std::string_view name) {
  const std::size_t line = name.find('_');
  std::int32_t model = 0, minor = 0;
  if (!name.starts_with("mlx") || line == std::string_view::npos) return std::nullopt;
  if (!host::to_number(name.substr(3, line - 3), model) || !host::to_number(name.substr(line + 1), minor))
    return std::nullopt;
  return model >= 0 && minor >= 0 ? std::optional(minor) : std::nullopt;
}

/// The first is the physical function's: it is loaded before the virtual ones.
std::optional<std::string> infiniband_of(const std::string& device) {
  const auto names = host::list_folder(fmt::format("{}/infiniband", device));
  return names && !names->empty() ? std::optional(names->front()) : std::nullopt;
}

bool is_healthy(const std::string& sys_root, std::string_view name) {
  const std::string ports = fmt::format("{}class/infiniband/{}/ports", sys_root, name);
  const auto all = host::list_folder(ports);
  return all && !all->empty() && std::ranges::all_of(*all, [&ports](const std::string& port) {
           const auto state = read_file(fmt::format("{}/{}/state", ports, port), kMostText);
           return state && state->find("ACTIVE") != std::string::npos;
         });
}

void note_verbs(const std::string& sys_root, const std::string& bus_id, DeviceReading& reading) {
  const auto names =
      host::list_folder(fmt::format("{}bus/pci/devices/{}/infiniband_verbs", sys_root, bus_id));
  if (names && !names->empty()) reading.verbs.emplace(bus_id, names->front());
}

std::vector<api::VirtualFunctionGroup> functions_of(const std::string& device) {
  const auto wanted = read_file(fmt::format("{}/sriov_numvfs", device), kMostText);
  int number = 0;
  if (!wanted || !host::to_number(host::trimmed(*wanted), number) || number <= 0) return {};
  std::set<std::string> bus_ids;
  const auto names = host::list_folder(device);
  if (!names) return {};
  for (const std::string& name : *names) {
    std::error_code failed;
    if (!name.starts_with("virtfn")) continue;
    const auto target = std::filesystem::canonical(fmt::format("{}/{}", device, name), failed);
    if (!failed) bus_ids.insert(target.filename().string());
  }
  api::VirtualFunctionGroup group;
  for (const std::string& bus_id : bus_ids) group.vfs.push_back({.minor = -1, .bus_id = bus_id});
  return {group};
}

}  // namespace

DeviceReading read_rdma_cards(const host::Root& root) {
  DeviceReading reading;
  const auto on_bus = host::scan_pci(root.sys);
  if (!on_bus) {
    reading.complete = false;
    reading.problems.push_back(on_bus.error().message());
    return reading;
  }
  std::set<std::int32_t> minors;
  for (const host::PciDevice& device : *on_bus) {
    const std::string folder = fmt::format("{}bus/pci/devices/{}", root.sys, device.bus_id);
    if (device.base_class != kNetwork || host::exists(fmt::format("{}/physfn", folder))) continue;
    const auto name = infiniband_of(folder);
    if (!name) continue;  // a card without RDMA
    const auto minor = minor_of(*name);
    if (!minor || !minors.insert(*minor).second) {
      reading.problems.push_back(
          fmt::format("RDMA device {} at {}: {}; it is not reported", *name, device.bus_id,
                      minor ? "an earlier device has this number"
                            : "a name such as mlx5_0 is expected, which has a number"));
      continue;
    }
    const auto place = host::pci_place(root.sys, device.bus_id);
    if (!place) {
      reading.complete = false;  // it went while it was looked at, or comes
      reading.problems.push_back(place.error().message());
      continue;
    }
    api::DeviceInfo& to = reading.devices.emplace_back();
    to.type = Symbol(kRdmaType);
    to.id = device.bus_id;
    to.minor = *minor;
    to.health = is_healthy(root.sys, *name);
    to.resources[Symbol(api::kRdma)] = api::Quantity::from_int(100);
    api::DeviceTopology topology;
    topology.socket_id = -1;
    topology.node_id = place->numa_node;
    topology.pcie_id = place->root_id;
    topology.bus_id = device.bus_id;
    to.topology = std::move(topology);
    to.vf_groups = functions_of(folder);
    note_verbs(root.sys, device.bus_id, reading);
    for (const api::VirtualFunctionGroup& group : to.vf_groups)
      for (const api::VirtualFunction& function : group.vfs) note_verbs(root.sys, function.bus_id, reading);
  }
  return reading;
}

}  // namespace koord::koordlet
