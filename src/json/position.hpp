// Where in a text something is, for messages.
#pragma once

#include <string>
#include <string_view>

namespace koord::json {

/// "line 3, column 2 (byte 28)".
std::string position(std::string_view text, std::size_t offset);

}  // namespace koord::json
