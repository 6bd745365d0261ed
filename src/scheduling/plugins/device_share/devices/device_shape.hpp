// DeviceShape: what the devices of machines of one kind are: types, places on the machine, partitions.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "koord/scheduling/plugin/numa_choice.hpp"
#include "scheduling/plugins/device_share/request/amounts.hpp"

namespace koord::api {
struct Device;
struct Node;
}  // namespace koord::api

namespace koord::scheduling::device_share {

/// Devices of one type, a bit each: bit 0 is the one with the lowest minor.
using Places = std::uint64_t;
inline constexpr std::size_t kMostPlaces = 64;
/// PCIe switches of a shape, by number.
using PcieSet = std::bitset<kDeviceTypes * kMostPlaces>;

struct DeviceShape {
  static constexpr std::int32_t kNowhere = -1;

  struct Function {  // virtual
    std::string bus_id;
    std::int32_t minor = 0;
    std::uint32_t group = 0;  // of OfType::function_labels
  };
  struct Device {
    std::int32_t minor = 0;
    std::int32_t numa_node = kNowhere;
    std::int32_t pcie = kNowhere;  // a number of PcieSet
    bool has_topology = false;     // it says where it is, if only that this is unknown
    Amounts total;                 // while it is healthy
    api::SymbolMap labels;
    std::vector<Function> functions;  // by bus id
    std::uint32_t first_word = 0;     // of NodeDevices::functions; a bit for each function
  };
  struct OfType {
    std::vector<Device> devices;  // by minor
    Places all = 0;
    std::vector<api::SymbolMap> function_labels;
    bool has_functions = false;  // a group of them, if only an empty one
    std::uint32_t first = 0;     // of NodeDevices::used
  };
  /// GPUs of one NUMA node, or of one PCIe switch.
  struct Group {
    Places gpus = 0;
    std::vector<Group> inner;  // by the switches' names; a switch has none
  };
  struct Partition {
    std::vector<std::uint8_t> gpus;  // places, as they are written
    Places mask = 0;
    bool whole = true;  // no: it has GPUs that the machine lacks, and is never given
    std::int32_t score = 0;
    std::optional<api::Quantity> bandwidth;
  };
  /// Those of one number of GPUs, the highest score first; of one score as they are written.
  struct Partitions {
    std::int32_t size = 0;
    std::vector<Partition> partitions;
    std::size_t best = 0;  // so many have the highest score
  };

  std::array<OfType, kDeviceTypes> types;
  std::size_t devices = 0;      // of all types
  std::size_t words = 0;        // of NodeDevices::functions
  std::size_t switches = 0;     // PCIe
  std::vector<Group> gpu_tree;  // NUMA nodes, by number; empty: the machine does not say where its GPUs are
  bool has_partitions = false;  // a table, if only an empty one
  std::vector<Partitions> partitions;
  bool honors_partitions = false;                 // whole GPUs are given by partition alone
  std::optional<bool> secondary_well_planned;     // as its label says
  std::string vendor, model, isolation_provider;  // the Node's labels
  std::string unread;                             // what of it cannot be used, by its keys; empty: nothing

  const OfType& of(DeviceType type) const { return types[index(type)]; }
  /// kMostPlaces: it has no such device.
  std::size_t place(DeviceType type, std::int32_t minor) const;
  /// Those on these memory nodes (0: all), and those of which nobody knows on which.
  Places on(DeviceType type, NumaMask nodes) const;
  /// The memory nodes that have devices.
  NumaMask numa_nodes() const;
  /// nullptr: none are of so many.
  const Partitions* partitions_of(int gpus) const;
};

/// Machines of one kind have one shape, for as long as somebody has it. Belongs to the engine's thread.
class KnownShapes {
 public:
  /// `device` null: the node has none, `node` null: it is not known yet. Never null. What does not count is
  /// said in `unread`: of one type all but the first 64 devices, a table of partitions that cannot be read,
  /// partitions of another number of GPUs than they are listed under. Of devices with one minor the last
  /// counts. GPUs of the models H100, H800 and H20 without a table have NVIDIA's, and are given as the Node's
  /// label says, others as the Device's.
  std::shared_ptr<const DeviceShape> read(const api::Device* device, const api::Node* node);

 private:
  std::unordered_map<std::string, std::weak_ptr<const DeviceShape>> known_;  // by all that it says
  std::size_t sweep_at_ = 64;
};

}  // namespace koord::scheduling::device_share
