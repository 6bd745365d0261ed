// ServiceManager: how the process tells systemd that it runs (sd_notify), where systemd has started it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"

namespace koord {

/// One datagram a message, to the socket that NOTIFY_SOCKET names; nothing at all where it is not set.
class ServiceManager {
 public:
  using GetEnv = std::function<std::optional<std::string>(const char*)>;
  explicit ServiceManager(const GetEnv& env);

  /// "READY=1", "WATCHDOG=1", "STOPPING=1". Does not wait. Code::unsupported for an address that is neither a
  /// path nor abstract ("@name").
  Result<> tell(std::string_view state) const;
  /// How often "WATCHDOG=1" is expected at least, or this process is ended; nothing: it is not watched
  /// (WATCHDOG_USEC, and WATCHDOG_PID if that is another process').
  std::optional<nanoseconds> watchdog() const { return watchdog_; }

 private:
  std::string address_;
  std::optional<nanoseconds> watchdog_;
};

}  // namespace koord
