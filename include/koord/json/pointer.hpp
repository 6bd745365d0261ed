// JSON pointers (RFC 6901).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/result.hpp"

namespace koord::json {

/// The unescaped tokens: "/a~1b/0" is {"a/b", "0"}, "" is {}. An error if it does not start with '/' or
/// has a bad escape.
Result<std::vector<std::string>> pointer_tokens(std::string_view pointer);

/// An array index: digits without leading zeros; "-" is `size`. Empty if it is none.
std::optional<size_t> pointer_index(std::string_view token, size_t size);

}  // namespace koord::json
