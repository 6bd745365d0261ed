// What the kubelet's CPU manager gave out: its checkpoint, cpu_manager_state.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "framework/model/inventory.hpp"
#include "koord/base/result.hpp"

namespace koord::koordlet {

struct CpuManagerState {
  bool static_policy = false;
  /// All CPUs that containers have for themselves.
  host::CpuSet given;
  /// Those of containers without any of their own (defaultCpuSet). Nothing: not the static policy, or not
  /// said.
  std::optional<host::CpuSet> shared;
  std::vector<KubeletGrant> grants;  // ascending by uid
};
/// Code::parse if it is no such checkpoint; then nothing that it says counts.
Result<CpuManagerState> read_cpu_manager_state(std::string_view json);

}  // namespace koord::koordlet
