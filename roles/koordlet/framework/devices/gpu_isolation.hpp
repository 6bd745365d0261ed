// What HAMi-core needs of the host, looked for.
#pragma once

#include <string>

#include "framework/devices/node_devices.hpp"
#include "koord/host/root.hpp"

namespace koord::koordlet {

/// `library`: --hami-core-library-directory-path. The host's files are seen through its first process, which
/// needs the host's processes (hostPID). Without them, or without NVIDIA's driver, a container that preloads
/// the library could not start.
GpuIsolation look_for_isolation(const host::Root& root, const std::string& library);

}  // namespace koord::koordlet
