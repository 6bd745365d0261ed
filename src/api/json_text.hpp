// Writing JSON text: strings and the values of a DOM.
#pragma once

#include <string>
#include <string_view>

namespace koord::api {

/// Appends the text in quotes, with ", \ and control characters escaped, and what ends a
/// line in YAML (U+0085, U+2028, U+2029). Other UTF-8 is written as it is.
void append_json_string(std::string& out, std::string_view text);

}  // namespace koord::api
