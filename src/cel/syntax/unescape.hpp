// What a text of an expression says, its escapes resolved.
#pragma once

#include <string>
#include <string_view>

#include "koord/base/result.hpp"

namespace koord::cel {

/// `token` with its quotation marks and an `r`, without a `b`. Of bytes \x41 and \101 are bytes, of a text
/// code points. The error is cel-go's.
Result<std::string> unescape(std::string_view token, bool bytes);
void append_code_point(std::string& out, std::uint32_t code_point);

}  // namespace koord::cel
