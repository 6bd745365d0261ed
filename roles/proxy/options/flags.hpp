// The proxy's flags: upstream's, and koord's own.
#pragma once

#include <span>
#include <string>

#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"
#include "koord/runtime/flags.hpp"

namespace koord::proxy {

std::span<const runtime::Flag> flags();

struct Options {
  std::string endpoint, backend;  // absolute paths of sockets
  bool docker = false;            // the back end speaks Docker's HTTP, not the CRI
  /// Pods with this label are a hook server's own and never asked about.
  std::string skip_key, skip_value;
  nanoseconds hook_timeout{};
  std::string hook_folder;
  std::string store_file;
  std::string hook_keep_file;  // beside it
};

/// Code::invalid names the flag.
Result<Options> read_options(const runtime::FlagValues& flags);

}  // namespace koord::proxy
