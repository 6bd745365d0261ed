// kJoined: texts that are put together when the program is compiled.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace koord {

namespace detail {
template <const std::string_view&... Parts>
inline constexpr auto kJoinedText = [] {
  std::array<char, (Parts.size() + ... + 0)> text{};
  auto at = text.begin();
  ((at = std::copy(Parts.begin(), Parts.end(), at)), ...);
  return text;
}();
}  // namespace detail

/// The parts, constants of namespaces, one behind the other: kJoined<kDomain, kSlash, kName>.
template <const std::string_view&... Parts>
inline constexpr std::string_view kJoined = {detail::kJoinedText<Parts...>.data(),
                                             detail::kJoinedText<Parts...>.size()};

}  // namespace koord
