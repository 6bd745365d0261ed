// VgpuRegion: what HAMi-core keeps of a container's use of GPUs, in a file that the container's processes
// share: anything may stand in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "koord/base/result.hpp"

namespace koord::host {

struct VgpuRegion {
  /// Sums over the container's processes; they stay at the largest number where they would pass it.
  struct Device {
    std::string uuid;            // at most 40 bytes, printable; empty: not known yet, or nonsense
    std::uint64_t limit = 0;     // bytes; 0: none
    std::uint64_t sm_limit = 0;  // percent; 0: none
    std::uint64_t context = 0, module = 0, buffer = 0, total = 0;  // bytes
    std::uint64_t sm = 0;                                          // percent
  };
  std::vector<Device> devices;   // as the container numbers them; 16 at most
  std::int64_t last_kernel = 0;  // seconds since 1970; 0: none, or the version does not say
  std::size_t processes = 0;     // that are in use; 1,024 at most
};

/// Reads `size` bytes at `offset`; false: it cannot.
using ReadAt = std::function<bool(std::uint64_t offset, char* to, std::size_t size)>;

/// Of a file of so many bytes, in either layout: of version 1 (HAMi-core since 2.5), or of the one before,
/// which is told by its size. It may change meanwhile. Code::invalid: it is none, or of a version that is not
/// known; Code::io: it could not be read.
Result<VgpuRegion> read_vgpu_region(std::uint64_t size, const ReadAt& read);

}  // namespace koord::host
