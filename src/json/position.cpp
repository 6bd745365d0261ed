#include "position.hpp"

#include <fmt/format.h>

namespace koord::json {

std::string position(std::string_view text, size_t offset) {
  size_t line = 1, start = 0;
  for (size_t i = 0; i < offset; ++i) {
    if (text[i] == '\n') {
      ++line;
      start = i + 1;
    }
  }
  return fmt::format("line {}, column {} (byte {})", line, offset - start + 1, offset);
}

}  // namespace koord::json
