// JSON pointers (RFC 6901): "/metadata/labels/app.kubernetes.io~1name"; "" is the whole.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"
#include "koord/json/value.hpp"

namespace koord::json {

/// The unescaped tokens: "/a~1b/0" is {"a/b", "0"}, "" is {}. An error if it does not start with '/' or
/// has a bad escape.
Result<std::vector<std::string>> pointer_tokens(std::string_view pointer);

/// An array index: digits without leading zeros; "-" is `size`. Empty if it is none.
std::optional<size_t> pointer_index(std::string_view token, size_t size);

/// The value at the pointer, nullptr if there is none.
Value* find_path(Value& root, std::string_view pointer);
const Value* find_path(const Value& root, std::string_view pointer);
/// Replaces or adds it; objects on the way are made. An error if the way leads through a scalar, past an
/// array's end
/// ("-" appends) or deeper than kMaxDepth.
Result<> put_path(Value& root, std::string_view pointer, Value&& value, Arena& arena);
/// True if it was there.
bool remove_path(Value& root, std::string_view pointer);

}  // namespace koord::json
