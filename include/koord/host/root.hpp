// Root: where the host's file systems are seen from; every path below it can be replaced by a test's folder.
#pragma once

#include <string>
#include <string_view>

namespace koord::host {

/// Folders with a trailing slash, as koordlet's flags of the same names take them (spec: --cgroup-root-dir,
/// ...).
struct Root {
  std::string cgroup = "/sys/fs/cgroup/";
  std::string sys = "/sys/";
  std::string sys_fs = "/sys/fs/";
  std::string proc = "/proc/";
  std::string var_run = "/var/run/";
  std::string run = "/run/";
  std::string var_lib_kubelet = "/var/lib/kubelet/";
  std::string var_lib = "/var/lib/";  // what else is there of the host's: in a pod what is mounted of it

  /// The agent runs on the host itself (agent_mode=hostMode).
  static Root host_mode();
  /// The agent runs in a DaemonSet's pod, the host's folders mounted under /host-*.
  static Root daemon_set_mode();
  /// Everything below one folder: sys/fs/cgroup, sys, proc, var/run, run, var/lib/kubelet, var/lib.
  static Root below(std::string_view folder);
};

}  // namespace koord::host
