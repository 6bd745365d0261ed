// The texts of flag values.
#include "flag_value.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "koord/api/values/time.hpp"

namespace koord::runtime {
namespace {

Result<std::int64_t> parse_integer(std::string_view text) {
  std::string_view digits = text;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  int base = 10;
  if (digits.size() > 2 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
    base = 16;
    digits.remove_prefix(2);
  }
  std::string number = (negative ? "-" : "") + std::string(digits);
  std::int64_t value = 0;
  const auto [end, ec] = std::from_chars(number.data(), number.data() + number.size(), value, base);
  if (ec == std::errc::result_out_of_range) return Error(Code::invalid, "the number is out of range");
  if (ec != std::errc() || end != number.data() + number.size() || digits.starts_with('-'))
    return Error(Code::invalid, "not a whole number");
  return value;
}

Result<double> parse_real(std::string_view text) {
  double value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return Error(Code::invalid, "not a number");
  return value;
}

template <class Each>
Result<> split(std::string_view text, Each each) {
  if (text.empty()) return {};
  while (true) {
    const auto comma = text.find(',');
    KOORD_CHECK(each(text.substr(0, comma)));
    if (comma == std::string_view::npos) return {};
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

Result<bool> parse_bool(std::string_view text) {
  for (const std::string_view yes : {"true", "True", "TRUE", "t", "T", "1"})
    if (text == yes) return true;
  for (const std::string_view no : {"false", "False", "FALSE", "f", "F", "0"})
    if (text == no) return false;
  return Error(Code::invalid, "not true or false");
}

Result<> set_flag_value(FlagValues::Value& value, std::string_view text) {
  switch (value.flag->type) {
    case FlagType::boolean: {
      KOORD_TRY(truth, parse_bool(text));
      value.truth = truth;
      return {};
    }
    case FlagType::integer: {
      KOORD_TRY(number, parse_integer(text));
      value.integer = number;
      return {};
    }
    case FlagType::real: {
      KOORD_TRY(number, parse_real(text));
      value.real = number;
      return {};
    }
    case FlagType::duration: {
      const auto duration = api::Duration::parse(text);
      if (!duration) return Error(Code::invalid, "not a duration such as 1h30m, 10s or 500ms");
      value.duration = duration->value;
      return {};
    }
    case FlagType::text: value.text = text; return {};
    case FlagType::list: {
      if (!value.changed) value.list.clear();
      return split(text, [&](std::string_view item) -> Result<> {
        value.list.emplace_back(item);
        return {};
      });
    }
    case FlagType::pairs: {
      if (!value.changed) value.pairs.clear();
      return split(text, [&](std::string_view item) -> Result<> {
        const auto equals = item.find('=');
        if (equals == std::string_view::npos || equals == 0)
          return Error(Code::invalid, fmt::format("\"{}\" is not KEY=VALUE", item));
        value.pairs.insert_or_assign(std::string(item.substr(0, equals)),
                                     std::string(item.substr(equals + 1)));
        return {};
      });
    }
  }
  return {};
}

}  // namespace koord::runtime
