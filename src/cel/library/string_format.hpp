// "...".format([...]): the strings extension's own little language.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "koord/base/result.hpp"
#include "koord/cel/value.hpp"

namespace koord::cel {

/// One part of a format: text, or a clause (`%s`, `%.3f`) for an argument.
struct FormatPart {
  std::string_view text;  // of a clause empty
  char verb = 0;          // s d f e b x X o; 0 for text
  std::optional<int> precision;
};

/// The next part, taken off `format`, which is not empty. An error is cel-go's.
Result<FormatPart> next_part(std::string_view& format);
/// What a clause takes, as its error says it.
std::string_view clause_takes(char verb);

Value format_text(std::string_view format, Value args, Memory& memory);

}  // namespace koord::cel
