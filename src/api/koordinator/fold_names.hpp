// Names of members as Go takes them: in upper or lower case.
#pragma once

#include "koord/api/schema/table.hpp"
#include "koord/json/value.hpp"

namespace koord::api {

/// Gives members of structures that the table knows in other letters the table's own name.
void fold_names(json::Value& value, const Type& type, json::Arena& arena);

}  // namespace koord::api
