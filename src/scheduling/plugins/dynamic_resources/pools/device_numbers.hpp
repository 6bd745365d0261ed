// DeviceNumbers: a small number for each device that slices offer or claims have.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "koord/base/symbol.hpp"

namespace koord::scheduling::dynamic_resources {

struct DeviceId {
  Symbol driver, pool, device;

  /// "DRIVER/POOL/DEVICE", as messages name it.
  std::string text() const;
  friend bool operator==(const DeviceId&, const DeviceId&) = default;
};

using DeviceNumber = std::uint32_t;

/// Counted: a device's number is free again when nobody holds it. So numbers stay as small as the cluster,
/// and what belongs to a device is found by them without a look-up. One thread.
class DeviceNumbers {
 public:
  /// The device's number, which stays the same until release() was called as often as this.
  DeviceNumber hold(const DeviceId& id);
  void release(DeviceNumber number);
  /// Of a number that is held.
  const DeviceId& id(DeviceNumber number) const { return rows_[number].id; }
  /// Every number in use is less.
  std::size_t size() const { return rows_.size(); }
  /// Another number for each call, from 1: which version of a slice something was found out of.
  std::uint64_t next_serial() { return ++serial_; }

 private:
  struct Hash {
    std::size_t operator()(const DeviceId& id) const noexcept;
  };
  struct Row {
    DeviceId id;
    std::uint32_t holders = 0;
  };

  std::unordered_map<DeviceId, DeviceNumber, Hash> numbers_;
  std::vector<Row> rows_;
  std::vector<DeviceNumber> free_;
  std::uint64_t serial_ = 0;
};

}  // namespace koord::scheduling::dynamic_resources
