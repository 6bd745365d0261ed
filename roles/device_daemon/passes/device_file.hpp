// The file that the node agent reads.
#pragma once

#include <span>
#include <string>

#include "koord/api/koordinator/xpu_devices.hpp"
#include "koord/base/result.hpp"

namespace koord::device_daemon {

/// Puts it there whole, its folder made if it is missing. The agent reads every file of that folder, so what
/// is being written stands in a folder below it until it is moved into place. Blocks for milliseconds.
Result<> write_device_file(const std::string& path, std::span<const api::XpuDevice> devices);

/// Removes it, and that folder. What is not there is no error.
Result<> remove_device_file(const std::string& path);

}  // namespace koord::device_daemon
