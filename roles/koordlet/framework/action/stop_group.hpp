// Stopping all that runs in a cgroup, without a container runtime.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string_view>

#include "koord/base/file.hpp"
#include "koord/base/result.hpp"
#include "koord/host/cgroup_fs.hpp"

namespace koord::koordlet {

/// Opens a pidfd: a process by a name that no other one ever has. None: errno says why.
using OpenProcess = std::function<Fd(pid_t pid)>;
Fd open_process(pid_t pid);

/// Kills all processes of a group and of those below it: by cgroup.kill where the kernel has it; else the
/// group is frozen, so that nothing forks away, each process gets SIGKILL through a pidfd after its group was
/// looked at again, and the group is thawed. False: there is no such group, or nobody in it. Code::invalid:
/// the group is a hierarchy's root, or this process is in it. Another error: something in it goes on running.
/// Blocks for a second at most: for the worker pool.
Result<bool> stop_group(const host::CgroupFs& fs, std::string_view group,
                        const OpenProcess& open = open_process);

/// Whether anybody is in the group or below it. Code::invalid: this process is, or it is a hierarchy's root.
Result<bool> is_occupied(const host::CgroupFs& fs, std::string_view group);

/// What an agent that died inside stop_group() may have left frozen goes on, and dies.
Result<> thaw_group(const host::CgroupFs& fs, std::string_view group);

}  // namespace koord::koordlet
