#include "cel/library/regex.hpp"

#include <fmt/format.h>

#include "cel/library/tables.hpp"
#include "cel/values/representation.hpp"
#include "koord/base/utf8.hpp"

namespace koord::cel {
namespace {

using Args = std::span<const Value>;

/// A pattern that is made as the expression runs; how often that is the cost bounds, what it takes this.
Result<Pattern> compiled(Value pattern, Memory& memory) {
  if (!memory.step(500 + pattern.text().size()))
    return Error(Code::invalid, std::string(out_of_memory().fault().message));
  return Pattern::compile(pattern.text(), kPatternMemory);
}

Value failure(const Error& error, std::string_view prefix, Memory& memory) {
  if (memory.exhausted()) return out_of_memory();
  return fail(memory, fmt::format("{}{}", prefix, error.message()));
}

Value matches(Args args, Memory& memory) {
  if (args[0].kind() != Kind::string || args[1].kind() != Kind::string) return no_such_overload();
  const auto pattern = compiled(args[1], memory);
  if (!pattern) return failure(pattern.error(), "", memory);
  return Value::boolean(pattern->found_in(args[0].text()));
}

Value find(Args args, Memory& memory) {
  const auto pattern = compiled(args[1], memory);
  if (!pattern) return failure(pattern.error(), "Illegal regex: ", memory);
  return find_first(*pattern, args[0].text());
}

Value find_every(Args args, Memory& memory) {
  const auto pattern = compiled(args[1], memory);
  if (!pattern) return failure(pattern.error(), "Illegal regex: ", memory);
  return find_all(*pattern, args[0].text(), args.size() == 3 ? args[2].as_int() : -1, memory);
}

}  // namespace

Value find_first(const Pattern& pattern, std::string_view text) {
  return Value::string(pattern.find(text).value_or(std::string_view{}));
}

Value find_all(const Pattern& pattern, std::string_view text, std::int64_t most, Memory& memory) {
  Value list = empty_list();
  std::size_t at = 0, last_end = std::string_view::npos;
  while (at <= text.size() && (most < 0 || static_cast<std::int64_t>(list.count()) < most) &&
         !list.is_error()) {
    // Each look is linear in what is left, which bounds what many short matches of a long text may take.
    if (!memory.step()) return out_of_memory();
    const auto found = pattern.find(text, at);
    if (!found) break;
    const auto begin = static_cast<std::size_t>(found->data() - text.data()), end = begin + found->size();
    // As Go does: no empty match just behind another one.
    if (!found->empty() || begin != last_end) list = append(list, Value::string(*found), memory);
    last_end = end;
    at = end > at ? end : at + std::max<std::size_t>(1, utf8_length(text.substr(at)));
  }
  return list;
}

std::span<const Declaration> regex_table() {
  static constexpr Declaration kRows[] = {
      {"matches", "matches", "(string, string) -> bool", matches},
      {"matches", "matches_string", "string.(string) -> bool", matches},
      {"find", "string_find_string", "string.(string) -> string", find},
      {"findAll", "string_find_all_string", "string.(string) -> list(string)", find_every},
      {"findAll", "string_find_all_string_int", "string.(string, int) -> list(string)", find_every},
  };
  return kRows;
}

}  // namespace koord::cel
