// Processes of a cgroup, and whom of them the kernel kills first where memory is short.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/base/result.hpp"
#include "koord/host/cgroup_fs.hpp"

namespace koord::koordlet {

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
  std::int64_t score = 0;  // oom_score_adj
};

/// What /proc/PID/stat says of number, start and parent.
Result<Process> parse_stat(std::string_view text);

/// The system calls, so that tests can answer for the kernel. They block, but not for long.
class ProcessFiles {
 public:
  virtual ~ProcessFiles() = default;
  /// Those of a group and of the groups below it, but for this agent's own and the first of all. Code::
  /// not_found: there is no such group. Code::unsupported: it has only such that cannot be seen from here.
  /// Another error: it has processes, of which none can be read.
  virtual Result<std::vector<Process>> processes(const std::string& group) = 0;
  /// Nothing: there is none of that number.
  virtual std::optional<Process> find(pid_t pid) = 0;
  /// Code::not_found: it has gone, whoever has its number now. Code::forbidden: the kernel lets only a
  /// process with CAP_SYS_RESOURCE go so low.
  virtual Result<> set_score(const Process& process, std::int64_t score) = 0;
};

class KernelProcesses final : public ProcessFiles {
 public:
  /// `proc`: the folder of /proc, with a slash. `fs` outlives it.
  KernelProcesses(const host::CgroupFs& fs, std::string proc) : fs_(fs), proc_(std::move(proc)) {}
  Result<std::vector<Process>> processes(const std::string& group) override;
  std::optional<Process> find(pid_t pid) override;
  Result<> set_score(const Process& process, std::int64_t score) override;

 private:
  const host::CgroupFs& fs_;
  std::string proc_;
};

}  // namespace koord::koordlet
