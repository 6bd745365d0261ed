#include "cel/library/string_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "cel/values/json_formats.hpp"
#include "cel/values/representation.hpp"

namespace koord::cel {
namespace {

constexpr int kMostDigits = 1'000;

Error unformattable(char verb, std::string_view type) {
  return Error(Code::invalid,
               fmt::format("error during formatting: {}, was given {}", clause_takes(verb), type));
}

std::string_view type_name(Value value) { return name_of(runtime_type(value)); }

std::string fixed(double value, int digits) { return fmt::format("{:.{}f}", value, digits); }

/// An element of a list or a map, quoted as a literal would be.
Result<std::string> nested(Value value, Memory& memory);

Result<std::string> plain(Value value, Memory& memory) {
  switch (value.kind()) {
    case Kind::list: {
      std::string out = "[";
      for (std::uint32_t i = 0; i < value.count(); ++i) {
        // What is too long exhausts the memory, though it lies elsewhere.
        if (!memory.step(out.size() > Memory::kMaxBytes ? Memory::kMaxSteps : 1))
          return Error(Code::invalid, std::string(out_of_memory().fault().message));
        KOORD_TRY(text, nested(element(value, i, memory), memory));
        out += (i != 0 ? ", " : "") + text;
      }
      return out + ']';
    }
    case Kind::map: {
      std::vector<std::pair<std::string, std::string>> pairs;
      for (std::uint32_t i = 0; i < value.count(); ++i) {
        if (!memory.step()) return Error(Code::invalid, std::string(out_of_memory().fault().message));
        const auto pair = entry(value, i, memory);
        if (!pair) continue;
        KOORD_TRY(key, nested(pair->first, memory));
        KOORD_TRY(text, nested(pair->second, memory));
        pairs.emplace_back(std::move(key), std::move(text));
      }
      std::sort(pairs.begin(), pairs.end());
      std::string out = "{";
      for (const auto& [key, text] : pairs)
        out += fmt::format("{}{}:{}", out.size() > 1 ? ", " : "", key, text);
      return out + '}';
    }
    case Kind::integer:
    case Kind::unsigned_integer:
    case Kind::real:
    case Kind::boolean:
    case Kind::string:
    case Kind::bytes:
    case Kind::timestamp:
    case Kind::duration:
    case Kind::type:
    case Kind::null: return to_string(value, memory);
    default: return unformattable('s', type_name(value));
  }
}

Result<std::string> nested(Value value, Memory& memory) {
  switch (value.kind()) {
    case Kind::real: {
      if (!std::isfinite(value.as_real()))
        return go_quoted(std::isnan(value.as_real()) ? "NaN" : value.as_real() < 0 ? "-Inf" : "+Inf");
      return fixed(value.as_real(), 6);
    }
    case Kind::timestamp: return fmt::format("timestamp({})", go_quoted(timestamp_text(value)));
    case Kind::duration: return fmt::format("duration({})", go_quoted(duration_text(value.as_int())));
    case Kind::string: return go_quoted(value.text());
    case Kind::bytes: return "b" + go_quoted(value.text());
    default: return plain(value, memory);
  }
}

std::string real_form(double value, char verb, int digits) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-∞" : "∞";
  if (verb == 'e') {
    std::string text = fmt::format("{:.{}e}", value, digits);
    // English typography, as Go's printer of messages has it: 1.5 × 10⁶.
    const std::size_t mark = text.find('e');
    std::string exponent;
    for (const char c : text.substr(mark + 1)) {
      static constexpr std::string_view kRaised[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
      if (c == '-') exponent += "⁻";
      if (c >= '0' && c <= '9') exponent += kRaised[static_cast<std::size_t>(c - '0')];
    }
    return fmt::format("{}×10{}", text.substr(0, mark), exponent);
  }
  std::string text = fixed(value, digits);
  const std::size_t from = text.starts_with('-') ? 1 : 0;
  std::size_t point = std::min(text.find('.'), text.size());
  while (point > from + 3) text.insert(point -= 3, ",");
  return text;
}

template <class Number>
std::string in_base(Number value, int base, bool upper) {
  char buffer[72];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value, base);
  std::string text(buffer, end.ptr);
  if (upper)
    std::transform(text.begin(), text.end(), text.begin(),
                   [](char c) { return c >= 'a' && c <= 'f' ? static_cast<char>(c - 32) : c; });
  return text;
}

std::string hex_bytes(std::string_view bytes, bool upper) {
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += upper ? fmt::format("{:02X}", byte) : fmt::format("{:02x}", byte);
  }
  return out;
}

Result<std::string> clause(const FormatPart& part, Value value, Memory& memory) {
  const bool is_int = value.kind() == Kind::integer, is_uint = value.kind() == Kind::unsigned_integer;
  const auto based = [&](int base, bool upper) {
    return is_int ? in_base(value.as_int(), base, upper) : in_base(value.as_uint(), base, upper);
  };
  switch (part.verb) {
    case 's': return plain(value, memory);
    case 'd':
      if (is_int || is_uint) return based(10, false);
      break;
    case 'f':
    case 'e': {
      // Of %e upstream takes the precision for a width.
      const int asked = std::min(part.precision.value_or(6), kMostDigits),
                digits = part.verb == 'e' ? 6 : asked;
      if (value.kind() == Kind::real) return real_form(value.as_real(), part.verb, digits);
      if (value.kind() != Kind::string) break;
      if (value.text() == "NaN") return real_form(NAN, part.verb, digits);
      if (value.text() == "Infinity") return real_form(INFINITY, part.verb, digits);
      if (value.text() == "-Infinity") return real_form(-INFINITY, part.verb, digits);
      break;
    }
    case 'b':
      if (is_int || is_uint) return based(2, false);
      if (value.kind() == Kind::boolean) return std::string(value.as_bool() ? "1" : "0");
      break;
    case 'o':
      if (is_int || is_uint) return based(8, false);
      break;
    default:
      if (is_int || is_uint) return based(16, part.verb == 'X');
      if (value.kind() == Kind::string || value.kind() == Kind::bytes)
        return hex_bytes(value.text(), part.verb == 'X');
  }
  return unformattable(part.verb, type_name(value));
}

}  // namespace

std::string_view clause_takes(char verb) {
  switch (verb) {
    case 's':
      return "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, "
             "durations, and timestamps";
    case 'd': return "decimal clause can only be used on integers";
    case 'f': return "fixed-point clause can only be used on doubles";
    case 'e': return "scientific clause can only be used on doubles";
    case 'b': return "only integers and bools can be formatted as binary";
    case 'o': return "octal clause can only be used on integers";
    default: return "only integers, byte buffers, and strings can be formatted as hex";
  }
}

Result<FormatPart> next_part(std::string_view& format) {
  FormatPart part;
  if (format[0] != '%') {
    part.text = format.substr(0, format.find('%'));
    format.remove_prefix(part.text.size());
    return part;
  }
  if (format.starts_with("%%")) {
    part.text = format.substr(0, 1);
    format.remove_prefix(2);
    return part;
  }
  const auto wrong = [](std::string_view why) {
    return Error(Code::invalid, fmt::format("could not parse formatting clause: {}", why));
  };
  if (format.size() == 1) return Error(Code::invalid, "unexpected end of string");
  std::size_t at = 1;
  if (format[at] == '.') {
    const std::size_t from = ++at;
    while (at < format.size() && format[at] >= '0' && format[at] <= '9') ++at;
    if (at == format.size())
      return wrong("error while parsing precision: could not find end of precision specifier");
    int digits = 0;
    if (std::from_chars(format.data() + from, format.data() + at, digits).ec != std::errc())
      return wrong(
          fmt::format("error while parsing precision: error while converting precision to integer: "
                      "strconv.Atoi: parsing {}: invalid syntax",
                      go_quoted(format.substr(from, at - from))));
    part.precision = digits;
  }
  part.verb = format[at];
  if (std::string_view("sdfebxXo").find(part.verb) == std::string_view::npos)
    return wrong(fmt::format("unrecognized formatting clause \"{}\"", part.verb));
  format.remove_prefix(at + 1);
  return part;
}

Value format_text(std::string_view format, Value args, Memory& memory) {
  std::string out;
  std::uint32_t next = 0;
  while (!format.empty()) {
    if (format[0] == '%' && !format.starts_with("%%") && next >= args.count())
      return fail(memory, fmt::format("index {} out of range", next));
    const auto part = next_part(format);
    if (!part) return fail(memory, part.error().message());
    if (part->verb == 0) {
      out += part->text;
    } else {
      const auto text = clause(*part, element(args, next++, memory), memory);
      if (memory.exhausted()) return out_of_memory();
      if (!text) return fail(memory, text.error().message());
      out += *text;
    }
    if (out.size() > Memory::kMaxBytes) return out_of_memory();
  }
  return copy_string(out, memory);
}

}  // namespace koord::cel
