// Taken: which devices claims have, and how much of those that several may have.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "koord/api/types/meta_v1/meta.hpp"
#include "scheduling/plugins/dynamic_resources/pools/device_numbers.hpp"

namespace koord::scheduling::dynamic_resources {

/// By number; who keeps it holds the numbers. Admin access takes nothing. One thread.
class Taken {
 public:
  /// A whole device. Two claims may have it, if not by this scheduler: it is free when both are gone.
  void take(DeviceNumber device);
  void give_back(DeviceNumber device);
  bool has(DeviceNumber device) const { return device < counts_.size() && counts_[device] != 0; }

  /// A share of a device that several may have, by capacity.
  void consume(DeviceNumber device, const api::ResourceList& capacity);
  void give_back(DeviceNumber device, const api::ResourceList& capacity);
  /// nullptr if nobody has a share.
  const api::ResourceList* consumed(DeviceNumber device) const;

 private:
  struct Shares {
    api::ResourceList capacity;
    std::uint32_t count = 0;
  };
  std::vector<std::uint32_t> counts_;
  std::unordered_map<DeviceNumber, Shares> shares_;
};

}  // namespace koord::scheduling::dynamic_resources
