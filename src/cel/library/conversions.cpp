// Conversions between types: int("1"), string(1.5), timestamp("...").
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "cel/library/tables.hpp"
#include "cel/values/json_formats.hpp"
#include "cel/values/representation.hpp"
#include "koord/api/values/time.hpp"
#include "koord/base/utf8.hpp"

namespace koord::cel {
namespace {

using Args = std::span<const Value>;

Value no_conversion(std::string_view from, std::string_view to, Memory& memory) {
  return fail(memory, fmt::format("type conversion error from '{}' to '{}'", from, to));
}

/// Made of characters alone.
bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = utf8_length(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

Value same(Args args, Memory&) { return args[0]; }

Value to_bool(Args args, Memory& memory) {
  const std::string_view text = args[0].text();
  for (const std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"})
    if (text == yes) return Value::boolean(true);
  for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"})
    if (text == no) return Value::boolean(false);
  return no_conversion("string", "bool", memory);
}

Value to_bytes(Args args, Memory&) { return Value::bytes(args[0].text()); }

/// Go's ParseFloat, but for underscores and hexadecimal numbers.
std::optional<double> number(std::string_view text) {
  const bool sign = text.starts_with('+') || text.starts_with('-');
  std::string_view digits = sign ? text.substr(1) : text;
  if (digits.empty() || digits[0] == '-' || digits[0] == '+') return std::nullopt;
  double value = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (end.ec == std::errc::result_out_of_range)
    value = std::strtod(std::string(digits).c_str(), nullptr);  // what is too small is 0
  const bool good = end.ec == std::errc() || (end.ec == std::errc::result_out_of_range && !std::isinf(value));
  if (!good || end.ptr != digits.data() + digits.size()) return std::nullopt;
  return text[0] == '-' ? -value : value;
}

Value to_double(Args args, Memory& memory) {
  switch (args[0].kind()) {
    case Kind::integer: return Value::real(static_cast<double>(args[0].as_int()));
    case Kind::unsigned_integer: return Value::real(static_cast<double>(args[0].as_uint()));
    default:
      if (const auto value = number(args[0].text())) return Value::real(*value);
      return no_conversion("string", "double", memory);
  }
}

template <class Whole>
std::optional<Whole> whole(std::string_view text) {
  const bool plus = text.starts_with('+');
  if (plus && std::is_unsigned_v<Whole>) return std::nullopt;
  if (plus) text.remove_prefix(1);
  if (plus && text.starts_with('-')) return std::nullopt;
  Whole value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

Value to_int(Args args, Memory& memory) {
  const Value value = args[0];
  switch (value.kind()) {
    case Kind::real:
      if (!(value.as_real() > -0x1p63 && value.as_real() < 0x1p63)) return fail(memory, "integer overflow");
      return Value::integer(static_cast<std::int64_t>(value.as_real()));
    case Kind::unsigned_integer:
      if (value.as_uint() > INT64_MAX) return fail(memory, "integer overflow");
      return Value::integer(value.as_int());
    case Kind::duration:
    case Kind::timestamp: return Value::integer(value.as_int());
    default:
      if (const auto parsed = whole<std::int64_t>(value.text())) return Value::integer(*parsed);
      return no_conversion("string", "int", memory);
  }
}

Value to_uint(Args args, Memory& memory) {
  const Value value = args[0];
  switch (value.kind()) {
    case Kind::real:
      if (!(value.as_real() >= 0 && value.as_real() < 0x1p64))
        return fail(memory, "unsigned integer overflow");
      return Value::unsigned_integer(static_cast<std::uint64_t>(value.as_real()));
    case Kind::integer:
      if (value.as_int() < 0) return fail(memory, "unsigned integer overflow");
      return Value::unsigned_integer(value.as_uint());
    default:
      if (const auto parsed = whole<std::uint64_t>(value.text())) return Value::unsigned_integer(*parsed);
      return no_conversion("string", "uint", memory);
  }
}

Value to_duration(Args args, Memory& memory) {
  // Declared, and never possible.
  if (args[0].kind() == Kind::integer) return no_conversion("int", "google.protobuf.Duration", memory);
  if (const auto parsed = api::Duration::parse(args[0].text())) return Value::duration(parsed->value.count());
  return no_conversion("string", "google.protobuf.Duration", memory);
}

Value to_timestamp(Args args, Memory& memory) {
  if (args[0].kind() == Kind::integer) {
    const std::int64_t seconds = args[0].as_int();
    if (seconds < kFirstSecond || seconds > kLastSecond) return fail(memory, "timestamp overflow");
    return Value::timestamp(seconds, 0);
  }
  const auto parsed = parse_timestamp(args[0].text());
  if (!parsed) return no_conversion("string", "google.protobuf.Timestamp", memory);
  if (parsed->as_int() < kFirstSecond || parsed->as_int() > kLastSecond)
    return fail(memory, "timestamp overflow");
  return *parsed;
}

Value to_string_value(Args args, Memory& memory) { return to_text(args[0], memory); }

}  // namespace

Value to_text(Value value, Memory& memory) {
  switch (value.kind()) {
    case Kind::string: return value;
    case Kind::bytes:
      if (!is_utf8(value.text())) return fail(memory, "invalid UTF-8 in bytes, cannot convert to string");
      return Value::string(value.text());
    default: return copy_string(to_string(value, memory), memory);
  }
}

std::span<const Declaration> conversion_table() {
  static constexpr Declaration kRows[] = {
      {"bool", "bool_to_bool", "(bool) -> bool", same},
      {"bool", "string_to_bool", "(string) -> bool", to_bool},
      {"bytes", "bytes_to_bytes", "(bytes) -> bytes", same},
      {"bytes", "string_to_bytes", "(string) -> bytes", to_bytes},
      {"double", "double_to_double", "(double) -> double", same},
      {"double", "int64_to_double", "(int) -> double", to_double},
      {"double", "string_to_double", "(string) -> double", to_double},
      {"double", "uint64_to_double", "(uint) -> double", to_double},
      {"duration", "duration_to_duration", "(duration) -> duration", same},
      {"duration", "int64_to_duration", "(int) -> duration", to_duration},
      {"duration", "string_to_duration", "(string) -> duration", to_duration},
      {"int", "int64_to_int64", "(int) -> int", same},
      {"int", "double_to_int64", "(double) -> int", to_int},
      {"int", "duration_to_int64", "(duration) -> int", to_int},
      {"int", "string_to_int64", "(string) -> int", to_int},
      {"int", "timestamp_to_int64", "(timestamp) -> int", to_int},
      {"int", "uint64_to_int64", "(uint) -> int", to_int},
      {"string", "string_to_string", "(string) -> string", same},
      {"string", "bool_to_string", "(bool) -> string", to_string_value},
      {"string", "bytes_to_string", "(bytes) -> string", to_string_value},
      {"string", "double_to_string", "(double) -> string", to_string_value},
      {"string", "duration_to_string", "(duration) -> string", to_string_value},
      {"string", "int64_to_string", "(int) -> string", to_string_value},
      {"string", "timestamp_to_string", "(timestamp) -> string", to_string_value},
      {"string", "uint64_to_string", "(uint) -> string", to_string_value},
      {"string", "ip_to_string", "(ip) -> string", to_string_value},
      {"string", "cidr_to_string", "(cidr) -> string", to_string_value},
      {"timestamp", "timestamp_to_timestamp", "(timestamp) -> timestamp", same},
      {"timestamp", "int64_to_timestamp", "(int) -> timestamp", to_timestamp},
      {"timestamp", "string_to_timestamp", "(string) -> timestamp", to_timestamp},
      {"uint", "uint64_to_uint64", "(uint) -> uint", same},
      {"uint", "double_to_uint64", "(double) -> uint", to_uint},
      {"uint", "int64_to_uint64", "(int) -> uint", to_uint},
      {"uint", "string_to_uint64", "(string) -> uint", to_uint},
  };
  return kRows;
}

}  // namespace koord::cel
