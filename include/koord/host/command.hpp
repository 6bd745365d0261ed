// CommandRunner: runs a program now and then and reads what it prints, without trusting it: it may hang,
// flood, fork, or fail each time.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "koord/async/backoff.hpp"
#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"

namespace koord::host {

struct Command {
  /// The first is the program's absolute path. There is no shell: nothing in them is special.
  std::vector<std::string> arguments;
  std::vector<std::string> environment = {};  // "NAME=value"; all of it, nothing is inherited
  /// The folder that is the program's /, where its path is looked up, too: the host's root in a pod. Empty:
  /// this process's. Another needs CAP_SYS_CHROOT.
  std::string root = {};
  nanoseconds limit = std::chrono::seconds(10);
  /// Between SIGTERM and SIGKILL to one that is over its limit.
  nanoseconds grace = std::chrono::seconds(1);
  std::size_t most_output = std::size_t{64} << 10;  // bytes of its standard output
};

struct BreakerPolicy {
  int failures = 3;  // so many in a row, and it is paused; then each one that follows
  BackoffPolicy pauses = {.initial = std::chrono::seconds(30), .factor = 2, .cap = std::chrono::minutes(30)};
};

/// Breaker: whether something that fails again and again may be tried now. Pure.
class Breaker {
 public:
  explicit Breaker(BreakerPolicy policy = {}) : policy_(policy), pauses_(policy.pauses) {}
  /// Until when it is paused; nothing: it may be tried.
  std::optional<MonoTime> paused_until(MonoTime now) const;
  void succeeded();
  void failed(MonoTime now);

 private:
  BreakerPolicy policy_;
  Backoff pauses_;
  int failures_ = 0;  // in a row
  std::optional<MonoTime> until_;
};

/// One command, run once at a time. On the event loop's thread, which it does not block beyond the start of
/// the program. Needs pidfd_open (Linux 5.3).
class CommandRunner {
 public:
  /// `clock` outlives it.
  CommandRunner(Clock& clock, Command command, BreakerPolicy breaker = {});

  /// Its standard output, once it has ended with status 0. The child has a process group of its own, which is
  /// killed whole when the child has ended, was cancelled, is over its limit (Code::timeout) or prints more
  /// than it may (Code::too_large), so that nothing that it forked lives on or holds anybody up. It has
  /// /dev/null as input and no other descriptor, no signal ignored or blocked, and / as its folder. Another
  /// status is Code::io, with the status or signal and the first line of its standard error. While it is
  /// paused, or the process of an earlier run does not go although it was killed: Code::unavailable, and
  /// nothing is run. What is cancelled counts neither as failure nor as success.
  Task<Result<std::string>> run();

 private:
  Task<Result<std::string>> run_once();
  Result<> may_run();

  Clock& clock_;
  Command command_;
  Breaker breaker_;
  std::string last_error_;
  std::optional<pid_t> unreaped_;  // killed, and not gone
};

}  // namespace koord::host
