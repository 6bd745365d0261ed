// Documents as YAML, as manifests are written by hand.
#include <algorithm>
#include <cctype>

#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"
#include "koord/json/yaml.hpp"

namespace koord::json {

namespace {

// True if YAML reads the text as this very string without quotes.
bool is_plain(std::string_view text) {
  static constexpr std::string_view kWords[] = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"};
  if (text.empty() || text.back() == ' ' || !std::isalpha(static_cast<unsigned char>(text.front())))
    return false;
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (std::ranges::find(kWords, lower) != std::end(kWords)) return false;
  return std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '.' || c == '/' || c == ' ';
  });
}

void append_yaml(std::string& out, const Value& value, size_t indent) {
  const auto line = [&] { out.append(indent, ' '); };
  const auto inline_or_block = [&](const Value& v, bool in_list) {
    if (v.empty()) {
      if (!in_list) out.push_back(' ');
      if (v.is_string() && is_plain(v.text()))
        out.append(v.text());
      else
        append(out, v);
      out.push_back('\n');
    } else if (in_list) {
      const size_t start = out.size();
      append_yaml(out, v, indent + 2);
      out.erase(start, indent + 2);  // the first line stands beside the dash
    } else {
      out.push_back('\n');
      append_yaml(out, v, v.is_array() ? indent : indent + 2);
    }
  };
  if (value.is_array()) {
    for (const Value& element : value.elements()) {
      line();
      out.append("- ");
      inline_or_block(element, true);
    }
  } else if (value.is_object()) {
    for (const Member& member : value.members()) {
      line();
      if (is_plain(member.key()))
        out.append(member.key());
      else
        append_string(out, member.key());
      out.push_back(':');
      inline_or_block(member.value, false);
    }
  }
}

}  // namespace

std::string to_yaml(const Value& value) {
  std::string out;
  append_yaml(out, value, 0);
  return out;
}

}  // namespace koord::json
