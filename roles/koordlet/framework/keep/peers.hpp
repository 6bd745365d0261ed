// Who is connected to a unix socket of another process, as the kernel's socket diagnosis says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace koord::koordlet {

/// Inodes of the sockets at the other end of those that were accepted at the socket file `path`, which may be
/// mounted elsewhere than where it was bound. Empty: there are none, or the kernel cannot be asked.
std::vector<std::uint64_t> connected_to(const std::string& path);

}  // namespace koord::koordlet
