// PCI in sysfs: see pci.hpp.
#include "koord/host/pci.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "koord/base/file.hpp"
#include "koord/host/text.hpp"

namespace koord::host {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostText = 256;  // of a file in sysfs

std::optional<unsigned long> parse_hex(std::string_view text, std::size_t most_digits) {
  unsigned long number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (error != std::errc() || end != text.data() + text.size() || text.size() > most_digits)
    return std::nullopt;
  return number;
}

/// "0x10de"; of a class "0x020000".
std::optional<unsigned long> read_id(const std::string& path, std::size_t digits) {
  const auto text = read_file(path, kMostText);
  if (!text || !text->starts_with("0x")) return std::nullopt;
  return parse_hex(trimmed(*text).substr(2), digits);
}

/// Of .../devices/pci0000:3a/0000:3a:00.0/... "pci0000:3a".
std::string root_of(std::string_view path) {
  for (std::size_t at = path.find("/pci"); at != std::string_view::npos; at = path.find("/pci", at + 1)) {
    const std::string_view name = path.substr(at + 1, path.find('/', at + 1) - at - 1);
    const std::size_t colon = name.find(':');
    if (colon == 7 && parse_hex(name.substr(3, 4), 4) && parse_hex(name.substr(colon + 1), 2))
      return std::string(name);
  }
  return {};
}

}  // namespace

std::optional<std::string> parse_bus_id(std::string_view text) {
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view before = text.substr(0, dot);
  const std::size_t second = before.rfind(':');
  if (second == std::string_view::npos || second == 0) return std::nullopt;
  const std::size_t first = before.rfind(':', second - 1);
  const auto domain =
      first == std::string_view::npos ? std::optional(0UL) : parse_hex(before.substr(0, first), 8);
  const std::size_t bus_at = first == std::string_view::npos ? 0 : first + 1;
  const auto bus = parse_hex(before.substr(bus_at, second - bus_at), 2);
  const auto device = parse_hex(before.substr(second + 1), 2), function = parse_hex(text.substr(dot + 1), 1);
  if (!domain || !bus || !device || !function || *device > 31 || *function > 7) return std::nullopt;
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", *domain, *bus, *device, *function);
}

Result<std::vector<PciDevice>> scan_pci(const std::string& sys_root) {
  const std::string folder = fmt::format("{}bus/pci/devices", sys_root);
  std::vector<PciDevice> devices;
  std::error_code failed;
  fs::directory_iterator it(folder, failed);
  if (failed == std::errc::no_such_file_or_directory) return devices;
  for (; !failed && it != fs::directory_iterator(); it.increment(failed)) {
    const std::string name = it->path().filename().string();
    const auto vendor = read_id(fmt::format("{}/{}/vendor", folder, name), 4),
               product = read_id(fmt::format("{}/{}/device", folder, name), 4),
               type = read_id(fmt::format("{}/{}/class", folder, name), 6);
    if (!vendor || !product) continue;
    devices.push_back({.bus_id = name,
                       .vendor = static_cast<std::uint16_t>(*vendor),
                       .product = static_cast<std::uint16_t>(*product),
                       .base_class = static_cast<std::uint8_t>(type.value_or(0) >> 16)});
  }
  if (failed) return errno_error(failed.value(), folder);
  std::sort(devices.begin(), devices.end(), [](const auto& a, const auto& b) { return a.bus_id < b.bus_id; });
  return devices;
}

Result<PciPlace> pci_place(const std::string& sys_root, const std::string& bus_id) {
  const std::string device = fmt::format("{}bus/pci/devices/{}", sys_root, bus_id);
  std::error_code failed;
  const fs::path where = fs::canonical(device, failed);
  if (failed) return errno_error(failed.value(), device);
  PciPlace place{.root_id = root_of(where.string())};
  // Machines without NUMA say -1, and some say nothing.
  if (const auto text = read_file(fmt::format("{}/numa_node", device), kMostText)) {
    const std::string_view number = trimmed(*text);
    int node = 0;
    if (std::from_chars(number.data(), number.data() + number.size(), node).ec == std::errc() && node > 0)
      place.numa_node = node;
  }
  return place;
}

}  // namespace koord::host
