// See parse_float.hpp.
#include "koord/base/parse_float.hpp"

#include <charconv>

namespace koord {

std::optional<double> parse_float(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace koord
