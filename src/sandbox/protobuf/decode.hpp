// Kubernetes' protobuf bodies (application/vnd.kubernetes.protobuf) as JSON documents: kubectl's typed
// commands send them.
#pragma once

#include <string>
#include <string_view>

#include "sandbox/json/dom.hpp"

namespace koord::sandbox {

/// False sets `error`; also for a kind that the table does not have. Zero numbers and empty texts that Go's
/// encoding writes for absent fields are left out.
bool decode_protobuf(std::string_view body, JsonDoc& doc, std::string& error);

}  // namespace koord::sandbox
