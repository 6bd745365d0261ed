// Host ports: which address, protocol and port a pod takes on its node, and when two of them collide.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "koord/base/symbol.hpp"

namespace koord::scheduling {

struct HostPort {
  Symbol ip;        // empty: all addresses (also when written "0.0.0.0")
  Symbol protocol;  // never empty
  std::int32_t port = 0;

  /// The same protocol and port, on the same address or on all addresses at one of the two.
  bool collides(const HostPort& other) const {
    return port == other.port && protocol == other.protocol &&
           (ip.empty() || other.ip.empty() || ip == other.ip);
  }
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

inline bool collide(std::span<const HostPort> a, std::span<const HostPort> b) {
  for (const HostPort& x : a)
    for (const HostPort& y : b)
      if (x.collides(y)) return true;
  return false;
}

}  // namespace koord::scheduling
