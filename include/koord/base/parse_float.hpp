// parse_float: a decimal number that people write.
#pragma once

#include <optional>
#include <string_view>

namespace koord {

/// What Go's strconv.ParseFloat takes of decimal numbers, a plus sign included; nothing: it is none, whole.
std::optional<double> parse_float(std::string_view text);

}  // namespace koord
