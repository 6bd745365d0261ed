#include "koord/host/root.hpp"

namespace koord::host {

Root Root::host_mode() { return Root{}; }

Root Root::daemon_set_mode() {
  Root root;
  root.cgroup = "/host-cgroup/";
  root.sys = "/host-sys/";
  root.sys_fs = "/host-sys-fs/";
  root.var_run = "/host-var-run/";
  root.run = "/host-run/";
  return root;
}

Root Root::below(std::string_view folder) {
  std::string base(folder);
  while (base.size() > 1 && base.back() == '/') base.pop_back();
  Root root;
  root.cgroup = base + "/sys/fs/cgroup/";
  root.sys = base + "/sys/";
  root.sys_fs = base + "/sys/fs/";
  root.proc = base + "/proc/";
  root.var_run = base + "/var/run/";
  root.run = base + "/run/";
  root.var_lib_kubelet = base + "/var/lib/kubelet/";
  return root;
}

}  // namespace koord::host
