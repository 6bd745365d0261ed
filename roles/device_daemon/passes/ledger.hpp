// Ledger: what is known of each vendor's devices, between looks that work and looks that do not.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/koordinator/xpu_devices.hpp"

namespace koord::device_daemon {

/// Pure. A vendor whose tool failed once keeps its devices as they were, so that no accelerator comes and
/// goes with a tool that was slow; from the second time in a row on they are unhealthy, so that nothing new
/// is placed on them, and what runs there stays.
class Ledger {
 public:
  void found(std::string_view vendor, std::vector<api::XpuDevice> devices);
  /// Its cards are on the bus, and its tool does not say anything of them.
  void failed(std::string_view vendor, std::string_view why);
  /// No card of its on the bus.
  void absent(std::string_view vendor);

  /// All, by their vendors' names.
  std::vector<api::XpuDevice> devices() const;
  struct Count {
    int healthy = 0, unhealthy = 0;
  };
  Count count(std::string_view vendor) const;

 private:
  struct Known {
    std::vector<api::XpuDevice> devices;
    bool has_failed = false;
  };
  std::map<std::string, Known, std::less<>> vendors_;
};

}  // namespace koord::device_daemon
