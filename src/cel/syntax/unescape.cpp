#include "cel/syntax/unescape.hpp"

#include <charconv>

namespace koord::cel {
namespace {

std::string with_line_feeds(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      out += text[i];
      continue;
    }
    out += '\n';
    if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
  }
  return out;
}

bool valid(std::uint32_t code_point) {
  return code_point < 0xD800 || (code_point > 0xDFFF && code_point <= 0x10FFFF);
}

char simple(char c) {
  switch (c) {
    case 'a': return '\a';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'v': return '\v';
    default: return c;
  }
}

}  // namespace

void append_code_point(std::string& out, std::uint32_t c) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | c >> 6);
    tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xE0 | c >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | c >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

Result<std::string> unescape(std::string_view token, bool bytes) {
  const bool raw = token[0] == 'r' || token[0] == 'R';
  if (raw) token.remove_prefix(1);
  const bool triple = token.size() >= 6 && (token.starts_with("\"\"\"") || token.starts_with("'''"));
  const std::string text = with_line_feeds(token.substr(triple ? 3 : 1, token.size() - (triple ? 6 : 2)));
  if (raw || text.find('\\') == std::string::npos) return text;
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '\\') {
      out += text[i++];
      continue;
    }
    const char c = text[i + 1];
    const bool octal = c >= '0' && c <= '3';
    const std::size_t count = c == 'x' || c == 'X' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : octal ? 3 : 0;
    if (count == 0) {
      out += simple(c);
      i += 2;
      continue;
    }
    if (bytes && (c == 'u' || c == 'U')) return Error(Code::invalid, "unable to unescape string");
    const std::size_t from = i + (octal ? 1 : 2);
    std::uint32_t number = 0;
    std::from_chars(text.data() + from, text.data() + from + count, number, octal ? 8 : 16);
    if (bytes)
      out += static_cast<char>(number);
    else if (!valid(number))
      return Error(Code::invalid, "invalid unicode code point");
    else
      append_code_point(out, number);
    i = from + count;
  }
  return out;
}

}  // namespace koord::cel
