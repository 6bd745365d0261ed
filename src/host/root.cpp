#include "koord/host/root.hpp"

#include <fmt/format.h>

namespace koord::host {

Root Root::host_mode() { return Root{}; }

Root Root::daemon_set_mode() {
  Root root;
  root.cgroup = "/host-cgroup/";
  root.sys = "/host-sys/";
  root.sys_fs = "/host-sys-fs/";
  root.var_run = "/host-var-run/";
  root.run = "/host-run/";
  root.var_lib = "/host-var-lib/";
  return root;
}

Root Root::below(std::string_view folder) {
  std::string base(folder);
  while (base.size() > 1 && base.back() == '/') base.pop_back();
  Root root;
  root.cgroup = fmt::format("{}/sys/fs/cgroup/", base);
  root.sys = fmt::format("{}/sys/", base);
  root.sys_fs = fmt::format("{}/sys/fs/", base);
  root.proc = fmt::format("{}/proc/", base);
  root.var_run = fmt::format("{}/var/run/", base);
  root.run = fmt::format("{}/run/", base);
  root.var_lib = fmt::format("{}/var/lib/", base);
  root.var_lib_kubelet = fmt::format("{}/var/lib/kubelet/", base);
  return root;
}

}  // namespace koord::host
