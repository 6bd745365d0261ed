// What a machine's devices are and who has them, for the scheduler's oracle: read anew from the objects.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/reference/devices/request.hpp"

namespace koord::reference {

struct DeviceMachine {
  struct Function {  // virtual
    std::string bus;
    int minor;
    api::SymbolMap labels;
  };
  struct One {
    bool healthy = false;
    DeviceAmounts total;  // of one that is not healthy nothing
    DeviceAmounts used;   // by all who have some of it
    api::SymbolMap labels;
    std::string id;
    bool placed = false;              // it says where it is
    int zone = -1;                    // memory node; -1: nobody knows
    std::string pcie;                 // its switch
    std::vector<Function> functions;  // by bus
    bool has_groups = false;          // of functions, if only empty ones
    std::set<std::string> taken;      // buses
    /// Nothing is less than nothing. What somebody has of what it lacks is there, and 0.
    DeviceAmounts free() const;
    bool in_use() const;
  };

  DeviceMachine(const Cluster& cluster, const api::Node& node);

  std::string name;
  /// No: there never was a Device, nor somebody who was given devices; they are the kubelet's.
  bool known = false;
  std::map<std::string, std::map<int, One>> devices;    // by type and minor
  std::map<std::string, std::set<int>> gone;            // that somebody has, and nobody lists
  bool has_table = false;                               // of partitions
  std::map<int, std::vector<api::GpuPartition>> table;  // the highest score first
  bool honors = false;
  bool planned = false;  // secondary devices are chosen in Reserve
  std::string vendor, model, isolation;

 private:
  void read(const api::Device& device, bool there);
  void read_table(const api::Device& device);
  void count(const api::DeviceAllocations& has);
};

/// What a bound pod says that it was given; absent: nothing that can be read.
std::optional<api::DeviceAllocations> devices_of(const api::Pod& pod);
/// Types of which a bound pod has devices, and nobody can read which.
std::set<std::string> unclear_of(const api::Pod& pod);

}  // namespace koord::reference
