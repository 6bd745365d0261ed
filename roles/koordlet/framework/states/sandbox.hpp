// Which of a pod's groups is its sandbox: the pause container's, which no status of the pod names.
#pragma once

#include <string>

#include "framework/objects/pod_info.hpp"
#include "koord/host/cgroup_fs.hpp"

namespace koord::koordlet {

/// The group below the pod's that is a container's and that no container status names; empty where there is
/// none, or more than one that has processes: a container whose status is to come is not named either. Lists
/// a folder; on any thread.
std::string sandbox_group(const PodInfo& pod, const host::CgroupFs& cgroups, host::CgroupDriver driver);
/// Of all pods of a list of which it is not known yet.
void find_sandboxes(PodList& list, const host::CgroupFs& cgroups, host::CgroupDriver driver);

}  // namespace koord::koordlet
