// YAML to JSON, as Kubernetes' tools read it (YAML 1.2 scalars as JSON's types).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "koord/base/result.hpp"

namespace koord::sandbox {

/// One document. Errors name the line; duplicate keys are refused.
Result<std::string> yaml_to_json(std::string_view text);

}  // namespace koord::sandbox
