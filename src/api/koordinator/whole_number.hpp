// Numbers in labels and annotations, as Go's strconv.ParseInt reads base 10.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace koord::api {

template <class T>
std::optional<T> whole_number(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace koord::api
