// ResctrlFiles: groups of resctrl and their tasks, as system calls, so that tests can answer for the kernel.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"
#include "koord/host/cgroup_fs.hpp"
#include "koord/host/resctrl.hpp"
#include "koord/host/root.hpp"

namespace koord::koordlet {

/// A group is named as host::Knob::schemata's; "" is that of all who are in no other. Used by one thread at a
/// time; blocks for as long as the kernel takes.
class ResctrlFiles {
 public:
  virtual ~ResctrlFiles() = default;
  /// What the machine can; Code::not_found while it is not mounted.
  virtual Result<host::ResctrlInfo> info() = 0;
  /// Mounts it. Code::unsupported: this kernel or machine has none, or what this agent mounts the host would
  /// not see.
  virtual Result<> mount() = 0;
  /// All groups in it go.
  virtual Result<> unmount() = 0;
  /// What tells the mount that is there from an earlier or a later one: one line, not empty.
  virtual Result<std::string> which() = 0;
  /// Whether there is no group in it, monitoring groups included.
  virtual Result<bool> is_bare() = 0;
  /// Those that have parts of their own, ascending, without the root.
  virtual Result<std::vector<std::string>> groups() = 0;
  virtual bool exists(const std::string& group) = 0;
  /// Whether somebody has monitoring groups inside it, which would go with it. Of one that is not there: no.
  virtual Result<bool> is_watched(const std::string& group) = 0;
  virtual Result<> make(const std::string& group) = 0;
  /// Its tasks fall back to the root's group. One that is not there is no error.
  virtual Result<> remove(const std::string& group) = 0;
  virtual Result<std::vector<std::int32_t>> tasks(const std::string& group) = 0;
  /// The threads in a cgroup and below it. Code::not_found: there is no such cgroup.
  virtual Result<std::vector<std::int32_t>> tasks_below(const std::string& cgroup) = 0;
  /// Code::not_found: the task has ended.
  virtual Result<> move(std::int32_t task, const std::string& group) = 0;
};

/// Whether what is mounted on the folder is seen by the host, as far as a mount table (/proc/self/mountinfo)
/// tells: the mount below it is shared, and with those it was copied from, too.
bool mounts_reach_host(std::string_view mountinfo, std::string_view folder);

class KernelResctrl final : public ResctrlFiles {
 public:
  /// `cgroups` outlives it.
  KernelResctrl(const host::CgroupFs& cgroups, const host::Root& root);
  Result<host::ResctrlInfo> info() override;
  Result<> mount() override;
  Result<> unmount() override;
  Result<std::string> which() override;
  Result<bool> is_bare() override;
  Result<std::vector<std::string>> groups() override;
  bool exists(const std::string& group) override;
  Result<bool> is_watched(const std::string& group) override;
  Result<> make(const std::string& group) override;
  Result<> remove(const std::string& group) override;
  Result<std::vector<std::int32_t>> tasks(const std::string& group) override;
  Result<std::vector<std::int32_t>> tasks_below(const std::string& cgroup) override;
  Result<> move(std::int32_t task, const std::string& group) override;

 private:
  std::string path(const std::string& group, std::string_view file = {}) const;

  const host::CgroupFs& cgroups_;
  host::Root root_;
  std::string folder_;  // with a slash
};

}  // namespace koord::koordlet
