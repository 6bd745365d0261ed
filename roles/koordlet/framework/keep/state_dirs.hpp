// StateDirs: where the agent keeps what the next one needs to know.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace koord::koordlet {

/// What one kind of file lies in.
struct StateDir {
  std::string folder;  // with a slash at its end; empty: none can be written
  /// It is still there when the agent's pod is another one. Where there is no pod, every folder lasts.
  bool lasts = false;
  std::vector<std::string> others;  // with a slash; where an earlier agent may have kept its own
};

struct StateDirs {
  StateDir journal;  // of what is held back: of use as long as this kernel runs
  StateDir state;    // of what was measured and of what the API server said last
  /// Files that tell other agents on the host that this one runs, best first. The first one is the same for
  /// an agent of a DaemonSet and one of the host's own.
  std::vector<std::string> locks;
  std::string pod;  // the UID of the pod that it runs in; empty: none, or not to be known
};

/// The first candidate that can be written and lasts, else the first that can be written. The last part of a
/// path is made if the folder above is there. `mountinfo` is /proc/self/mountinfo of the agent's pod, empty
/// where there is no pod.
StateDir choose_folder(std::span<const std::string> candidates, std::string_view mountinfo);

/// False for what goes with a pod: an emptyDir, on a disk or in memory, and the container's own layer.
bool outlives_pod(std::string_view folder, std::string_view mountinfo);

}  // namespace koord::koordlet
