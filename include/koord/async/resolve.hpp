// Names to addresses, through c-ares: resolv.conf, the hosts file, search domains and ndots.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"

namespace koord {

struct ResolveOptions {
  /// Name servers as ADDRESS[:PORT]; empty: resolv.conf's.
  std::vector<std::string> servers;
  /// Empty: /etc/resolv.conf.
  std::string resolv_conf;
  /// Per try; 0 leaves c-ares' and resolv.conf's values.
  std::chrono::milliseconds timeout{0};
  int tries = 0;
};

/// Never empty: an unknown name is Code::not_found, an unreachable or silent server Code::unavailable
/// or Code::timeout. Numeric addresses and localhost need no look-up. Cancellable at once, which
/// Asio's own resolver is not.
Task<Result<std::vector<asio::ip::address>>> resolve(Clock& clock, std::string host,
                                                     ResolveOptions options = {});

}  // namespace koord
