// JSON as Go's encoding/json reads it into structs: what users' ConfigMaps have been written against.
#pragma once

#include "koord/api/schema/schema.hpp"
#include "koord/base/result.hpp"
#include "koord/json/value.hpp"

namespace koord::manager {

/// What Go would read of the object `in` into a struct of `schema`, with the schema's names: keys match
/// without regard to the case of ASCII letters (the exact one first), unknown keys are left out, a null is
/// kept (it sets nothing). A number with a fraction where an integer belongs, and any other value of a wrong
/// type, is an error of Code::parse that starts with the path (".nodeStrategies[1].cpuSuppressPolicy: ...").
/// The answer lies in `arena`. `in` is at most json::kMaxDepth deep.
Result<json::Value> read_like_go(const json::Value& in, const api::Schema& schema, json::Arena& arena);

/// The member of an object whose key matches as above, or nullptr.
const json::Value* find_like_go(const json::Value& object, std::string_view name);

/// Writes the struct that `update` encodes over the one that `onto` encodes, as Go's Unmarshal of the first
/// into the second does: structures are merged field by field, maps key by key (the values of keys are
/// replaced), lists element by element, by index: what the element of `update` does not say stays as it was,
/// and what is beyond the end of `update` goes. Both have the schema's names and no nulls.
void merge_like_go(json::Value& onto, const json::Value& update, const api::Schema& schema,
                   json::Arena& arena);

}  // namespace koord::manager
