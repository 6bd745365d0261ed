// The size of the kernel's pages: 4 KiB, or 16 and 64 on some ARM kernels. Memory limits are whole pages.
#pragma once

#include <unistd.h>

#include <cstdint>

namespace koord::host {

inline std::int64_t page_size() {
  static const long kSize = ::sysconf(_SC_PAGESIZE);
  return kSize > 0 ? kSize : 4096;
}

}  // namespace koord::host
