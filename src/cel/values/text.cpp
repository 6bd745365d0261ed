// Values as text, and what is counted in text.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cel/values/json_formats.hpp"
#include "cel/values/kubernetes_values.hpp"
#include "cel/values/representation.hpp"
#include "koord/base/utf8.hpp"

namespace koord::cel {

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string real_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Inf" : "+Inf";
  char buffer[400];
  auto end = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<std::size_t>(end.ptr - buffer));
  const std::size_t mark = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + mark + (text[mark + 1] == '+' ? 2 : 1), text.data() + text.size(), exponent);
  if (exponent < -4 || exponent >= 6) return std::string(text);
  end = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed);
  return std::string(buffer, end.ptr);
}

std::string go_quoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    static constexpr std::string_view kPlain = "\"\\\a\b\f\n\r\t\v", kNames = "\"\\abfnrtv";
    const std::size_t size = utf8_length(text.substr(i)), named = kPlain.find(c);
    if (named != std::string_view::npos)
      (out += '\\') += kNames[named];
    else if (size == 0 || static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += text.substr(i, size);
    i += size == 0 ? 1 : size;
  }
  out += '"';
  return out;
}

std::uint64_t actual_size(Value value) {
  switch (value.kind()) {
    case Kind::string: return code_points(value.text());
    case Kind::bytes:
    case Kind::list:
    case Kind::map: return value.count();
    case Kind::ip: return network_of(value).length;
    case Kind::cidr: return (network_of(value).bits + 7u) / 8u;
    default: return 1;
  }
}

const Type& runtime_type(Value value) {
  static const TypeRef kList = list_type(simple_type(TypeKind::dyn));
  static const TypeRef kMap = map_type(simple_type(TypeKind::dyn), simple_type(TypeKind::dyn));
  static const TypeRef kOptional = optional_type(simple_type(TypeKind::dyn));
  static const TypeRef kQuantity = opaque_type("kubernetes.Quantity"), kUrl = opaque_type("kubernetes.URL"),
                       kIp = opaque_type("net.IP"), kCidr = opaque_type("net.CIDR"),
                       kSemver = opaque_type("kubernetes.Semver"),
                       kFormat = opaque_type("kubernetes.NamedFormat");
  switch (value.kind()) {
    case Kind::error: return *simple_type(TypeKind::error);
    case Kind::null: return *simple_type(TypeKind::null);
    case Kind::boolean: return *simple_type(TypeKind::boolean);
    case Kind::integer: return *simple_type(TypeKind::integer);
    case Kind::unsigned_integer: return *simple_type(TypeKind::unsigned_integer);
    case Kind::real: return *simple_type(TypeKind::real);
    case Kind::string: return *simple_type(TypeKind::string);
    case Kind::bytes: return *simple_type(TypeKind::bytes);
    case Kind::list: return *kList;
    case Kind::map: return *kMap;
    case Kind::type: return *simple_type(TypeKind::type);
    case Kind::duration: return *simple_type(TypeKind::duration);
    case Kind::timestamp: return *simple_type(TypeKind::timestamp);
    case Kind::optional: return *kOptional;
    case Kind::quantity: return *kQuantity;
    case Kind::url: return *kUrl;
    case Kind::ip: return *kIp;
    case Kind::cidr: return *kCidr;
    case Kind::semver: return *kSemver;
    case Kind::format: return *kFormat;
  }
  return *simple_type(TypeKind::dyn);
}

std::string to_string(Value value, Memory& memory) {
  std::string out;
  switch (value.kind()) {
    case Kind::error: return std::string(value.fault().message);
    case Kind::null: return "null";
    case Kind::boolean: return value.as_bool() ? "true" : "false";
    case Kind::integer: return std::to_string(value.as_int());
    case Kind::unsigned_integer: return std::to_string(value.as_uint());
    case Kind::real: return real_text(value.as_real());
    case Kind::string:
    case Kind::bytes: return std::string(value.text());
    case Kind::type: return std::string(name_of(value.as_type()));
    case Kind::duration: return duration_text(value.as_int());
    case Kind::timestamp: return timestamp_text(value);
    case Kind::optional:
      return has_value(value) ? fmt::format("optional({})", to_string(optional_value(value), memory))
                              : "optional.none()";
    case Kind::list:
      out = "[";
      for (std::uint32_t i = 0; i < value.count() && memory.step() && out.size() < Memory::kMaxBytes; ++i)
        out += (i ? ", " : "") + to_string(element(value, i, memory), memory);
      return out + ']';
    case Kind::map: {
      out = "{";
      for (std::uint32_t i = 0; i < value.count() && memory.step() && out.size() < Memory::kMaxBytes; ++i)
        if (const auto pair = entry(value, i, memory))
          out += (out.size() > 1 ? ", " : "") + to_string(pair->first, memory) + ": " +
                 to_string(pair->second, memory);
      return out + '}';
    }
    default: return kubernetes_text(value);
  }
}

}  // namespace koord::cel
