// Stopping a group: see stop_group.hpp.
#include "framework/action/stop_group.hpp"

#include <fmt/format.h>

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include "framework/action/processes.hpp"
#include "koord/base/file.hpp"
#include "koord/host/file.hpp"

namespace koord::koordlet {

namespace {

using host::CgroupVersion;
using host::Knob;

/// Without a freezer a process may fork while others are killed: so often it is looked again.
constexpr int kRounds = 20;
constexpr int kPauseMs = 5;
constexpr int kFreezePauses = 100;

/// On a worker's thread, which may wait.
void wait_a_little() { (void)::poll(nullptr, 0, kPauseMs); }

/// Kernels before 5.3 have only its number, which is as good while it is frozen: it cannot end, and so nobody
/// else can get its number.
class Process {
 public:
  Process(pid_t pid, const OpenProcess& open) : pid_(pid), fd_(open(pid)) { errno_ = fd_ ? 0 : errno; }
  /// 0, or why it does not end.
  int kill(bool frozen) const {
    if (fd_) return ::syscall(SYS_pidfd_send_signal, fd_.get(), SIGKILL, nullptr, 0) == 0 ? 0 : errno;
    if (errno_ != ENOSYS || !frozen) return errno_;
    return ::kill(pid_, SIGKILL) == 0 ? 0 : errno;
  }

 private:
  pid_t pid_;
  Fd fd_;
  int errno_ = 0;
};

Result<> without_the_agent(const std::string& folder, std::string_view group) {
  const std::vector<pid_t> pids = pids_below(folder);
  if (std::find(pids.begin(), pids.end(), ::getpid()) == pids.end()) return {};
  return Error(Code::invalid, fmt::format("{}: the agent itself runs in it", group));
}

/// Kills what is in a group now, again and again.
class Killer {
 public:
  Killer(std::string_view group, const OpenProcess& open) : group_(group), open_(open) {}

  /// How many got the signal for the first time. Code::invalid: the agent is among them. One that cannot be
  /// killed keeps nobody else alive.
  Result<std::size_t> round(const std::string& folder, bool frozen) {
    KOORD_CHECK(without_the_agent(folder, group_));
    std::size_t fresh = 0;
    std::vector<pid_t> pids = pids_below(folder);
    if (!pids.empty() && pids.front() == kForeignPid && refused_)
      refused_ = Error(Code::unsupported, fmt::format("{}: {}", group_, kForeign));
    std::erase_if(pids, [this](pid_t pid) { return pid == kForeignPid || told_.contains(pid); });
    each_member(
        folder, pids, [this](pid_t pid) { return Process(pid, open_); },
        [&](pid_t pid, const Process& process) {
          const int error = process.kill(frozen);
          if (error == ESRCH) return;  // whoever has the number by now is met in the next round
          told_.insert(pid);
          if (error == 0) ++fresh, ++killed_;
          if (error != 0 && refused_)
            refused_ = errno_error(error, fmt::format("killing {} of {}", pid, group_));
        });
    return fresh;
  }
  /// Of all rounds.
  std::size_t killed() const { return killed_; }
  /// Somebody who is in the folder and was never sent a signal; 0: nobody is.
  pid_t left_in(const std::string& folder) const {
    for (const pid_t pid : pids_below(folder))
      if (pid != kForeignPid && !told_.contains(pid)) return pid;
    return 0;
  }
  /// Why some of them were not killed.
  const Result<>& refused() const { return refused_; }

 private:
  std::string_view group_;
  const OpenProcess& open_;
  std::set<pid_t> told_;
  std::size_t killed_ = 0;
  Result<> refused_;
};

/// Whether somebody is in the group or below it. Where the kernel counts them (v2), as it counts: the threads
/// of a threaded group are listed in no cgroup.procs that can be read.
bool is_populated(const host::CgroupFs& fs, const std::string& folder) {
  if (fs.version() == CgroupVersion::v2)
    if (const auto events = read_file(fmt::format("{}/cgroup.events", folder));
        events && events->find("populated ") != std::string::npos)
      return events->find("populated 1") != std::string::npos;
  return !pids_below(folder).empty();
}

bool says_frozen(const host::CgroupFs& fs, std::string_view group) {
  const auto path = fs.read_path(Knob::freeze, group);
  if (!path) return false;
  const bool v2 = fs.version() == CgroupVersion::v2;
  const auto folder = fs.folder(Knob::freeze, group);
  const auto text = read_file(v2 && folder ? fmt::format("{}/cgroup.events", *folder) : *path);
  return text && text->find(v2 ? "frozen 1" : "FROZEN") != std::string::npos;
}

/// Where there is a freezer, the group stands still until this goes.
class Frozen {
 public:
  Frozen(const host::CgroupFs& fs, std::string_view group) : fs_(fs), group_(group) {
    const auto path = fs.write_path(Knob::freeze, group);
    if (!path || !host::exists(*path)) return;
    const bool v2 = fs.version() == CgroupVersion::v2;
    asked_ = host::write_file(*path, v2 ? "1" : "FROZEN").has_value();
    // A task that waits in the kernel may take its time: then it is killed while it does.
    for (int i = 0; asked_ && !(still_ = says_frozen(fs, group)) && i < kFreezePauses; ++i) wait_a_little();
  }
  ~Frozen() {
    if (asked_) (void)thaw_group(fs_, group_);
  }
  Frozen(const Frozen&) = delete;
  Frozen& operator=(const Frozen&) = delete;
  explicit operator bool() const { return still_; }

 private:
  const host::CgroupFs& fs_;
  std::string group_;
  bool asked_ = false, still_ = false;
};

}  // namespace

Fd open_process(pid_t pid) { return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

Result<bool> is_occupied(const host::CgroupFs& fs, std::string_view group) {
  if (group.empty()) return Error(Code::invalid, "the root of a hierarchy is nothing to stop");
  KOORD_TRY(folder, fs.folder(Knob::procs, group));
  if (!host::exists(folder)) return false;
  KOORD_CHECK(without_the_agent(folder, group));
  return is_populated(fs, folder);
}

Result<bool> stop_group(const host::CgroupFs& fs, std::string_view group, const OpenProcess& open) {
  KOORD_TRY(occupied, is_occupied(fs, group));
  // Of whom nobody is there nobody can be said to have been killed.
  if (!occupied) return false;
  KOORD_TRY(folder, fs.folder(Knob::procs, group));
  if (const auto kill = fs.write_path(Knob::kill, group); kill && host::exists(*kill)) {
    auto written = host::write_file(*kill, "1");
    if (written) return true;
    if (written.error().code() == Code::not_found) return false;  // it goes at this moment
    return std::move(written).error();
  }
  const auto freezer = fs.folder(Knob::freeze, group);
  if (freezer) KOORD_CHECK(without_the_agent(*freezer, group));  // which would stand still for ever
  const Frozen frozen(fs, group);
  const bool still = static_cast<bool>(frozen);
  Killer killer(group, open);
  // A group that somebody made by hand may be in no freezer, or have no processes there.
  if (still) KOORD_CHECK(killer.round(*freezer, still));
  std::size_t fresh = 1;
  for (int round = 0; round < kRounds && fresh > 0; ++round) {
    KOORD_TRY(killed, killer.round(folder, still));
    fresh = killed;
    if (fresh > 0 && !still) wait_a_little();
  }
  KOORD_CHECK(killer.refused());
  if (fresh > 0)
    return Error(Code::unavailable, fmt::format("{}: its processes come faster than they are killed", group));
  if (const pid_t left = killer.left_in(folder); left != 0)
    return Error(Code::unavailable, fmt::format("{}: process {} was not found, and goes on", group, left));
  return killer.killed() > 0;
}

Result<> thaw_group(const host::CgroupFs& fs, std::string_view group) {
  const auto path = fs.write_path(Knob::freeze, group);
  if (!path || !host::exists(*path)) return {};
  return host::write_file(*path, fs.version() == CgroupVersion::v2 ? "0" : "THAWED");
}

}  // namespace koord::koordlet
