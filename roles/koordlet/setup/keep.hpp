// Keep: in which of the host's folders the agent keeps what the next one needs.
#pragma once

#include <string>
#include <vector>

#include "framework/keep/folders.hpp"
#include "setup/flags.hpp"

namespace koord::koordlet {

struct Keep {
  KeepFolder journal;  // of what is held back: of use as long as this kernel runs
  KeepFolder state;    // of what was measured and of what the API server said last
  /// Files that tell other agents on the host that this one runs, best first. The first one is the same for
  /// an agent of a DaemonSet and one of the host's own.
  std::vector<std::string> locks;
  std::string pod;  // the UID of the pod that it runs in; empty: none, or not to be known
};

/// In a DaemonSet's pod upstream's mounts, on the host itself below --var-run-root-dir; a folder that is
/// named by --tsdb-path, or is there, comes first for the state. Makes what is missing of the chosen ones.
Keep find_keep(const runtime::FlagValues& flags, const Place& place);

}  // namespace koord::koordlet
