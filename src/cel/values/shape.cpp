#include "koord/cel/shape.hpp"

#include <algorithm>
#include <array>

namespace koord::cel {

const Shape::Field* Shape::field(std::string_view name) const {
  const auto at = std::lower_bound(fields.begin(), fields.end(), name,
                                   [](const Field& field, std::string_view key) { return field.name < key; });
  return at != fields.end() && at->name == name ? &*at : nullptr;
}

const Shape::Field* Shape::json_field(std::string_view name) const {
  // Most names are written as they are.
  if (const Field* same = field(name); same && same->json_name == name) return same;
  const std::string escaped = escape_name(name);
  return escaped.empty() ? nullptr : field(escaped);
}

std::string escape_name(std::string_view name) {
  static constexpr std::array<std::string_view, 21> kReserved = {
      "true",     "false",   "null",      "in",       "as",  "break",  "const",
      "continue", "else",    "for",       "function", "if",  "import", "let",
      "loop",     "package", "namespace", "return",   "var", "void",   "while"};
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (name.empty() || (!letter(name[0]) && name[0] != '.' && name[0] != '-' && name[0] != '/')) return {};
  if (std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end())
    return "__" + std::string(name) + "__";
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '_' && i + 1 < name.size() && name[i + 1] == '_') {
      out += "__underscores__";
      ++i;
    } else if (letter(c) || (c >= '0' && c <= '9')) {
      out += c;
    } else if (c == '.') {
      out += "__dot__";
    } else if (c == '-') {
      out += "__dash__";
    } else if (c == '/') {
      out += "__slash__";
    } else {
      return {};
    }
  }
  return out;
}

}  // namespace koord::cel
