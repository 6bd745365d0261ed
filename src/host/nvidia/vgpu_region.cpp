// VgpuRegion: see koord/host/nvidia/vgpu_region.hpp. Places of fields are those of HAMi-core's
// shared_region_t on 64-bit little-endian machines (multiprocess_memory_limit.h).
#include "koord/host/nvidia/vgpu_region.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace koord::host {

namespace {

constexpr std::int32_t kMagic = 19920718;
constexpr std::size_t kDevices = 16, kProcesses = 1024, kUuid = 96, kShownUuid = 40;

struct Layout {
  std::size_t count, uuids, limits, sm_limits, slots;  // places in the file
  std::size_t slot, memory, utilization, status;       // a process: its size, and places within
  std::size_t device_memory, device_utilization;       // sizes of one device's
  std::size_t last_kernel;                             // place after the processes; 0: none
  std::size_t after;                                   // bytes after the processes
  constexpr std::size_t end() const { return slots + kProcesses * slot; }
  constexpr std::size_t size() const { return end() + after; }
};
constexpr Layout kOld{.count = 48,
                      .uuids = 56,
                      .limits = 1592,
                      .sm_limits = 1720,
                      .slots = 1848,
                      .slot = 1168,
                      .memory = 8,
                      .utilization = 776,
                      .status = 1160,
                      .device_memory = 40,
                      .device_utilization = 24,
                      .last_kernel = 0,
                      .after = 16};
constexpr Layout kNew{.count = 56,
                      .uuids = 64,
                      .limits = 1600,
                      .sm_limits = 1728,
                      .slots = 1856,
                      .slot = 1960,
                      .memory = 8,
                      .utilization = 1160,
                      .status = 1928,
                      .device_memory = 64,
                      .device_utilization = 48,
                      .last_kernel = 16,
                      .after = 56};
static_assert(kOld.size() == 1'197'896 && kNew.size() == 2'008'952);
constexpr std::size_t kLargestSlot = kNew.slot, kLargestHeader = kNew.slots, kLargestEnd = kNew.after;

template <class Number>
Number number_at(const char* bytes) {
  Number number{};
  std::memcpy(&number, bytes, sizeof number);
  return number;
}

void add(std::uint64_t& to, std::uint64_t more) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  to = to > kMost - more ? kMost : to + more;
}

std::string uuid_at(const char* bytes) {
  const std::string_view text(bytes, ::strnlen(bytes, kShownUuid));
  const bool printable = std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
  return printable ? std::string(text) : std::string();
}

void add_process(const char* slot, const Layout& layout, VgpuRegion& region) {
  for (std::size_t i = 0; i < region.devices.size(); ++i) {
    VgpuRegion::Device& device = region.devices[i];
    const char* const memory = slot + layout.memory + i * layout.device_memory;
    add(device.context, number_at<std::uint64_t>(memory));
    add(device.module, number_at<std::uint64_t>(memory + 8));
    add(device.buffer, number_at<std::uint64_t>(memory + 16));
    add(device.total, number_at<std::uint64_t>(memory + 32));
    add(device.sm, number_at<std::uint64_t>(slot + layout.utilization + i * layout.device_utilization + 16));
  }
}

Error unreadable() { return Error(Code::io, "HAMi-core's region: it cannot be read"); }

}  // namespace

Result<VgpuRegion> read_vgpu_region(std::uint64_t size, const ReadAt& read) {
  if (size < kOld.size())
    return Error(Code::invalid, fmt::format("HAMi-core's region: {} bytes are too few", size));
  const bool old = size < kNew.size();
  const Layout& layout = old ? kOld : kNew;
  std::array<char, kLargestHeader> header{};
  if (!read(0, header.data(), layout.slots)) return unreadable();
  if (number_at<std::int32_t>(header.data()) != kMagic)
    return Error(Code::invalid, "HAMi-core's region: it does not begin as one");
  if (const auto version = number_at<std::uint32_t>(header.data() + 4); !old && version != 1)
    return Error(Code::invalid, fmt::format("HAMi-core's region: of version {}, and 1 is known", version));
  std::array<char, kLargestEnd> end{};
  if (!read(layout.end(), end.data(), layout.after)) return unreadable();

  VgpuRegion region;
  region.devices.resize(
      std::min<std::uint64_t>(number_at<std::uint64_t>(header.data() + layout.count), kDevices));
  for (std::size_t i = 0; i < region.devices.size(); ++i) {
    VgpuRegion::Device& device = region.devices[i];
    device.uuid = uuid_at(header.data() + layout.uuids + i * kUuid);
    device.limit = number_at<std::uint64_t>(header.data() + layout.limits + i * 8);
    device.sm_limit = number_at<std::uint64_t>(header.data() + layout.sm_limits + i * 8);
  }
  if (layout.last_kernel != 0)
    region.last_kernel = std::max<std::int64_t>(0, number_at<std::int64_t>(end.data() + layout.last_kernel));
  const auto processes =
      static_cast<std::size_t>(std::clamp<std::int64_t>(number_at<std::int32_t>(end.data()), 0, kProcesses));
  std::array<char, kLargestSlot> slot{};
  for (std::size_t i = 0; i < processes; ++i) {
    if (!read(layout.slots + i * layout.slot, slot.data(), layout.slot)) return unreadable();
    if (number_at<std::int32_t>(slot.data() + layout.status) == 0) continue;
    ++region.processes;
    add_process(slot.data(), layout, region);
  }
  return region;
}

}  // namespace koord::host
