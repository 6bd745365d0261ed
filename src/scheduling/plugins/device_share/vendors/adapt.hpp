// What is written for vendors' device plugins beside Koordinator's own annotation (gate
// DevicePluginAdaption).
#pragma once

#include <string>
#include <string_view>

#include "koord/api/koordinator/devices.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"
#include "koord/scheduling/plugin/pod_changes.hpp"

namespace koord::scheduling::device_share {

struct Adapted {
  PodPatch changes;       // of the pod, or of the reservation
  std::string_view lock;  // the node's annotation that is to be taken first; empty: none
  std::string_view vendor;
};

/// `pod` is what is bound, or stands for it; `device` is the node's labels of a Device, nullptr: it has none.
/// An error is in Koordinator's words: the vendor's device plugin could not serve what was given.
Result<Adapted> adapt(const api::SymbolMap& pod_labels, const api::SymbolMap* device_labels,
                      std::string_view node, const api::DeviceAllocations& given, WallTime now);

}  // namespace koord::scheduling::device_share
