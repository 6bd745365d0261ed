// Texts: the standard's functions and those of the strings extension, version 2. Places are counted in code
// points.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "cel/library/string_format.hpp"
#include "cel/library/tables.hpp"
#include "cel/values/representation.hpp"
#include "koord/base/utf8.hpp"

namespace koord::cel {
namespace {

using Args = std::span<const Value>;
constexpr std::size_t kNowhere = std::string_view::npos;

/// In linear time, whatever is looked for: std::string_view::find is not.
std::size_t find_text(std::string_view text, std::string_view wanted, std::size_t from = 0) {
  if (wanted.empty()) return from;
  if (from > text.size()) return kNowhere;
  const void* at = memmem(text.data() + from, text.size() - from, wanted.data(), wanted.size());
  return at ? static_cast<std::size_t>(static_cast<const char*>(at) - text.data()) : kNowhere;
}

bool is_text(Value value) { return value.kind() == Kind::string; }

/// The byte at which the code point of this number begins; the text's size for the one past the last.
std::size_t byte_of(std::string_view text, std::int64_t index) {
  std::size_t at = 0;
  while (index > 0 && at < text.size()) {
    ++at;
    while (at < text.size() && (text[at] & 0xC0) == 0x80) ++at;
    --index;
  }
  return at;
}

Value out_of_range(std::int64_t index, Memory& memory) {
  return fail(memory, fmt::format("index out of range: {}", index));
}

Value contains(Args args, Memory&) {
  if (!is_text(args[0]) || !is_text(args[1])) return no_such_overload();
  return Value::boolean(find_text(args[0].text(), args[1].text()) != kNowhere);
}
Value starts_with(Args args, Memory&) {
  if (!is_text(args[0]) || !is_text(args[1])) return no_such_overload();
  return Value::boolean(args[0].text().starts_with(args[1].text()));
}
Value ends_with(Args args, Memory&) {
  if (!is_text(args[0]) || !is_text(args[1])) return no_such_overload();
  return Value::boolean(args[0].text().ends_with(args[1].text()));
}

Value char_at(Args args, Memory& memory) {
  const std::string_view text = args[0].text();
  const std::int64_t index = args[1].as_int();
  if (!memory.step(text.size() / 64)) return out_of_memory();
  const auto size = static_cast<std::int64_t>(code_points(text));
  if (index < 0 || index > size) return out_of_range(index, memory);
  const std::size_t from = byte_of(text, index);
  return Value::string(text.substr(from, byte_of(text.substr(from), 1)));
}

Value index_of(Args args, Memory& memory) {
  const std::string_view text = args[0].text(), wanted = args[1].text();
  const std::int64_t offset = args.size() == 3 ? args[2].as_int() : 0;
  if (wanted.empty()) return Value::integer(offset);
  if (offset < 0) return out_of_range(offset, memory);
  const std::size_t from = byte_of(text, offset);
  const std::size_t at = from < text.size() ? find_text(text, wanted, from) : kNowhere;
  return Value::integer(at == kNowhere ? -1 : static_cast<std::int64_t>(code_points(text.substr(0, at))));
}

Value last_index_of(Args args, Memory& memory) {
  const std::string_view text = args[0].text(), wanted = args[1].text();
  const auto size = static_cast<std::int64_t>(code_points(text));
  if (wanted.empty()) return Value::integer(args.size() == 3 ? args[2].as_int() : size);
  const std::int64_t offset = args.size() == 3 ? args[2].as_int() : size - 1;
  if (args.size() == 2 && text.size() < wanted.size()) return Value::integer(-1);
  if (offset < 0) return out_of_range(offset, memory);
  if (offset >= size) return Value::integer(-1);
  const std::size_t last = byte_of(text, offset);
  std::size_t best = kNowhere;
  for (std::size_t at = 0; (at = find_text(text, wanted, at)) != kNowhere && at <= last; ++at) {
    if (!memory.step(1 + wanted.size() / 64)) return out_of_memory();
    best = at;
  }
  return Value::integer(best == kNowhere ? -1 : static_cast<std::int64_t>(code_points(text.substr(0, best))));
}

template <char kFrom, char kTo, int kShift>
Value shifted(Args args, Memory& memory) {
  const Value copy = copy_string(args[0].text(), memory);
  if (copy.is_error()) return copy;
  for (char& c : std::span(const_cast<char*>(copy.text().data()), copy.text().size()))
    if (c >= kFrom && c <= kTo) c = static_cast<char>(c + kShift);
  return copy;
}

Value replace(Args args, Memory& memory) {
  const std::string_view text = args[0].text(), old = args[1].text(), with = args[2].text();
  std::int64_t most = args.size() == 4 ? args[3].as_int() : -1;
  if (most < 0) most = INT64_MAX;
  std::string out;
  std::size_t at = 0;
  const auto fits = [&] { return out.size() <= Memory::kMaxBytes; };
  if (old.empty()) {
    // Before each code point, and at the end.
    for (; most > 0 && fits(); --most) {
      out += with;
      if (at == text.size()) break;
      const std::size_t size = byte_of(text.substr(at), 1);
      out += text.substr(at, size);
      at += size;
    }
  } else {
    for (; most > 0 && fits(); --most) {
      const std::size_t found = find_text(text, old, at);
      if (found == kNowhere) break;
      out += text.substr(at, found - at);
      out += with;
      at = found + old.size();
    }
  }
  if (at < text.size()) out += text.substr(at);
  return fits() ? copy_string(out, memory) : out_of_memory();
}

Value split(Args args, Memory& memory) {
  std::string_view text = args[0].text();
  const std::string_view separator = args[1].text();
  const std::int64_t most = args.size() == 3 ? args[2].as_int() : -1;
  if (most == 0) return empty_list();
  Value list = empty_list();
  while (!list.is_error() && (most < 0 || static_cast<std::int64_t>(list.count()) < most - 1)) {
    if (separator.empty() && text.empty()) return list;
    const std::size_t at = separator.empty() ? byte_of(text, 1) : find_text(text, separator);
    if (at == kNowhere || (separator.empty() && at == text.size())) break;
    list = append(list, Value::string(text.substr(0, at)), memory);
    text.remove_prefix(at + separator.size());
  }
  return append(list, Value::string(text), memory);
}

Value substring(Args args, Memory& memory) {
  const std::string_view text = args[0].text();
  const auto size = static_cast<std::int64_t>(code_points(text));
  const std::int64_t start = args[1].as_int(), end = args.size() == 3 ? args[2].as_int() : size;
  if (args.size() == 3 && start > end)
    return fail(memory, fmt::format("invalid substring range. start: {}, end: {}", start, end));
  if (start < 0 || start > size) return out_of_range(start, memory);
  if (end < 0 || end > size) return out_of_range(end, memory);
  const std::size_t from = byte_of(text, start);
  return Value::string(text.substr(from, byte_of(text.substr(from), end - start)));
}

/// Unicode's white space.
bool blank(std::string_view c) {
  if (c.size() == 1) return c == " " || (c[0] >= '\t' && c[0] <= '\r');
  static constexpr std::string_view kBlanks[] = {
      "\u0085", "\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
      "\u2007", "\u2008", "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};
  return std::find(std::begin(kBlanks), std::end(kBlanks), c) != std::end(kBlanks);
}

Value trim(Args args, Memory&) {
  std::string_view text = args[0].text();
  while (!text.empty()) {
    const std::size_t size = byte_of(text, 1);
    if (!blank(text.substr(0, size))) break;
    text.remove_prefix(size);
  }
  while (!text.empty()) {
    std::size_t from = text.size() - 1;
    while (from > 0 && (text[from] & 0xC0) == 0x80) --from;
    if (!blank(text.substr(from))) break;
    text.remove_suffix(text.size() - from);
  }
  return Value::string(text);
}

Value join(Args args, Memory& memory) {
  const Value list = args[0];
  const std::string_view separator = args.size() == 2 ? args[1].text() : std::string_view{};
  std::string out;
  for (std::uint32_t i = 0; i < list.count(); ++i) {
    const Value item = element(list, i, memory);
    if (item.is_error()) return item;
    if (!is_text(item)) return fail(memory, fmt::format("join: invalid input: {}", to_string(item, memory)));
    if (i != 0) out += separator;
    out += item.text();
    if (out.size() > Memory::kMaxBytes) return out_of_memory();
  }
  return copy_string(out, memory);
}

Value quote(Args args, Memory& memory) {
  std::string out = "\"";
  for (const char c : args[0].text()) {
    static constexpr std::string_view kPlain = "\a\b\f\n\r\t\v\\\"", kNames = "abfnrtv\\\"";
    const std::size_t at = kPlain.find(c);
    if (at == kNowhere)
      out += c;
    else
      (out += '\\') += kNames[at];
  }
  return copy_string(out + '"', memory);
}

Value format(Args args, Memory& memory) { return format_text(args[0].text(), args[1], memory); }

}  // namespace

std::span<const Declaration> string_table() {
  static constexpr Declaration kRows[] = {
      {"contains", "contains_string", "string.(string) -> bool", contains},
      {"endsWith", "ends_with_string", "string.(string) -> bool", ends_with},
      {"startsWith", "starts_with_string", "string.(string) -> bool", starts_with},
      {"charAt", "string_char_at_int", "string.(int) -> string", char_at},
      {"indexOf", "string_index_of_string", "string.(string) -> int", index_of},
      {"indexOf", "string_index_of_string_int", "string.(string, int) -> int", index_of},
      {"lastIndexOf", "string_last_index_of_string", "string.(string) -> int", last_index_of},
      {"lastIndexOf", "string_last_index_of_string_int", "string.(string, int) -> int", last_index_of},
      {"lowerAscii", "string_lower_ascii", "string.() -> string", shifted<'A', 'Z', 'a' - 'A'>},
      {"upperAscii", "string_upper_ascii", "string.() -> string", shifted<'a', 'z', 'A' - 'a'>},
      {"replace", "string_replace_string_string", "string.(string, string) -> string", replace},
      {"replace", "string_replace_string_string_int", "string.(string, string, int) -> string", replace},
      {"split", "string_split_string", "string.(string) -> list(string)", split},
      {"split", "string_split_string_int", "string.(string, int) -> list(string)", split},
      {"substring", "string_substring_int", "string.(int) -> string", substring},
      {"substring", "string_substring_int_int", "string.(int, int) -> string", substring},
      {"trim", "string_trim", "string.() -> string", trim},
      {"join", "list_join", "list(string).() -> string", join},
      {"join", "list_join_string", "list(string).(string) -> string", join},
      {"strings.quote", "strings_quote", "(string) -> string", quote},
      {"format", "string_format", "string.(list(dyn)) -> string", format},
  };
  return kRows;
}

}  // namespace koord::cel
