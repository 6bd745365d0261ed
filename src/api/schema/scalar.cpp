#include "scalar.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "koord/api/values/int_or_string.hpp"
#include "koord/api/values/quantity.hpp"
#include "koord/api/values/time.hpp"
#include "koord/json/writer.hpp"
#include "value_writer.hpp"

namespace koord::api {
namespace {

template <class T>
T& as(void* value) {
  return *static_cast<T*>(value);
}
template <class T>
const T& as(const void* value) {
  return *static_cast<const T*>(value);
}

template <class T>
Result<bool> read_integer(void* value, std::string_view text) {
  T number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure == std::errc::result_out_of_range)
    return Error(Code::parse, fmt::format("{} does not fit {} bits", text, sizeof(T) * 8));
  if (failure != std::errc() || end != text.data() + text.size())
    return Error(Code::parse, fmt::format("{} is no integer", text));
  as<T>(value) = number;
  return true;
}

template <class T>
Result<bool> read_text(void* value, std::string_view text) {
  auto parsed = T::parse(text);
  if (!parsed) return std::move(parsed).error();
  as<T>(value) = std::move(*parsed);
  return true;
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

}  // namespace

Result<bool> read_scalar(const Type& type, void* value, Token token, std::string_view text) {
  switch (type.kind) {
    case TypeKind::boolean:
      if (token != Token::boolean) return false;
      as<bool>(value) = text == "true";
      return true;
    case TypeKind::int32: return token == Token::number ? read_integer<int32_t>(value, text) : false;
    case TypeKind::int64: return token == Token::number ? read_integer<int64_t>(value, text) : false;
    case TypeKind::float64:
      if (token != Token::number) return false;
      as<double>(value) = std::strtod(std::string(text).c_str(), nullptr);
      return true;
    case TypeKind::string:
      if (token != Token::string) return false;
      as<std::string>(value) = std::string(text);  // of the exact size, assign() may take more
      return true;
    case TypeKind::symbol:
      if (token != Token::string) return false;
      as<Symbol>(value) = Symbol(text);
      return true;
    case TypeKind::quantity:
      if (token == Token::boolean) return false;
      return read_text<Quantity>(value, trimmed(text));
    case TypeKind::time: return token == Token::string ? read_text<Time>(value, text) : false;
    case TypeKind::micro_time: return token == Token::string ? read_text<MicroTime>(value, text) : false;
    case TypeKind::duration: return token == Token::string ? read_text<Duration>(value, text) : false;
    case TypeKind::int_or_string: {
      if (token == Token::boolean) return false;
      if (token == Token::string) {
        as<IntOrString>(value) = IntOrString(Symbol(text));
        return true;
      }
      int32_t number = 0;
      KOORD_CHECK(read_integer<int32_t>(&number, text));
      as<IntOrString>(value) = IntOrString(number);
      return true;
    }
    case TypeKind::raw: {
      std::string& raw = as<RawJson>(value).text;
      raw.clear();
      if (token == Token::string)
        json::append_string(raw, text);
      else
        raw = text;
      return true;
    }
    case TypeKind::structure:
    case TypeKind::list:
    case TypeKind::map:
    case TypeKind::optional: break;
  }
  return false;
}

template <class Out>
void write_scalar(Out& json, const Type& type, const void* value) {
  switch (type.kind) {
    case TypeKind::boolean: json.value(as<bool>(value)); break;
    case TypeKind::int32: json.value(as<int32_t>(value)); break;
    case TypeKind::int64: json.value(as<int64_t>(value)); break;
    case TypeKind::float64: json.value(std::isfinite(as<double>(value)) ? as<double>(value) : 0.0); break;
    case TypeKind::string: json.value(as<std::string>(value)); break;
    case TypeKind::symbol: json.value(as<Symbol>(value).view()); break;
    case TypeKind::quantity: json.value(as<Quantity>(value).to_string()); break;
    case TypeKind::time: json.value(as<Time>(value).to_string()); break;
    case TypeKind::micro_time: json.value(as<MicroTime>(value).to_string()); break;
    case TypeKind::duration: json.value(as<Duration>(value).to_string()); break;
    case TypeKind::int_or_string:
      if (as<IntOrString>(value).is_string())
        json.value(as<IntOrString>(value).string_value().view());
      else
        json.value(as<IntOrString>(value).int_value());
      break;
    case TypeKind::raw: json.raw(as<RawJson>(value).empty() ? "null" : as<RawJson>(value).text); break;
    case TypeKind::structure:
    case TypeKind::list:
    case TypeKind::map:
    case TypeKind::optional: break;
  }
}

template void write_scalar(json::Writer& json, const Type& type, const void* value);
template void write_scalar(ValueWriter& json, const Type& type, const void* value);

bool empty_scalar(const Type& type, const void* value) {
  switch (type.kind) {
    case TypeKind::boolean: return !as<bool>(value);
    case TypeKind::int32: return as<int32_t>(value) == 0;
    case TypeKind::int64: return as<int64_t>(value) == 0;
    case TypeKind::float64: return as<double>(value) == 0;
    case TypeKind::string: return as<std::string>(value).empty();
    case TypeKind::symbol: return as<Symbol>(value).empty();
    case TypeKind::quantity: return as<Quantity>(value).is_zero();
    case TypeKind::time: return as<Time>(value) == Time();
    case TypeKind::micro_time: return as<MicroTime>(value) == MicroTime();
    case TypeKind::duration: return as<Duration>(value) == Duration();
    case TypeKind::int_or_string: return as<IntOrString>(value) == IntOrString();
    case TypeKind::raw: return as<RawJson>(value).empty();
    case TypeKind::structure:
    case TypeKind::list:
    case TypeKind::map:
    case TypeKind::optional: break;
  }
  return false;
}

bool equal_scalar(const Type& type, const void* a, const void* b) {
  switch (type.kind) {
    case TypeKind::boolean: return as<bool>(a) == as<bool>(b);
    case TypeKind::int32: return as<int32_t>(a) == as<int32_t>(b);
    case TypeKind::int64: return as<int64_t>(a) == as<int64_t>(b);
    case TypeKind::float64: return as<double>(a) == as<double>(b);
    case TypeKind::string: return as<std::string>(a) == as<std::string>(b);
    case TypeKind::symbol: return as<Symbol>(a) == as<Symbol>(b);
    case TypeKind::quantity: return as<Quantity>(a) == as<Quantity>(b);
    case TypeKind::time: return as<Time>(a) == as<Time>(b);
    case TypeKind::micro_time: return as<MicroTime>(a) == as<MicroTime>(b);
    case TypeKind::duration: return as<Duration>(a) == as<Duration>(b);
    case TypeKind::int_or_string: return as<IntOrString>(a) == as<IntOrString>(b);
    case TypeKind::raw: return as<RawJson>(a) == as<RawJson>(b);
    case TypeKind::structure:
    case TypeKind::list:
    case TypeKind::map:
    case TypeKind::optional: break;
  }
  return false;
}

}  // namespace koord::api
