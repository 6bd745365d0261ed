// Writing JSON text: strings and the values of a DOM.
#pragma once

#include <string>
#include <string_view>

namespace koord::json {

/// Appends the text in quotes, with ", \ and control characters escaped. UTF-8 is written as it is.
void append_string(std::string& out, std::string_view text);

}  // namespace koord::json
