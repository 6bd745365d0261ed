// Controllers of cgroup v2: whether a group has those that the strategies write to, and what to do where not.
#pragma once

#include <string>
#include <vector>

#include "framework/model/inventory.hpp"
#include "koord/base/result.hpp"

namespace koord::koordlet {

/// Those that a NodeSLO's strategies need of groups of this class: cpu, cpuset, memory. A unit of a slice
/// that is limited as a whole (FoundGroups::whole) needs what is its own alone.
std::vector<std::string> needed_controllers(const api::NodeSloSpec& slo, Qos qos, bool unit = false);

struct ControllerFiles {
  std::string cgroups;    // where the hierarchy is mounted, with a slash
  bool systemd = false;   // it runs the machine, and sets the controllers of what it has not delegated
  std::string transient;  // where it has the units that were made without a file (systemd-run), with a slash
};

/// True: one was switched on. Where the group lacks one it is switched on from the root down: in groups that
/// systemd has delegated, or below them; everywhere where there is no systemd. A group that does not exist is
/// no failure. Code::forbidden: they are systemd's; the message names the drop-in that asks it, one for all
/// transient units of a kind. Code::unsupported: the kernel has none. Other errors are the kernel's.
Result<bool> enable_controllers(const ControllerFiles& files, const std::string& group,
                                const std::vector<std::string>& names);

}  // namespace koord::koordlet
