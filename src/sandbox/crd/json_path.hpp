// The simple JSON paths of printer columns: .spec.replicas, .status.conditions[0].type,
// .metadata.labels['a\.b'], .status.conditions[?(@.type=="Ready")].status
#pragma once

#include "sandbox/json/dom.hpp"

namespace koord::sandbox {

/// The first match, or nullptr.
const Json* json_path(const Json& object, std::string_view path);

}  // namespace koord::sandbox
