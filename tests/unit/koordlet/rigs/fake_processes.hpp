// FakeProcesses: processes in memory that are born, die and have scores; they refuse what the kernel refuses
// and can kill the agent between two writes.
#pragma once

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "framework/action/cookie_bearer.hpp"
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
    const One one = all.at(parent);
    born(pid, one.group, one.score, parent).others = one.others;
  }
  /// The core scheduling cookies of those who have one.
  std::map<pid_t, std::int64_t> cookies() {
    std::map<pid_t, std::int64_t> held;
    for (auto& [pid, one] : all)
      if (const std::int64_t cookie = one.of(kCoreCookieKind)) held[pid] = cookie;
    return held;
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
  std::optional<Error> lacking;          // of available()
  std::optional<Error> no_thread;        // of bear()
  std::optional<Error> no_more_cookies;  // of CookieBearer::make()
  std::int64_t next_cookie = 1, own_cookie = 0;
  std::size_t bearers = 0;
  std::function<void()> meanwhile;         // called before each cookie is given
  std::map<pid_t, Error> cookie_refusals;  // of CookieBearer::give()

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
  Result<> available(const ProcessKind&) override { return lacking ? Result<>(*lacking) : Result<>(); }
  Result<> bear(const std::function<void(CookieBearer&)>& use) override {
    if (no_thread) return *no_thread;
    ++bearers;
    Bearer bearer(*this);
    use(bearer);
    return {};
  }
  Result<> set(const ProcessKind& kind, const Process& process, std::int64_t value) override {
    if (die_after && written >= *die_after) throw Killed();
    const auto it = all.find(process.pid);
    if (it == all.end() || it->second.start != process.start) return errno_error(ENOENT, "process");
    if (!kind.shared && value < it->second.least) return errno_error(EACCES, std::string(kind.name));
    it->second.of(kind) = value;
    ++written;
    return {};
  }

 private:
  /// A thread of the agent, which begins with the agent's own cookie.
  class Bearer final : public CookieBearer {
   public:
    explicit Bearer(FakeProcesses& of) : of_(of), has_(of.own_cookie) {}
    Result<std::int64_t> make() override {
      if (of_.no_more_cookies) return *of_.no_more_cookies;
      return has_ = of_.next_cookie++;
    }
    Result<std::int64_t> take(const Process& from) override {
      const auto it = of_.all.find(from.pid);
      if (it == of_.all.end() || it->second.start != from.start) return errno_error(ENOENT, "process");
      return has_ = it->second.of(kCoreCookieKind);
    }
    Result<> drop() override {
      has_ = 0;
      return {};
    }
    Result<> give(const Process& to) override {
      if (of_.meanwhile) of_.meanwhile();
      if (const auto it = of_.cookie_refusals.find(to.pid); it != of_.cookie_refusals.end())
        return it->second;
      return of_.set(kCoreCookieKind, to, has_);
    }

   private:
    FakeProcesses& of_;
    std::int64_t has_;
  };

  std::uint64_t last_start_ = 100;
};

}  // namespace koord::koordlet::testing
