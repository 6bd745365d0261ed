// What is known of nodes' devices and of who has them, as JSON for people.
#pragma once

#include <string>

#include "scheduling/plugins/device_share/device_nodes.hpp"
#include "scheduling/plugins/device_share/request/demand.hpp"

namespace koord::scheduling::device_share {

/// The sum of all that was given, by resource.
api::ResourceList total(const Given& given);

/// "2 of 8 gpu free, 3 in part, 1 not healthy", of each type that the pod wants; where nobody can tell which
/// of them a pod has, that none is given, and for whose sake.
struct Left {
  int free = 0;  // wholly, of all these types
  std::string text;
};
Left devices_left(const DeviceLedger& ledger, const DeviceDemand& demand);

/// Of a known row: Koordinator's members, in its words.
std::string describe(const DeviceNodes::OfRow& of);
/// Of all known rows, by the nodes' names.
std::string describe(const DeviceNodes& devices, const NodeTable& nodes);

}  // namespace koord::scheduling::device_share
