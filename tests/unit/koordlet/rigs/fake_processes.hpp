// FakeProcesses: processes in memory that are born, die and have scores; they refuse what the kernel refuses
// and can kill the agent between two writes.
#pragma once

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "framework/action/processes.hpp"
#include "koord/base/file.hpp"
#include "rigs/sim_kernel.hpp"

namespace koord::koordlet::testing {

class FakeProcesses final : public ProcessFiles {
 public:
  struct One {
    std::string group;
    std::int64_t score = 0;
    pid_t parent = 1;
    std::uint64_t start = 0;
    std::int64_t least = -1000;                            // the kernel lets nobody lower it further
    std::map<std::string_view, std::int64_t> others = {};  // by the kind's name
    std::int64_t& of(const ProcessKind& kind) {
      return &kind == &kOomScoreAdjKind ? score : others[kind.name];
    }
  };
  /// A process of this number, another one than the last that had it.
  One& born(pid_t pid, const std::string& group, std::int64_t score, pid_t parent = 1) {
    return all[pid] = {.group = group, .score = score, .parent = parent, .start = ++last_start_};
  }
  /// With what its parent has.
  void fork(pid_t parent, pid_t pid) {
    const One& one = all.at(parent);
    born(pid, one.group, one.score, parent);
  }
  std::map<pid_t, std::int64_t> scores() const {
    std::map<pid_t, std::int64_t> held;
    for (const auto& [pid, one] : all) held[pid] = one.score;
    return held;
  }

  std::map<pid_t, One> all;
  std::optional<Error> fault;  // of processes()
  std::size_t written = 0, reads = 0;
  std::optional<std::size_t> die_after;  // so many writes

  Result<std::vector<Process>> processes(const ProcessKind& kind, const std::string& group) override {
    ++reads;
    if (fault) return *fault;
    std::vector<Process> found;
    for (const auto& [pid, one] : all)
      if (one.group == group) found.push_back(*find(kind, pid));
    if (found.empty()) return errno_error(ENOENT, group);
    return found;
  }
  std::optional<Process> find(const ProcessKind& kind, pid_t pid) override {
    ++reads;
    const auto it = all.find(pid);
    if (it == all.end()) return std::nullopt;
    return Process{pid, it->second.start, it->second.parent, it->second.of(kind)};
  }
  Result<> set(const ProcessKind& kind, const Process& process, std::int64_t value) override {
    if (die_after && written >= *die_after) throw Killed();
    const auto it = all.find(process.pid);
    if (it == all.end() || it->second.start != process.start) return errno_error(ENOENT, "process");
    if (value < it->second.least) return errno_error(EACCES, std::string(kind.name));
    it->second.of(kind) = value;
    ++written;
    return {};
  }

 private:
  std::uint64_t last_start_ = 100;
};

}  // namespace koord::koordlet::testing
