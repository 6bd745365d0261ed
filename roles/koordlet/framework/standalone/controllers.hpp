// Controllers of cgroup v2: whether a group has those that the strategies write to, and what to do where not.
#pragma once

#include <string>
#include <vector>

#include "framework/inventory.hpp"
#include "koord/base/result.hpp"

namespace koord::koordlet {

/// Those that a NodeSLO's strategies need of groups of this class: cpu, cpuset, memory.
std::vector<std::string> needed_controllers(const api::NodeSloSpec& slo, Qos qos);

struct ControllerFiles {
  std::string cgroups;   // where the hierarchy is mounted, with a slash
  bool systemd = false;  // it runs the machine, and sets the controllers of what it has not delegated
};

/// Where the group lacks one it is switched on from the root down: in groups that systemd has delegated, or
/// below them; everywhere where there is no systemd. A group that does not exist is no failure.
/// Code::forbidden: they are systemd's; the message names the drop-in that asks it. Other errors are the
/// kernel's.
Result<> enable_controllers(const ControllerFiles& files, const std::string& group,
                            const std::vector<std::string>& names);

}  // namespace koord::koordlet
