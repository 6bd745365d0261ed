#include "koord/host/cgroup_fs.hpp"

#include <fmt/format.h>

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>

#include "koord/host/file.hpp"

namespace koord::host {

namespace {

constexpr std::string_view kNewSchedFeatures = "kernel/debug/sched/features";

bool stays_inside(std::string_view group) {
  if (group.starts_with('/')) return false;
  while (!group.empty()) {
    const auto slash = group.find('/');
    if (group.substr(0, slash) == "..") return false;
    group = slash == std::string_view::npos ? std::string_view{} : group.substr(slash + 1);
  }
  return true;
}

std::string with_slash(const std::string& folder) {
  return folder.ends_with('/') ? folder : fmt::format("{}/", folder);
}

}  // namespace

Result<CgroupVersion> detect_cgroup_version(const Root& root) {
  struct statfs info {};
  if (statfs(root.cgroup.c_str(), &info) != 0) return errno_error(errno, root.cgroup);
  return info.f_type == CGROUP2_SUPER_MAGIC ? CgroupVersion::v2 : CgroupVersion::v1;
}

CgroupFs::CgroupFs(CgroupVersion version, const Root& root)
    : version_(version),
      root_(with_slash(root.cgroup)),
      proc_(with_slash(root.proc)),
      sys_(with_slash(root.sys)),
      resctrl_(fmt::format("{}resctrl/", with_slash(root.sys_fs))) {
  // Kernels from 5.13 on have the scheduler's features elsewhere.
  if (exists(fmt::format("{}{}", sys_, kNewSchedFeatures))) sched_features_ = kNewSchedFeatures;
}

Result<CgroupFs> CgroupFs::open(const Root& root, std::optional<CgroupVersion> forced) {
  if (!forced) {
    KOORD_TRY(version, detect_cgroup_version(root));
    forced = version;
  }
  CgroupFs fs(*forced, root);
  if (*forced == CgroupVersion::v2) return fs;

  KOORD_TRY(folders, list_folders(fs.root_));
  for (const std::string& folder : folders) {
    std::string_view names = folder;  // "cpu,cpuacct" has both
    while (!names.empty()) {
      const auto comma = names.find(',');
      // A folder (or link) of the subsystem's own name wins over a shared one.
      const std::string name(names.substr(0, comma));
      if (name == folder)
        fs.hierarchies_[name] = folder;
      else
        fs.hierarchies_.emplace(name, folder);
      names = comma == std::string_view::npos ? std::string_view{} : names.substr(comma + 1);
    }
  }
  return fs;
}

Result<std::string> CgroupFs::path(Knob knob, std::string_view group, std::string_view file,
                                   bool of_folder) const {
  if (!stays_inside(group))
    return Error(Code::invalid, fmt::format("cgroup \"{}\": expected a path inside of the hierarchy", group));
  if (row(knob).domain != KnobDomain::cgroup) return other_path(knob, group, of_folder);
  std::string path = root_;
  if (version_ == CgroupVersion::v1) {
    const std::string_view subsystem = row(knob).v1_subsystem;
    const auto it = hierarchies_.find(subsystem);
    if (it == hierarchies_.end())
      return Error(Code::unsupported, fmt::format("{}: no hierarchy has the subsystem {}", root_, subsystem));
    path += it->second;
    path += '/';
  }
  path += group;
  if (!file.empty()) {
    if (path.back() != '/') path += '/';
    path += file;
  }
  return path;
}

std::string CgroupFs::other_path(Knob knob, std::string_view group, bool of_folder) const {
  std::string_view name = row(knob).v1_file.empty() ? group : row(knob).v1_file;
  if (knob == Knob::sched_feature && !sched_features_.empty()) name = sched_features_;
  std::string whole;
  switch (row(knob).domain) {
    case KnobDomain::resctrl:
      whole = fmt::format("{}{}{}{}", resctrl_, group, group.empty() ? "" : "/", name);
      break;
    case KnobDomain::proc_sys: whole = fmt::format("{}sys/{}", proc_, name); break;
    case KnobDomain::netlink: whole = fmt::format("netlink:{}", name); break;
    case KnobDomain::sys:
    case KnobDomain::cgroup: whole = fmt::format("{}{}", sys_, name); break;
  }
  if (of_folder) whole.resize(std::min(whole.rfind('/'), whole.size()));
  return whole;
}

Result<std::string> CgroupFs::folder(Knob knob, std::string_view group) const {
  return path(knob, group, {}, true);
}

Result<std::string> CgroupFs::write_path(Knob knob, std::string_view group) const {
  return path(knob, group, version_ == CgroupVersion::v1 ? row(knob).v1_file : row(knob).v2_file);
}

Result<std::string> CgroupFs::read_path(Knob knob, std::string_view group) const {
  if (version_ == CgroupVersion::v2 && !row(knob).v2_read_file.empty())
    return path(knob, group, row(knob).v2_read_file);
  return write_path(knob, group);
}

std::optional<CgroupDriver> CgroupFs::detect_driver(std::string_view kubelet_root) const {
  const auto systemd =
      folder(Knob::cpu_quota, kubepods_folder(CgroupDriver::systemd, KubeQos::guaranteed, kubelet_root));
  if (systemd && exists(*systemd)) return CgroupDriver::systemd;
  const auto cgroupfs =
      folder(Knob::cpu_quota, kubepods_folder(CgroupDriver::cgroupfs, KubeQos::guaranteed, kubelet_root));
  if (cgroupfs && exists(*cgroupfs)) return CgroupDriver::cgroupfs;
  return std::nullopt;
}

}  // namespace koord::host
