#include "koord/api/values/int_or_string.hpp"

#include <charconv>

namespace koord::api {

namespace {

enum class AtoiError { none, syntax, range };

/// Go's strconv.Atoi: an optional sign and decimal digits, 64 bits.
AtoiError atoi(std::string_view text, std::int64_t& out) {
  std::string_view digits = text;
  if (!digits.empty() && (digits.front() == '+' || digits.front() == '-')) digits.remove_prefix(1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos)
    return AtoiError::syntax;
  if (text.front() == '+') text.remove_prefix(1);
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), out);
  return ec == std::errc() ? AtoiError::none : AtoiError::range;
}

}  // namespace

std::int32_t IntOrString::to_int() const {
  if (!is_string_) return int_;
  std::int64_t value = 0;
  if (atoi(text_.view(), value) != AtoiError::none || value != static_cast<std::int32_t>(value)) return 0;
  return static_cast<std::int32_t>(value);
}

std::string IntOrString::to_string() const { return is_string_ ? text_.str() : std::to_string(int_); }

Result<std::int64_t> IntOrString::scaled(std::int64_t total, bool round_up) const {
  if (!is_string_) return int_;
  const std::string prefix = "invalid value for IntOrString: ";
  std::string_view digits = text_.view();
  if (!digits.ends_with('%'))
    return Error(Code::invalid, prefix + "invalid type: string is not a percentage");
  digits.remove_suffix(1);
  std::int64_t percent = 0;
  if (const AtoiError e = atoi(digits, percent); e != AtoiError::none) {
    return Error(Code::invalid,
                 prefix + "invalid value \"" + text_.str() + "\": strconv.Atoi: parsing \"" +
                     std::string(digits) +
                     (e == AtoiError::syntax ? "\": invalid syntax" : "\": value out of range"));
  }
  const __int128 product = static_cast<__int128>(percent) * total;
  __int128 quotient = product / 100;
  const auto rest = product % 100;
  if (round_up && rest > 0) ++quotient;
  if (!round_up && rest < 0) --quotient;
  if (quotient != static_cast<std::int64_t>(quotient))
    return Error(Code::invalid,
                 prefix + "\"" + text_.str() + "\" of " + std::to_string(total) + " is out of range");
  return static_cast<std::int64_t>(quotient);
}

}  // namespace koord::api
