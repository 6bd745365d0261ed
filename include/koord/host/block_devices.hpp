// BlockDevices: disks, their partitions and what device mapper (LVM, too) makes of them, as sysfs tells it:
// no lsblk, vgs or lvs, no fork.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"
#include "koord/host/root.hpp"

namespace koord::host {

struct DeviceNumber {
  std::uint32_t major = 0, minor = 0;
  friend auto operator<=>(const DeviceNumber&, const DeviceNumber&) = default;
};
/// "8:16".
std::string to_string(DeviceNumber number);
/// Nothing: it is none.
std::optional<DeviceNumber> parse_device_number(std::string_view text);

struct BlockDevice {
  std::string name;  // as in /dev: "vdb", "vdb1", "dm-0", "cciss/c0d0"
  DeviceNumber number;
  std::string disk;               // of a partition: the disk's name
  std::string mapper_name;        // of one that device mapper makes: "pool-data"
  std::string volume_group;       // of a logical volume
  std::vector<std::string> over;  // what device mapper has made it of, by names
  friend bool operator==(const BlockDevice&, const BlockDevice&) = default;
};

/// "yoda--pool0-yoda--1" is of the group "yoda-pool0": LVM doubles the hyphens of names. Empty: it is none.
std::string volume_group_of(std::string_view mapper_name);

/// Where the kernel limits I/O it wants whole disks. What device mapper has on a single disk is that disk;
/// on several it is a device of its own, which the kernel limits as such.
class BlockDevices {
 public:
  /// No more than this many are read: then Code::too_large.
  static constexpr std::size_t kMost = 16'384;

  BlockDevices() = default;
  explicit BlockDevices(std::vector<BlockDevice> all);
  /// Reads /sys/block. A device that goes meanwhile, or that has no number, is left out.
  static Result<BlockDevices> read(const Root& root);

  std::span<const BlockDevice> all() const { return all_; }  // ascending by name
  const BlockDevice* named(std::string_view name) const;
  const BlockDevice* numbered(DeviceNumber number) const;

  /// The disk of "/dev/vdb", "/dev/vdb1", "/dev/mapper/pool-data", "/dev/pool/data". Code::not_found names
  /// what there is not, Code::invalid what is no such path.
  Result<DeviceNumber> disk_of_device(std::string_view path) const;
  /// Code::not_found: none of its logical volumes is active here; Code::unsupported: they are on several
  /// disks, which no one limit is for.
  Result<DeviceNumber> disk_of_volume_group(std::string_view name) const;
  /// Code::not_found: there is no such device.
  Result<DeviceNumber> disk_of(DeviceNumber number) const;

  friend bool operator==(const BlockDevices&, const BlockDevices&) = default;

 private:
  DeviceNumber disk_of(const BlockDevice& device) const;
  void add_disks(const BlockDevice& device, int depth, std::vector<DeviceNumber>& disks) const;

  std::vector<BlockDevice> all_;
};

}  // namespace koord::host
