// Words, lines and fields: see knob_layouts.hpp.
#include "framework/executor/knob_layouts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/host/text.hpp"

namespace koord::koordlet {
namespace {

using host::KnobLayout;
using host::KnobRow;

constexpr std::string_view kNo = "NO_";
constexpr std::string_view kAuto = "ctrl=auto", kEnable = "enable=";
constexpr std::size_t kMaxKey = 64;

/// The file's own name; of a row without one the knob's.
std::string_view file_of(const KnobRow& row) {
  if (row.v1_file.empty()) return row.v2_file.empty() ? row.name : row.v2_file;
  return row.v1_file.substr(row.v1_file.rfind('/') + 1);
}

Error not_there(const KnobRow& row, std::string_view key) {
  return Error(Code::not_found,
               fmt::format("{}: the kernel has no \"{}\"", file_of(row), key.substr(0, kMaxKey)));
}

bool is_word(std::string_view key) {
  return !key.empty() && key.size() <= kMaxKey && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

struct LineKey {
  std::string_view line, field;  // field: empty: the whole line
};
LineKey split(std::string_view key) {
  const auto slash = key.rfind('/');
  if (slash == std::string_view::npos) return {key, {}};
  return {key.substr(0, slash), key.substr(slash + 1)};
}
bool is_name(const KnobRow& row, std::string_view name) {
  return !name.empty() && name.size() <= kMaxKey &&
         std::all_of(name.begin(), name.end(), [&](unsigned char c) {
           return c > ' ' && c < 0x7f && c != '=' && c != static_cast<unsigned char>(row.lines.between) &&
                  (row.lines.after_name == ' ' || c != static_cast<unsigned char>(row.lines.after_name));
         });
}

/// "always [madvise] never".
std::string_view choice_in(std::string_view text) {
  const auto open = text.find('[');
  const auto close = text.find(']', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos) return host::trimmed(text);
  return text.substr(open + 1, close - open - 1);
}

Result<std::string_view> word_in(const KnobRow& row, std::string_view text, std::string_view key) {
  std::string_view rest = host::trimmed(text);
  for (std::string_view word = host::next_word(rest); !word.empty(); word = host::next_word(rest)) {
    if (word == key) return std::string_view("1");
    if (word.starts_with(kNo) && word.substr(kNo.size()) == key) return std::string_view("0");
  }
  return not_there(row, key);
}

Result<std::string_view> field_in(const KnobRow& row, std::string_view text, std::string_view key) {
  const LineKey wanted = split(key);
  std::string_view line;
  while (host::next_line(text, line)) {
    line = host::trimmed(line);
    const auto end = line.find(row.lines.after_name);
    if (end == std::string_view::npos || line.substr(0, end) != wanted.line) continue;
    std::string_view fields = host::trimmed(line.substr(end + 1));
    if (wanted.field.empty()) return fields;
    while (!fields.empty()) {
      const auto next = fields.find(row.lines.between);
      const std::string_view field = fields.substr(0, next);
      fields = next == std::string_view::npos ? std::string_view{} : fields.substr(next + 1);
      const auto equals = field.find('=');
      if (equals != std::string_view::npos && host::trimmed(field.substr(0, equals)) == wanted.field)
        return host::trimmed(field.substr(equals + 1));  // resctrl's numbers are padded: "MB:0=   90"
    }
  }
  return not_there(row, key);
}

/// Without zeros at the end of what follows the point: 95.00 is 95.
std::string_view worth(std::string_view number) {
  if (number.find('.') == std::string_view::npos ||
      number.find_first_not_of("0123456789.") != std::string_view::npos)
    return number;
  while (number.ends_with('0')) number.remove_suffix(1);
  if (number.ends_with('.')) number.remove_suffix(1);
  return number;
}

bool same_word(std::string_view a, std::string_view b) {
  const auto name = a.substr(0, a.find('=') + 1);
  return b.starts_with(name) && worth(a.substr(name.size())) == worth(b.substr(name.size()));
}

}  // namespace

std::string settable_words(std::string_view said) {
  if (!has_words(said, kAuto)) return std::string(said);
  std::string words;
  for (std::string_view word = host::next_word(said); !word.empty(); word = host::next_word(said))
    if (word == kAuto || word.starts_with(kEnable)) words.append(words.empty() ? "" : " ").append(word);
  return words;
}

bool has_words(std::string_view said, std::string_view wanted) {
  for (std::string_view word = host::next_word(wanted); !word.empty(); word = host::next_word(wanted)) {
    bool found = false;
    std::string_view rest = said;
    for (std::string_view other = host::next_word(rest); !other.empty() && !found;
         other = host::next_word(rest))
      found = same_word(word, other);
    if (!found) return false;
  }
  return true;
}

Result<std::string_view> setting_in(const KnobRow& row, std::string_view text, std::string_view key) {
  switch (row.layout) {
    case KnobLayout::whole: break;
    case KnobLayout::choice: return choice_in(text);
    case KnobLayout::words: return word_in(row, text, key);
    case KnobLayout::lines: return field_in(row, text, key);
  }
  return host::trimmed(text);
}

Result<std::string> setting_text(const KnobRow& row, std::string_view key, std::string_view value) {
  switch (row.layout) {
    case KnobLayout::whole:
    case KnobLayout::choice: break;
    case KnobLayout::words:
      if (!is_word(key))
        return Error(Code::invalid,
                     fmt::format("{}: \"{}\" is no feature", file_of(row), key.substr(0, kMaxKey)));
      return fmt::format("{}{}\n", value != "0" ? "" : kNo, key);
    case KnobLayout::lines: {
      const LineKey named = split(key);
      if (!is_name(row, named.line) || (named.field.empty() ? named.line != key : !is_name(row, named.field)))
        return Error(Code::invalid,
                     fmt::format("{}: \"{}\" names no setting", file_of(row), key.substr(0, kMaxKey)));
      if (named.field.empty()) return fmt::format("{}{}{}\n", named.line, row.lines.after_name, value);
      return fmt::format("{}{}{}={}\n", named.line, row.lines.after_name, named.field, host::trimmed(value));
    }
  }
  return std::string(value);
}

}  // namespace koord::koordlet
