// Processes of a cgroup, and what is set of them.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/action/process_kind.hpp"
#include "koord/base/file.hpp"
#include "koord/base/result.hpp"
#include "koord/host/cgroup_fs.hpp"

namespace koord::koordlet {

class CookieBearer;  // framework/action/cookie_bearer.hpp

/// What stands for a process of a PID namespace that is not below the reader's.
inline constexpr pid_t kForeignPid = 0;
inline constexpr std::string_view kForeign =
    "it has processes of another PID namespace: the agent needs the host's (hostPID)";

/// Of a group's folder and of those below it, in order. A folder may go meanwhile, and a threaded one of
/// cgroup v2 has none of its own.
std::vector<pid_t> pids_below(const std::string& folder);

/// So many processes are held at once: each takes a descriptor.
inline constexpr std::size_t kHeldAtOnce = 128;

/// Calls use(pid, held) for those of `pids` that are in the group's folder, or below it, while they are held
/// by what hold(pid) opens (a pidfd, a folder of /proc): numbers are used again, so that the list from before
/// says nothing of who has them now. What the kernel lists is asked, not /proc/PID/cgroup: whose path begins
/// in the reader's cgroup namespace, and need not have the group's name in it ("/../podX/...").
template <class Hold, class Use>
void each_member(const std::string& folder, std::span<const pid_t> pids, const Hold& hold, const Use& use) {
  for (; !pids.empty(); pids = pids.subspan(std::min(pids.size(), kHeldAtOnce))) {
    const auto now = pids.first(std::min(pids.size(), kHeldAtOnce));
    std::vector<decltype(hold(pid_t()))> held;
    held.reserve(now.size());
    for (const pid_t pid : now) held.push_back(hold(pid));
    const std::vector<pid_t> members = pids_below(folder);
    for (std::size_t i = 0; i < now.size(); ++i)
      if (std::binary_search(members.begin(), members.end(), now[i])) use(now[i], held[i]);
  }
}

/// One that no other one is: numbers are used again, the time of its start (in the kernel's ticks since boot)
/// is not.
struct Process {
  pid_t pid = 0;
  std::uint64_t start = 0;
  pid_t parent = 0;
  std::int64_t value = 0;  // of the kind that was asked for
};

/// What /proc/PID/stat says of number, start and parent.
Result<Process> parse_stat(std::string_view text);

/// A process that is held by its folder of /proc, whose files are this one's for ever, and gone when it is.
class ProcessFolder {
 public:
  /// `proc`: the folder of /proc, with a slash.
  ProcessFolder(const std::string& proc, pid_t pid);
  pid_t pid() const { return pid_; }
  const std::string& path() const { return path_; }
  /// At most 8 KiB. Code::not_found, both: it has ended.
  Result<std::string> read(const char* name) const;
  Result<> write(const char* name, std::string_view text) const;
  Result<Process> process(const ProcessKind& kind) const;

 private:
  Error failed(const char* name) const;

  pid_t pid_;
  std::string path_;
  Fd fd_;
};

/// The system calls, so that tests can answer for the kernel. They block, but not for long.
class ProcessFiles {
 public:
  virtual ~ProcessFiles() = default;
  /// Those of a group and of the groups below it, but for this agent's own and the first of all. Code::
  /// not_found: there is no such group. Code::unsupported: it has only such that cannot be seen from here.
  /// Another error: it has processes, of which none can be read.
  virtual Result<std::vector<Process>> processes(const ProcessKind& kind, const std::string& group) = 0;
  /// Nothing: there is none of that number.
  virtual std::optional<Process> find(const ProcessKind& kind, pid_t pid) = 0;
  /// Code::not_found: it has gone, whoever has its number now. Code::forbidden: the kernel wants a capability
  /// for that value.
  virtual Result<> set(const ProcessKind& kind, const Process& process, std::int64_t value) = 0;
  /// Whether this machine has the kind at all.
  virtual Result<> available(const ProcessKind& kind) = 0;
  /// For kinds that processes share. Returns when `use` has returned, which may run on a thread of its own;
  /// an error: it was not called.
  virtual Result<> bear(const std::function<void(CookieBearer&)>& use) = 0;
};

class KernelProcesses final : public ProcessFiles {
 public:
  /// `proc`: the folder of /proc, with a slash. `fs` outlives it.
  KernelProcesses(const host::CgroupFs& fs, std::string proc) : fs_(fs), proc_(std::move(proc)) {}
  Result<std::vector<Process>> processes(const ProcessKind& kind, const std::string& group) override;
  std::optional<Process> find(const ProcessKind& kind, pid_t pid) override;
  Result<> set(const ProcessKind& kind, const Process& process, std::int64_t value) override;
  Result<> available(const ProcessKind& kind) override;
  Result<> bear(const std::function<void(CookieBearer&)>& use) override;

 private:
  const host::CgroupFs& fs_;
  std::string proc_;
};

}  // namespace koord::koordlet
