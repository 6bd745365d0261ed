#include "koord/json/writer.hpp"

#include "scan.hpp"

namespace koord::json {

void append_string(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out.push_back('"');
  size_t plain = 0;  // start of what is not copied yet
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); (at = find_special(at, end)) != end; ++at) {
    const auto c = static_cast<unsigned char>(*at);
    if (c >= 0x80) continue;
    const auto i = static_cast<size_t>(at - text.data());
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

}  // namespace koord::json
