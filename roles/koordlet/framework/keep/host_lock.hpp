// HostLock: one agent a host. Two of them would write the same cgroup files, one over the other.
#pragma once

#include <string>
#include <string_view>

#include "koord/base/clock.hpp"
#include "koord/base/file.hpp"

namespace koord::koordlet {

/// Held until it is destroyed or the process ends, in whatever way.
class HostLock {
 public:
  /// Locks the file, which is made if it is not there, and writes into it who did ("pid 12, WHO"). The
  /// folder above is made, too. Code::already_exists: another process holds it; the message says who. One
  /// that was killed holds it until the kernel has put it away: `patience` is how long to wait for that,
  /// blocking.
  static Result<HostLock> take(const std::string& path, std::string_view who, nanoseconds patience);
  /// What its holder, or the last one, has written into it: another program's text, for a log.
  static std::string holder(const std::string& path);

 private:
  explicit HostLock(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace koord::koordlet
