#include "koord/json/writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "koord/json/value.hpp"
#include "scan.hpp"

namespace koord::json {

void append_string(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  out.push_back('"');
  const char* plain = text.data();  // start of what is not copied yet
  const char* const end = text.data() + text.size();
  for (const char* at = plain; (at = find_special(at, end)) != end;) {
    const auto c = static_cast<unsigned char>(*at);
    if (c >= 0x80) {
      if (const int length = utf8_length(at, end); length != 0) {
        at += length;
        continue;
      }
    }
    out.append(plain, at);
    plain = ++at;
    switch (c) {
      case '"': out.append("\\\""); break;
      case '\\': out.append("\\\\"); break;
      case '\n': out.append("\\n"); break;
      case '\r': out.append("\\r"); break;
      case '\t': out.append("\\t"); break;
      default:
        if (c >= 0x80) {
          out.append("\xef\xbf\xbd");
          break;
        }
        out.append("\\u00");
        out.push_back(kHex[c >> 4]);
        out.push_back(kHex[c & 15]);
    }
  }
  out.append(plain, end);
  out.push_back('"');
}

void append_number(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out.append("null");
    return;
  }
  char buffer[32];
  const auto [end, failure] =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  std::string_view text(buffer, static_cast<std::size_t>(end - buffer));  // -1.25e-07
  if (text.front() == '-') {
    out.push_back('-');
    text.remove_prefix(1);
  }
  const auto e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), end, exponent);
  if (value != 0 && (exponent < -6 || exponent >= 21)) {
    fmt::format_to(std::back_inserter(out), "{}e{:+}", text.substr(0, e), exponent);
    return;
  }
  std::string digits(text.substr(0, 1));
  if (e > 1) digits.append(text.substr(2, e - 2));
  const auto whole = static_cast<std::size_t>(std::max(exponent + 1, 0));  // how many stand before the point
  if (exponent < 0) digits.insert(0, static_cast<std::size_t>(-exponent - 1), '0');
  if (digits.size() < whole) digits.append(whole - digits.size(), '0');
  out.append(whole == 0 ? "0" : std::string_view(digits).substr(0, whole));
  if (digits.size() > whole) out.append(".").append(digits, whole);
}

void append(std::string& out, const Value& value) {
  switch (value.type()) {
    case Type::null: out.append("null"); break;
    case Type::boolean: out.append(value.is_true() ? "true" : "false"); break;
    case Type::string: append_string(out, value.text()); break;
    case Type::number:
      if (const auto whole = value.to_int())
        fmt::format_to(std::back_inserter(out), "{}", *whole);
      else if (const auto large = value.to_uint())
        fmt::format_to(std::back_inserter(out), "{}", *large);
      else
        append_number(out, *value.to_double());
      break;
    case Type::array: {
      char separator = '[';
      for (const Value& element : value.elements()) {
        out.push_back(std::exchange(separator, ','));
        append(out, element);
      }
      out.append(separator == '[' ? "[]" : "]");
      break;
    }
    case Type::object: {
      char separator = '{';
      for (const Member& member : value.members()) {
        out.push_back(std::exchange(separator, ','));
        append_string(out, member.key());
        out.push_back(':');
        append(out, member.value);
      }
      out.append(separator == '{' ? "{}" : "}");
      break;
    }
  }
}

std::string to_text(const Value& value) {
  std::string out;
  append(out, value);
  return out;
}

std::string quote(std::string_view text) {
  std::string out;
  append_string(out, text);
  return out;
}

Writer& Writer::key(std::string_view name) {
  separate();
  append_string(out_, name);
  out_.push_back(':');
  return *this;
}

Writer& Writer::value(double value) {
  separate();
  append_number(out_, value);
  return *this;
}

Writer& Writer::value(std::string_view text) {
  separate();
  append_string(out_, text);
  return *this;
}

Writer& Writer::value(const Value& value) {
  separate();
  append(out_, value);
  return *this;
}

Writer& Writer::raw(std::string_view json) {
  separate();
  out_.append(json);
  return *this;
}

Writer& Writer::integer(std::int64_t value) {
  separate();
  fmt::format_to(std::back_inserter(out_), "{}", value);
  return *this;
}

Writer& Writer::natural(std::uint64_t value) {
  separate();
  fmt::format_to(std::back_inserter(out_), "{}", value);
  return *this;
}

}  // namespace koord::json
