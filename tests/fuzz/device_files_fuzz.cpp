// Files that others write of a node's devices: CDI's, and lists of accelerators. Whatever one holds, a name
// that comes of it is one that a runtime takes, and a device one that the API server does.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "framework/devices/cdi_files.hpp"
#include "framework/devices/xpu_files.hpp"
#include "koord/api/rules/validation_names.hpp"

using namespace koord;
using namespace koord::koordlet;

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

/// "VENDOR/CLASS=NAME", once each.
bool is_whole(std::string_view name) {
  return is_plain(name) && std::ranges::count(name, '/') == 1 && std::ranges::count(name, '=') == 1 &&
         name.find('/') < name.find('=') && !name.ends_with('=') && !name.ends_with("=all");
}

void check_cdi(std::string_view text) {
  const auto devices = read_cdi_file(text);
  if (!devices) {
    check(!devices.error().message().empty());
    return;
  }
  check(devices->size() <= CdiFiles::kMostDevices);
  const CdiNames names = cdi_names(*devices);
  check(names.gpus.size() + names.rdma.size() <= devices->size());
  for (const auto& [minor, name] : names.gpus)
    check(minor >= 0 && is_whole(name) && name.starts_with("nvidia.com/gpu="));
  for (const auto& [bus, rdma] : names.rdma)
    check(is_whole(rdma.name) && rdma.name.ends_with(bus) && rdma.verbs.starts_with("uverbs"));
  // The order of devices in a file says nothing.
  std::vector<CdiDevice> turned(devices->rbegin(), devices->rend());
  check(cdi_names(turned).gpus.size() == names.gpus.size());
}

void check_xpu(std::string_view text) {
  auto devices = read_xpu_file(text);
  if (!devices) {
    check(!devices.error().message().empty());
    return;
  }
  const std::size_t listed = devices->size();
  check(listed <= XpuFiles::kMostDevices);
  const DeviceReading reading = read_xpu_devices({{"file", std::move(*devices)}});
  check(reading.devices.size() <= listed);
  for (const api::DeviceInfo& device : reading.devices) {
    check(!device.id.empty() && device.minor && *device.minor >= 0);
    for (const auto& [name, amount] : device.resources)
      check(api::is_qualified_name(name.view()) && amount.sign() >= 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_cdi(text);
  check_xpu(text);
  return 0;
}
