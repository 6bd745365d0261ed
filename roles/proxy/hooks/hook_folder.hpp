// The hook servers' folder on the disk, and who may have written what is in it.
#pragma once

#include <string>

#include "hooks/hook_servers.hpp"

namespace koord::proxy {

/// Reads the folder's files, made (0755) where it is missing. Who writes there decides what every container
/// becomes: a folder or a file that others than root and this process's user may write is Code::forbidden.
/// At most 64 files of 64 KiB each.
FoundFiles read_hook_folder(const std::string& path);

}  // namespace koord::proxy
