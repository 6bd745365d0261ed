// The texts of flag values: one function from text to value by type.
#pragma once

#include <string_view>

#include "koord/runtime/flags.hpp"

namespace koord::runtime {

/// Sets `value` (its flag is set) from text. Lists and pairs are replaced by the first text that comes from
/// the command line (value.changed is false then) and appended to by the later ones. The error says what was
/// expected, without the flag's name.
Result<> set_flag_value(FlagValues::Value& value, std::string_view text);

/// Go's strconv.ParseBool.
Result<bool> parse_bool(std::string_view text);

}  // namespace koord::runtime
