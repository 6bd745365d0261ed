// What the API server that a test of the kube tier runs against can do, by its version.
#pragma once

#include <cstdlib>

namespace koord::test {

/// Whether the API server begins a watch with what is there: 1.32 does, and those since 1.34. The sandbox,
/// too.
inline bool server_has_watch_lists() {
  const char* minor = std::getenv("KOORD_KUBE_MINOR");  // by tests/kube/with-cluster
  const int is = minor == nullptr ? 35 : std::atoi(minor);
  return is == 32 || is >= 34;
}

}  // namespace koord::test
