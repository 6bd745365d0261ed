// The node's Device object from what the sources of devices say: what the original writes, so that schedulers
// of either read it.
#pragma once

#include <string>

#include "framework/devices/device_watch.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/values/time.hpp"

namespace koord::json {
class Document;
}

namespace koord::koordlet {

/// What a Device should say that says `object` now (an empty one: there is none yet). Where a source is not
/// complete, what is reported already stays. Of a device that stays, labels and its module are others', and
/// a condition that stays keeps its time; `now` is that of one that is new.
api::Device wanted_device(const NodeDevices& devices, const api::Device& object, const api::Time& now);

/// Whether a Device says all that already; others' labels and annotations do not count.
bool says(const api::Device& object, const api::Device& wanted);

/// Writes spec.devices, our labels and our annotation into a document as the API server gave it.
void write_device(json::Document& document, const api::Device& wanted);

/// One to be created: the node owns it.
std::string new_device(const api::Device& wanted, const api::Node& node);

}  // namespace koord::koordlet
