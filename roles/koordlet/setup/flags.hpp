// The agent's flags: koordlet's, all of them, and koord's own.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "koord/host/cgroup_knobs.hpp"
#include "koord/host/cgroup_paths.hpp"
#include "koord/host/root.hpp"
#include "koord/runtime/flags.hpp"

namespace koord::koordlet {

std::span<const runtime::Flag> flags();

/// What is read of the environment; nothing where a variable is not set.
using GetEnv = std::function<std::optional<std::string>(const char*)>;

/// What the flags and the environment say about where the agent runs.
struct Place {
  std::string node_name;                              // --node-name, else NODE_NAME; empty: unknown
  bool in_pod = false;                                // of a DaemonSet, the host's folders mounted into it
  host::Root root;                                    // by agent_mode, each folder replaceable by its flag
  std::optional<host::CgroupVersion> cgroup_version;  // forced by --cgroup-version
  std::string kubelet_root;                           // --kubelet-cgroup-root; empty: not told
};
/// In a pod unless `agent_mode` is hostMode, or is not set where neither KUBERNETES_SERVICE_HOST nor the
/// mounts of a DaemonSet (/host-cgroup/) say otherwise. Code::invalid names the flag.
Result<Place> read_place(const runtime::FlagValues& flags, const GetEnv& env);

}  // namespace koord::koordlet
