#include "json_text.hpp"

#include "json_scan.hpp"

namespace koord::api {

namespace {

/// U+0085, U+2028 and U+2029 at the beginning, escaped. JSON takes them for letters and YAML for the end of a
/// line: what is written here means the same in both.
std::string_view line_break(std::string_view text) {
  if (text.starts_with("\xc2\x85")) return "\\u0085";
  if (text.starts_with("\xe2\x80\xa8")) return "\\u2028";
  if (text.starts_with("\xe2\x80\xa9")) return "\\u2029";
  return {};
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out.push_back('"');
  size_t plain = 0;  // start of what is not copied yet
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); (at = find_special(at, end)) != end; ++at) {
    const auto c = static_cast<unsigned char>(*at);
    const auto i = static_cast<size_t>(at - text.data());
    if (c >= 0x80) {
      const std::string_view escaped = line_break(text.substr(i));
      if (escaped.empty()) continue;
      out.append(text, plain, i - plain).append(escaped);
      at += c == 0xc2 ? 1 : 2;
      plain = static_cast<size_t>(at - text.data()) + 1;
      continue;
    }
    out.append(text, plain, i - plain);
    plain = i + 1;
    switch (c) {
      case '"': out.append("\\\""); break;
      case '\\': out.append("\\\\"); break;
      case '\n': out.append("\\n"); break;
      case '\r': out.append("\\r"); break;
      case '\t': out.append("\\t"); break;
      default:
        out.append("\\u00");
        out.push_back(kHex[c >> 4]);
        out.push_back(kHex[c & 15]);
    }
  }
  out.append(text, plain, text.size() - plain);
  out.push_back('"');
}

}  // namespace koord::api
