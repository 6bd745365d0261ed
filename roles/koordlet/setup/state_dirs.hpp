// Where this agent keeps what the next one needs: which of the host's folders the flags and mounts name.
#pragma once

#include "framework/keep/state_dirs.hpp"
#include "setup/flags.hpp"

namespace koord::koordlet {

/// In a DaemonSet's pod upstream's mounts, on the host itself below --var-run-root-dir; a folder that is
/// named by --tsdb-path, or is there, comes first for the state. Makes what is missing of the chosen ones.
StateDirs find_state_dirs(const runtime::FlagValues& flags, const Place& place);

}  // namespace koord::koordlet
