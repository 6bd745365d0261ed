// Programs: what tools of the host say, as vendors' of accelerators. Who asks names each in a table; there is
// no shell.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"
#include "koord/host/command.hpp"

namespace koord::host {

class Programs {
 public:
  virtual ~Programs() = default;
  /// What `program` ("npu-smi") prints with these arguments. An error names the program.
  virtual Task<Result<std::string>> ask(std::string_view program, std::vector<std::string> arguments) = 0;
  /// A new look: who hung in the last one may be asked once more.
  virtual void begin() {}
};

/// Those of the host, run in its root with an empty environment, one after the other.
class HostPrograms final : public Programs {
 public:
  /// `root`: the folder that is their /; empty: this process's. `clock` outlives it.
  HostPrograms(Clock& clock, std::string root, nanoseconds timeout)
      : clock_(clock), root_(std::move(root)), timeout_(timeout) {}

  /// Code::not_found: no folder of the host's programs has it. Code::forbidden: others than root may write
  /// it. Else as CommandRunner has it. One that was over its time is not run again before begin().
  Task<Result<std::string>> ask(std::string_view program, std::vector<std::string> arguments) override;
  void begin() override { hung_.clear(); }

 private:
  Clock& clock_;
  std::string root_;
  nanoseconds timeout_;
  /// By what is run: one whose process cannot even be killed, as with a driver that hangs, is not started
  /// again.
  std::map<std::vector<std::string>, CommandRunner> runners_;
  std::set<std::string, std::less<>> hung_;
};

/// Where a host's program is, as a path below `root` (empty: /), links followed within it:
/// "/usr/local/bin/X".
Result<std::string> find_program(const std::string& root, std::string_view name);

}  // namespace koord::host
