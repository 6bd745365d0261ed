// The table of vendors.
#include <array>

#include "vendors/vendor.hpp"

namespace koord::device_daemon {

namespace {

constexpr std::uint16_t kCambricon = 0xcabc, kBaidu = 0x1d22, kMetaX = 0x9999, kIluvatar = 0x1e3e,
                        kNvidia = 0x10de;

template <std::uint16_t id>
bool is_of(const host::PciDevice& device) {
  return device.vendor == id;
}

constexpr std::array<Vendor, 6> kVendors = {{
    {"huawei", &is_huawei, &look_for_huawei},
    {"cambricon", &is_of<kCambricon>, &look_for_cambricon},
    {"baidu", &is_of<kBaidu>, &look_for_baidu},
    {"metax", &is_of<kMetaX>, &look_for_metax},
    {"iluvatar", &is_of<kIluvatar>, &look_for_iluvatar},
    {"nvidia", &is_of<kNvidia>, &look_for_nvidia},
}};

}  // namespace

std::span<const Vendor> all_vendors() { return kVendors; }

}  // namespace koord::device_daemon
