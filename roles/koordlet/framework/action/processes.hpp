// Processes of a cgroup, and whom of them the kernel kills first where memory is short.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"
#include "koord/host/cgroup_fs.hpp"

namespace koord::koordlet {

/// What stands for a process of a PID namespace that is not below the reader's.
inline constexpr pid_t kForeignPid = 0;
inline constexpr std::string_view kForeign =
    "it has processes of another PID namespace: the agent needs the host's (hostPID)";

/// Of a group's folder and of those below it. A folder may go meanwhile, and a threaded one of cgroup v2 has
/// none of its own.
std::vector<pid_t> pids_below(const std::string& folder);

/// Whether the text of /proc/PID/cgroup says that the process is in the group, or below it. Seen from a
/// cgroup namespace of one's own the path begins elsewhere ("/../../kubepods/...").
bool is_in_group(std::string_view cgroup_file, std::string_view group);

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
