// What a pod asks for of devices, for the scheduler's oracle: read anew from its requests and annotations.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "koord/api/koordinator/devices.hpp"
#include "support/reference/evaluate.hpp"
#include "support/reference/matching.hpp"

namespace koord::reference {

/// In the order in which they are looked at.
inline constexpr std::array<const char*, 3> kDeviceTypes{"gpu", "rdma", "fpga"};

/// Amounts by the resource's full name, in its unit. A name that is not there is not asked for, or not had.
using DeviceAmounts = std::map<std::string, std::int64_t>;
/// Those that devices of this type have.
DeviceAmounts device_amounts(const std::string& type, const api::ResourceList& list);
std::int64_t amount_of(const DeviceAmounts& amounts, std::string_view name);

/// What a pod asks for of devices, by type; no amount is 0.
std::map<std::string, DeviceAmounts> device_requests(const api::Pod& pod);

struct DeviceRequest {
  struct OfType {
    DeviceAmounts asked, each;  // in all, and of each device
    std::int64_t count = 1;     // of ApplyForAll the node says how many
    std::string strategy;
    bool alone = false;                 // on a device
    std::optional<Selector> selector;   // of devices
    std::optional<Selector> functions;  // set: it gets a virtual function of each
  };

  DeviceRequest(const Config& config, const api::Pod& pod);

  bool wants(const std::string& type) const { return types.contains(type); }

  /// Set: no node will do.
  std::string rejected;
  std::map<std::string, OfType> types;  // those that it wants
  bool shares = false;                  // parts of GPUs
  bool by_partition = false, highest_only = false;
  std::optional<api::Quantity> bandwidth;
  std::string scope;  // as it is written; "": none
  std::string isolation;
  bool by_template = false;
  std::map<std::string, std::vector<std::string>> templates;  // that are what it asks for, by model
  std::vector<std::string> joint;
  bool same_pcie = false;
  /// This, and nothing else: its hint wants what it had.
  std::optional<api::DeviceAllocations> again;

 private:
  std::string read(const Config& config, const api::Pod& pod);
  std::string add(const std::string& type, const DeviceAmounts& requests);
  std::string read_hints(const api::Pod& pod);
  std::string read_gpus(const Config& config, const api::Pod& pod);
  std::int64_t shared_ = 0;  // GPUs of which it wants a part each
};

}  // namespace koord::reference
