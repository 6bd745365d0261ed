// A vendor: how its accelerators are told apart on the PCI bus, and what its own tools say of them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/koordinator/xpu_devices.hpp"
#include "koord/async/task.hpp"
#include "koord/base/result.hpp"
#include "koord/host/pci.hpp"
#include "koord/host/programs.hpp"

namespace koord::device_daemon {

using host::HostPrograms;
using host::Programs;

/// What vendors look at.
struct Machine {
  Programs& programs;
  std::string host_root;  // /dev and /proc are below it; empty: this process's
  std::string sys_root;   // with '/' at its end
};

struct Found {
  std::vector<api::XpuDevice> devices;
  std::vector<std::string> failures;  // of single cards, which are left out: "card 3: ..."
};

struct Vendor {
  std::string_view name;
  bool (*owns)(const host::PciDevice& device);
  /// What its tools say. They are not trusted: what they print is checked, bounded, and never more than text.
  /// An error: nothing is known of any of its cards. `machine` outlives the task.
  Task<Result<Found>> (*look)(const Machine& machine);
};

std::span<const Vendor> all_vendors();

// One file each.
bool is_huawei(const host::PciDevice& device);
Task<Result<Found>> look_for_huawei(const Machine& machine);
Task<Result<Found>> look_for_cambricon(const Machine& machine);
Task<Result<Found>> look_for_baidu(const Machine& machine);
Task<Result<Found>> look_for_metax(const Machine& machine);
Task<Result<Found>> look_for_iluvatar(const Machine& machine);
Task<Result<Found>> look_for_nvidia(const Machine& machine);

}  // namespace koord::device_daemon
