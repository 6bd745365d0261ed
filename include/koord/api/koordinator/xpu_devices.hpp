// XpuDevice: an accelerator as its vendor's tools describe it. A file of these, a JSON list, is what the
// device daemon, or anybody else's program, hands to the node agent.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/schema/schema.hpp"
#include "koord/api/values/box.hpp"
#include "koord/api/values/string_map.hpp"

namespace koord::api {

/// Vendors as they stand in `vendor` and in the label node.koordinator.sh/gpu-vendor.
inline constexpr std::string_view kVendorNvidia = "nvidia", kVendorHuawei = "huawei",
                                  kVendorCambricon = "cambricon", kVendorMetaX = "metax",
                                  kVendorKunlun = "kunlun",  // Baidu's cards
    kVendorIluvatar = "iluvatar";

struct XpuLink {
  std::string peer_minor;  // "1,2,3"
  std::string type;        // NVLink, HCCS, ...
  KOORD_STRUCT(XpuLink);
};
/// Numbers are texts, as upstream's file has them.
struct XpuTopology {
  std::vector<XpuLink> p2p_links;
  bool must_honor_partition = false;
  std::string socket_id, node_id, pcie_id;
  std::string bus_id;  // "0000:3b:00.0"
  KOORD_STRUCT(XpuTopology);
};
struct XpuStatus {
  bool healthy = false;
  std::string err_code, err_message;
  KOORD_STRUCT(XpuStatus);
};
struct XpuDevice {
  std::string vendor, model, uuid;
  std::string minor;               // of /dev/davinci0 "0"
  FlatMap<std::string> resources;  // quantities: koordinator.sh/gpu-memory: 65536Mi
  Box<XpuTopology> topology;       // absent: not known
  Box<XpuStatus> status;           // absent: not known
  KOORD_STRUCT(XpuDevice);
};

/// The file's text, byte for byte as upstream's daemon writes it: indented by two, a list even where there is
/// none.
std::string xpu_devices_text(std::span<const XpuDevice> devices);

}  // namespace koord::api
