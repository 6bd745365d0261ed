// Kubernetes' protobuf bodies (application/vnd.kubernetes.protobuf) as JSON documents: kubectl's typed
// commands send them.
#pragma once

#include <string_view>

#include "koord/json/value.hpp"

namespace koord::sandbox {

/// An error (Code::bad_request) also for a kind that the table does not have. Zero numbers and empty texts
/// that Go's encoding writes for absent fields are left out.
Result<> decode_protobuf(std::string_view body, json::Document& doc);

}  // namespace koord::sandbox
