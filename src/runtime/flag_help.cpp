// Flag tables as text for people: --help and markdown.
#include <fmt/format.h>

#include <algorithm>

#include "koord/runtime/flags.hpp"

namespace koord::runtime {
namespace {

std::string_view type_name(FlagType type) {
  switch (type) {
    case FlagType::boolean: return "";
    case FlagType::integer: return "int";
    case FlagType::real: return "float";
    case FlagType::duration: return "duration";
    case FlagType::text: return "string";
    case FlagType::list: return "strings";
    case FlagType::pairs: return "k=v,...";
  }
  return "";
}

bool shows_default(const Flag& flag) {
  if (flag.default_value.empty()) return false;
  if (flag.type == FlagType::boolean) return flag.default_value != "false";
  if (flag.type == FlagType::integer || flag.type == FlagType::real) return flag.default_value != "0";
  return true;
}

std::string default_text(const Flag& flag) {
  const bool quoted = flag.type == FlagType::text;
  return quoted ? fmt::format("\"{}\"", flag.default_value) : std::string(flag.default_value);
}

std::string left_column(const Flag& flag) {
  std::string out = flag.shorthand != 0 ? fmt::format("  -{}, --", flag.shorthand) : "      --";
  out += flag.name;
  const bool alone = flag.type == FlagType::text && flag.default_value == "false";  // as pflag shows one
  if (flag.type != FlagType::boolean)
    out += fmt::format(" {}{}", type_name(flag.type), alone ? "[=\"true\"]" : "");
  return out;
}

void wrap(std::string& out, std::string_view text, std::size_t indent, std::size_t width) {
  std::size_t column = indent;
  bool first = true;
  while (!text.empty()) {
    const auto space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    if (!first && column + 1 + word.size() > width) {
      out.append("\n").append(indent, ' ');
      column = indent;
      first = true;
    }
    if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    first = false;
  }
  out += '\n';
}

std::vector<std::string_view> sections(std::span<const Flag> flags) {
  std::vector<std::string_view> names;
  for (const Flag& flag : flags)
    if (!flag.hidden && std::find(names.begin(), names.end(), flag.section) == names.end())
      names.push_back(flag.section);
  return names;
}

}  // namespace

std::string flags_help(std::span<const Flag> flags, std::size_t width) {
  constexpr std::size_t kMaxColumn = 40;
  std::size_t column = 0;
  for (const Flag& flag : flags)
    if (!flag.hidden) column = std::max(column, left_column(flag).size() + 3);
  column = std::min(column, kMaxColumn);
  std::string out;
  for (const std::string_view section : sections(flags)) {
    if (!section.empty()) out += fmt::format("{}{}:\n", out.empty() ? "" : "\n", section);
    for (const Flag& flag : flags) {
      if (flag.hidden || flag.section != section) continue;
      std::string left = left_column(flag);
      out += left;
      if (left.size() + 2 > column)
        out.append("\n").append(column, ' ');
      else
        out.append(column - left.size(), ' ');
      std::string text(flag.help);
      if (shows_default(flag)) text += fmt::format(" (default {})", default_text(flag));
      if (!flag.deprecated.empty()) text += fmt::format(" (deprecated: {})", flag.deprecated);
      wrap(out, text, column, width);
    }
  }
  return out;
}

std::string flags_markdown(std::span<const Flag> flags) {
  std::string out = "| flag | type | default | meaning |\n|---|---|---|---|\n";
  for (const Flag& flag : flags) {
    if (flag.hidden) continue;
    std::string help;
    for (const char c : flag.help) help += c == '|' ? std::string("\\|") : std::string(1, c);
    out += fmt::format("| `--{}`", flag.name);
    if (flag.shorthand != 0) out += fmt::format(", `-{}`", flag.shorthand);
    out += fmt::format(" | {} | ", flag.type == FlagType::boolean ? "bool" : type_name(flag.type));
    if (!flag.default_value.empty()) out += fmt::format("`{}`", flag.default_value);
    out += fmt::format(" | {}", help);
    if (!flag.deprecated.empty()) out += fmt::format(" (deprecated: {})", flag.deprecated);
    out += " |\n";
  }
  return out;
}

}  // namespace koord::runtime
