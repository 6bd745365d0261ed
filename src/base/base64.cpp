#include "koord/base/base64.hpp"

#include <algorithm>
#include <cstdint>

namespace koord {

namespace {
constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}

std::string encode_base64(std::string_view data) {
  std::string out((data.size() + 2) / 3 * 4, '=');
  char* to = out.data();
  for (std::size_t i = 0; i < data.size(); i += 3) {
    const std::size_t bytes = std::min<std::size_t>(data.size() - i, 3);
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < bytes; ++j)
      bits |= std::uint32_t{static_cast<unsigned char>(data[i + j])} << (16 - 8 * j);
    for (std::size_t j = 0; j <= bytes; ++j) to[j] = kDigits[bits >> (18 - 6 * j) & 63];
    to += 4;
  }
  return out;
}

std::optional<std::string> decode_base64(std::string_view text) {
  std::string out;
  unsigned bits = 0, value = 0, padding = 0, digits = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == ' ') continue;
    ++digits;
    if (c == '=') {
      if (++padding > 2) return std::nullopt;
      continue;
    }
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos || padding > 0) return std::nullopt;
    value = ((value << 6) | static_cast<unsigned>(digit)) & 0xffffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      out += static_cast<char>((value >> bits) & 0xff);
    }
  }
  if (digits % 4 != 0) return std::nullopt;
  return out;
}

}  // namespace koord
