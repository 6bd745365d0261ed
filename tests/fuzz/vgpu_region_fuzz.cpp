// HAMi-core's file: the first byte says of which size, then come patches: three bytes of a place, one of a
// length, the bytes. Whatever stands in it, what is read is bounded.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "koord/host/nvidia/vgpu_region.hpp"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static constexpr std::size_t kSizes[] = {2'008'952, 1'197'896, 2'008'951, 4096};
  static std::string bytes;
  bytes.assign(kSizes[data[0] % 4], '\0');
  for (std::size_t at = 1; at + 4 <= size;) {
    const std::size_t place =
        (std::size_t{data[at]} << 16 | std::size_t{data[at + 1]} << 8 | data[at + 2]) % bytes.size();
    const std::size_t length = std::min<std::size_t>({data[at + 3], size - at - 4, bytes.size() - place});
    bytes.replace(place, length, reinterpret_cast<const char*>(data + at + 4), length);
    at += 4 + data[at + 3];
  }
  std::size_t read = 0;
  const auto region =
      koord::host::read_vgpu_region(bytes.size(), [&](std::uint64_t offset, char* to, std::size_t count) {
        check(offset <= bytes.size() && count <= bytes.size() - offset);
        bytes.copy(to, count, offset);
        read += count;
        return true;
      });
  check(read <= bytes.size());
  if (!region) return 0;
  check(region->devices.size() <= 16 && region->processes <= 1024 && region->last_kernel >= 0);
  for (const auto& device : region->devices) {
    check(device.uuid.size() <= 40);
    for (const char c : device.uuid) check(c > ' ' && c < 0x7f);
  }
  return 0;
}
