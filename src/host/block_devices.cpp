// Reading /sys/block: see block_devices.hpp.
#include "koord/host/block_devices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "koord/host/file.hpp"
#include "koord/host/text.hpp"

namespace koord::host {
namespace {

constexpr std::size_t kMaxText = 4096;
constexpr std::size_t kMaxShown = 256;
/// Of devices that are made of devices; the kernel knows fewer.
constexpr int kMaxDepth = 16;
constexpr std::string_view kDev = "/dev/", kMapper = "/dev/mapper/", kLvm = "LVM-", kMultipath = "mpath-";

/// Without blanks around it; empty: there is none.
std::string text_of(const std::string& path) {
  const auto text = read_file(path, kMaxText);
  return text ? std::string(trimmed(*text)) : std::string();
}

/// In sysfs a slash in a device's name is an exclamation mark.
std::string device_name(std::string name) {
  std::replace(name.begin(), name.end(), '!', '/');
  return name;
}

/// What LVM writes of a group and a volume: hyphens within a name are doubled.
std::string mapper_name_of(std::string_view group, std::string_view volume) {
  std::string name;
  const auto add = [&](std::string_view part) {
    for (const char c : part) name.append(c == '-' ? 2 : 1, c);
  };
  add(group);
  name += '-';
  add(volume);
  return name;
}

void read_mapper(const std::string& folder, BlockDevice& device) {
  device.mapper_name = text_of(fmt::format("{}/dm/name", folder));
  if (device.mapper_name.empty()) return;
  const std::string uuid = text_of(fmt::format("{}/dm/uuid", folder));
  if (uuid.starts_with(kLvm)) device.volume_group = volume_group_of(device.mapper_name);
  if (uuid.starts_with(kMultipath)) return;  // its paths are one disk, which is this one
  auto below = list_folder(fmt::format("{}/slaves", folder));
  if (!below) return;
  for (std::string& name : *below) device.over.push_back(device_name(std::move(name)));
}

Result<> add_device(const std::string& folder, const std::string& entry, std::vector<BlockDevice>& all) {
  BlockDevice whole;
  whole.name = device_name(entry);
  const auto number = parse_device_number(text_of(fmt::format("{}/dev", folder)));
  if (!number) return {};
  whole.number = *number;
  read_mapper(folder, whole);
  const auto parts = list_folders(folder);
  if (parts)
    for (const std::string& part : *parts) {
      const std::string below = fmt::format("{}/{}", folder, part);
      if (!exists(fmt::format("{}/partition", below))) continue;
      const auto of_part = parse_device_number(text_of(fmt::format("{}/dev", below)));
      if (!of_part) continue;
      BlockDevice& device = all.emplace_back();
      device.name = device_name(part);
      device.number = *of_part;
      device.disk = whole.name;
    }
  all.push_back(std::move(whole));
  if (all.size() > BlockDevices::kMost)
    return Error(Code::too_large, fmt::format("{}: more than {} devices", folder, BlockDevices::kMost));
  return {};
}

std::string_view shown(std::string_view text) { return text.substr(0, kMaxShown); }

}  // namespace

std::string to_string(DeviceNumber number) { return fmt::format("{}:{}", number.major, number.minor); }

std::optional<DeviceNumber> parse_device_number(std::string_view text) {
  const auto colon = text.find(':');
  DeviceNumber number;
  if (colon == std::string_view::npos || !to_number(text.substr(0, colon), number.major) ||
      !to_number(text.substr(colon + 1), number.minor))
    return std::nullopt;
  return number;
}

std::string volume_group_of(std::string_view mapper_name) {
  std::string group;
  for (std::size_t i = 0; i < mapper_name.size(); ++i) {
    const bool hyphen = mapper_name[i] == '-';
    if (hyphen && !mapper_name.substr(i + 1).starts_with('-')) return group;
    if (hyphen) ++i;
    group += mapper_name[i];
  }
  return {};
}

BlockDevices::BlockDevices(std::vector<BlockDevice> all) : all_(std::move(all)) {
  std::sort(all_.begin(), all_.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
}

Result<BlockDevices> BlockDevices::read(const Root& root) {
  const std::string folder = fmt::format("{}block", root.sys);
  KOORD_TRY(entries, list_folders(folder));
  std::vector<BlockDevice> all;
  for (const std::string& entry : entries)
    KOORD_CHECK(add_device(fmt::format("{}/{}", folder, entry), entry, all));
  return BlockDevices(std::move(all));
}

const BlockDevice* BlockDevices::named(std::string_view name) const {
  const auto it =
      std::lower_bound(all_.begin(), all_.end(), name,
                       [](const BlockDevice& device, std::string_view n) { return device.name < n; });
  return it != all_.end() && it->name == name ? &*it : nullptr;
}

const BlockDevice* BlockDevices::numbered(DeviceNumber number) const {
  const auto it =
      std::find_if(all_.begin(), all_.end(), [&](const auto& device) { return device.number == number; });
  return it != all_.end() ? &*it : nullptr;
}

void BlockDevices::add_disks(const BlockDevice& device, int depth, std::vector<DeviceNumber>& disks) const {
  if (depth > kMaxDepth) return;
  if (!device.disk.empty()) {
    const BlockDevice* const disk = named(device.disk);
    if (disk != nullptr) return add_disks(*disk, depth + 1, disks);
  }
  const std::size_t before = disks.size();
  for (const std::string& name : device.over)
    if (const BlockDevice* const below = named(name)) add_disks(*below, depth + 1, disks);
  if (disks.size() == before && std::find(disks.begin(), disks.end(), device.number) == disks.end() &&
      device.over.empty())
    disks.push_back(device.number);
  std::sort(disks.begin(), disks.end());
  disks.erase(std::unique(disks.begin(), disks.end()), disks.end());
}

DeviceNumber BlockDevices::disk_of(const BlockDevice& device) const {
  const BlockDevice* whole = &device;
  if (!device.disk.empty())
    if (const BlockDevice* const disk = named(device.disk)) whole = disk;
  std::vector<DeviceNumber> disks;
  add_disks(*whole, 0, disks);
  return disks.size() == 1 ? disks.front() : whole->number;
}

Result<DeviceNumber> BlockDevices::disk_of(DeviceNumber number) const {
  const BlockDevice* const device = numbered(number);
  if (device == nullptr)
    return Error(Code::not_found, fmt::format("{} is no disk of this host", to_string(number)));
  return disk_of(*device);
}

Result<DeviceNumber> BlockDevices::disk_of_device(std::string_view path) const {
  if (!path.starts_with(kDev) || path.size() == kDev.size())
    return Error(Code::invalid,
                 fmt::format("\"{}\": expected the path of a device, as /dev/vdb", shown(path)));
  const std::string_view name = path.substr(kDev.size());
  if (const BlockDevice* const device = named(name)) return disk_of(*device);
  std::string mapped;
  if (path.starts_with(kMapper))
    mapped = path.substr(kMapper.size());
  else if (const auto slash = name.find('/'); slash != std::string_view::npos)
    mapped = mapper_name_of(name.substr(0, slash), name.substr(slash + 1));
  const auto it = std::find_if(all_.begin(), all_.end(), [&](const BlockDevice& device) {
    return !mapped.empty() && device.mapper_name == mapped;
  });
  if (it != all_.end()) return disk_of(*it);
  return Error(Code::not_found, fmt::format("\"{}\": there is no such device", shown(path)));
}

Result<DeviceNumber> BlockDevices::disk_of_volume_group(std::string_view name) const {
  std::vector<DeviceNumber> disks;
  bool found = false;
  for (const BlockDevice& device : all_) {
    if (name.empty() || device.volume_group != name) continue;
    found = true;
    add_disks(device, 0, disks);
  }
  if (!found || disks.empty())
    return Error(Code::not_found,
                 fmt::format("\"{}\": no logical volume of such a group is active", shown(name)));
  if (disks.size() == 1) return disks.front();
  std::vector<std::string> all;
  all.reserve(disks.size());
  for (const DeviceNumber disk : disks) all.push_back(to_string(disk));
  return Error(Code::unsupported, fmt::format("\"{}\": the group is on {} disks ({}), expected a single one",
                                              shown(name), all.size(), fmt::join(all, ", ")));
}

}  // namespace koord::host
