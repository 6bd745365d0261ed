// fieldPath of a rule: where in the value its error is told.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "koord/json/value.hpp"

namespace koord::sandbox {

/// ".spec.x" or ".map['a.b']" as errors print it ("spec.x", "map[a.b]"); empty if `schema` has no such field.
std::optional<std::string> rule_path(std::string_view path, const json::Value& schema);

}  // namespace koord::sandbox
