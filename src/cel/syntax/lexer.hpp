// Tokens of an expression.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cel/syntax/source.hpp"

namespace koord::cel {

struct Token {
  enum class Kind : std::uint8_t {
    end,
    ident,
    escaped,
    integer,
    unsigned_integer,
    real,
    string,
    bytes,
    symbol
  };
  Kind kind = Kind::end;
  std::string_view text;  // as written
  std::int64_t offset = 0;

  bool is(std::string_view symbol) const { return kind == Kind::symbol && text == symbol; }
};

/// `in`, `true`, `false` and `null` are symbols. The last is the end. Unknown characters are mistakes and
/// left out.
std::vector<Token> tokens_of(std::string_view source, Mistakes& mistakes);

}  // namespace koord::cel
