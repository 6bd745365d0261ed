// The NodeSLO in effect: what the cluster asks for, over the defaults.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "framework/model/inventory.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"

namespace koord::koordlet {

/// The values of Koordinator's sloconfig.
const api::NodeSloSpec& default_slo();

struct MergedSlo {
  api::NodeSloSpec spec;
  /// "PATH: what" of each value that makes no sense; its default is in effect.
  std::vector<std::string> warnings;
};
/// `given` as a JSON overlay over the defaults: what it does not name keeps its default, lists are replaced.
/// The CPU, memory and cache strategies of a class that are switched off (enable: false) have the values that
/// do nothing, so that they are undone where they were on.
MergedSlo merge_slo(const api::NodeSloSpec& given);

/// Appends the parts of a path that somebody wrote, without empty ones and "."; false, and nothing to rely on
/// in `group`, if one of them goes up or has a control character in it.
bool append_path(std::string& group, std::string_view path);

/// The groups of the NodeSLO's host applications. One whose path would leave the hierarchy, or whose group
/// contains those of the pods, is left out and named in `warnings`.
std::vector<HostApplication> host_applications(const api::NodeSloSpec& spec, host::CgroupDriver driver,
                                               std::vector<std::string>& warnings,
                                               std::string_view kubelet_root = {});

}  // namespace koord::koordlet
