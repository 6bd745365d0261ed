// UTF-8: where a character ends, and text that is sure to be made of characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace koord {

/// The length of the UTF-8 character that starts at `at`, 0 if there is none before `end`.
inline int utf8_length(const char* at, const char* end) {
  const auto byte = [at](int i) { return static_cast<unsigned char>(at[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const int length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || end - at < length) return 0;
  for (int i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool outside = (first == 0xed && byte(1) >= 0xa0) || (first == 0xf4 && byte(1) >= 0x90);
  return overlong || outside ? 0 : length;
}

/// That of the one at the start of `text`.
inline std::size_t utf8_length(std::string_view text) {
  return text.empty() ? 0 : static_cast<std::size_t>(utf8_length(text.data(), text.data() + text.size()));
}

/// The text with U+FFFD for each byte that belongs to no character; unchanged, without a copy, where there is
/// none.
std::string to_utf8(std::string text);

}  // namespace koord
