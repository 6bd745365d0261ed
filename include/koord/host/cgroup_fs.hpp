// CgroupFs: the host's cgroup hierarchies: which version, where each knob's file is; those of the whole
// machine and of other domains, too.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "koord/base/result.hpp"
#include "koord/host/cgroup_knobs.hpp"
#include "koord/host/cgroup_paths.hpp"
#include "koord/host/root.hpp"

namespace koord::host {

/// By the file system that is mounted at the root; a folder of a test is v1. Code::not_found if it is absent.
Result<CgroupVersion> detect_cgroup_version(const Root& root);

class CgroupFs {
 public:
  /// Finds the v1 hierarchies: mounted one by one (cpu, cpuacct) or together (cpu,cpuacct), with or without
  /// the usual links. `forced` is for fake roots, which are always on a v1-looking file system.
  static Result<CgroupFs> open(const Root& root, std::optional<CgroupVersion> forced = {});

  CgroupVersion version() const { return version_; }

  /// The folder of a group in the hierarchy that has the knob; of the file, for one of the whole machine.
  /// `group` is relative ("kubepods/burstable"), "" is the root. Never leaves the hierarchy: a group with
  /// ".." or a leading slash is Code::invalid. What is no file has a path beginning with "netlink:".
  Result<std::string> folder(Knob knob, std::string_view group) const;
  Result<std::string> write_path(Knob knob, std::string_view group) const;
  Result<std::string> read_path(Knob knob, std::string_view group) const;

  /// By which of kubepods.slice and kubepods exists below the kubelet's root; nothing before it has made one.
  std::optional<CgroupDriver> detect_driver(std::string_view kubelet_root = {}) const;

 private:
  CgroupFs(CgroupVersion version, const Root& root);
  Result<std::string> path(Knob knob, std::string_view group, std::string_view file,
                           bool of_folder = false) const;
  std::string other_path(Knob knob, std::string_view group, bool of_folder) const;

  CgroupVersion version_;
  std::string root_, proc_, sys_, resctrl_;  // with a trailing slash
  std::string_view sched_features_;          // below /sys, where the kernel has them elsewhere
  std::map<std::string, std::string, std::less<>> hierarchies_;  // v1: subsystem to its folder's name
};

}  // namespace koord::host
