// What `kubectl get` shows of the built-in kinds.
#pragma once

#include "sandbox/kinds/kind.hpp"

namespace koord::sandbox {

/// Sets the columns and the function that fills them, if the kind has others than Name and Age.
void add_builtin_columns(Kind& kind);

/// Go's duration.HumanDuration: "5s", "3m20s", "26h", "12d".
std::string human_duration(std::chrono::seconds age);
/// The age of an RFC 3339 time, "<unknown>" if it is empty or malformed.
std::string age_of(std::string_view timestamp, WallTime now);

}  // namespace koord::sandbox
