// The device daemon's settings: upstream's flags, each with its environment variable and its field in a file,
// and koord's own.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"
#include "koord/runtime/flags.hpp"

namespace koord::device_daemon {

std::span<const runtime::Flag> flags();

/// What is read of the environment; nothing where a variable is not set.
using GetEnv = std::function<std::optional<std::string>(const char*)>;

struct Settings {
  bool oneshot = false;
  nanoseconds interval{};   // between passes
  std::string output_file;  // absolute; empty: nothing is written
  std::string host_root;    // whose programs are run, without '/' at its end; empty: this process's
  std::string sys_root;     // where sysfs is, with '/' at its end
  std::vector<std::string> vendors;
  nanoseconds command_timeout{};
};

/// A flag on the command line, else its variable, else the file's field, else the default. The file is read
/// again each time. Code::invalid names the flag, the variable, or the file with its line.
Result<Settings> read_settings(const runtime::FlagValues& flags, const GetEnv& env);

}  // namespace koord::device_daemon
