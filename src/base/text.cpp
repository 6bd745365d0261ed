#include "koord/base/text.hpp"

#include <fmt/format.h>

#include <iterator>

namespace koord {

namespace {
constexpr std::size_t kLongestNote = 1024;  // the API's limit
constexpr std::string_view kCut = " ...";

unsigned char byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }
}  // namespace

std::string_view utf8_prefix(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  std::size_t end = limit;
  while (end > 0 && (byte_at(text, end) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}

std::string cut_note(std::string_view note) {
  if (note.size() <= kLongestNote) return std::string(note);
  return fmt::format("{}{}", utf8_prefix(note, kLongestNote - kCut.size()), kCut);
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    switch (text[0]) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\a': out += "\\a"; break;
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      case '\v': out += "\\v"; break;
      default:
        if (length == 0 || byte_at(text, 0) < ' ' || text[0] == 0x7f)
          fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte_at(text, 0));
        else
          out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

std::string quote(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

std::optional<bool> parse_bool(std::string_view text) {
  for (const std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"})
    if (text == yes) return true;
  for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"})
    if (text == no) return false;
  return std::nullopt;
}

}  // namespace koord
