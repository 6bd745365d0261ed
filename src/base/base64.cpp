#include "koord/base/base64.hpp"

#include <cstdint>

namespace koord {

namespace {
constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}

std::string encode_base64(std::string_view data) {
  std::string out((data.size() + 2) / 3 * 4, '=');
  char* to = out.data();
  const auto byte = [&](std::size_t at) { return std::uint32_t{static_cast<unsigned char>(data[at])}; };
  std::size_t i = 0;
  for (; i + 3 <= data.size(); i += 3, to += 4) {
    const std::uint32_t bits = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    to[0] = kDigits[bits >> 18];
    to[1] = kDigits[bits >> 12 & 63];
    to[2] = kDigits[bits >> 6 & 63];
    to[3] = kDigits[bits & 63];
  }
  if (i < data.size()) {
    const bool two = data.size() - i == 2;
    const std::uint32_t bits = byte(i) << 16 | (two ? byte(i + 1) << 8 : 0);
    to[0] = kDigits[bits >> 18];
    to[1] = kDigits[bits >> 12 & 63];
    if (two) to[2] = kDigits[bits >> 6 & 63];
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
