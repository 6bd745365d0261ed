// What HAMi-core needs of the host: see gpu_isolation.hpp.
#include "framework/devices/gpu_isolation.hpp"

#include <fmt/format.h>

#include "koord/host/file.hpp"

namespace koord::koordlet {

GpuIsolation look_for_isolation(const host::Root& root, const std::string& library) {
  GpuIsolation found{.library = library, .missing = {}};
  const std::string host = fmt::format("{}1/root", root.proc);
  if (!library.starts_with('/'))
    found.missing = fmt::format("--hami-core-library-directory-path: {} is no absolute path", library);
  else if (!host::exists(fmt::format("{}driver/nvidia/version", root.proc)))
    found.missing = "the host has no NVIDIA driver";
  else
    for (const std::string& path : {library, std::string(kIsolationLock)})
      if (found.missing.empty() && !host::exists(host + path))
        found.missing = fmt::format("the host has no {}", path);
  return found;
}

}  // namespace koord::koordlet
