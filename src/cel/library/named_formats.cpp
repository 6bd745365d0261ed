// format.dns1123Label() and its kin: Kubernetes' names and the formats of CRDs.
#include <array>
#include <string>
#include <vector>

#include "cel/library/tables.hpp"
#include "cel/library/url_parse.hpp"
#include "cel/values/json_formats.hpp"
#include "cel/values/kubernetes_values.hpp"
#include "cel/values/representation.hpp"
#include "koord/api/rules/validation_names.hpp"
#include "koord/base/base64.hpp"

namespace koord::cel {
namespace {

using Args = std::span<const Value>;
using Texts = std::vector<std::string>;

/// A name that is generated ends where a dash may stand: the dash is looked away from.
std::string masked(std::string_view prefix) {
  std::string name(prefix);
  if (name.size() > 1 && name.ends_with('-')) name.replace(name.size() - 2, 2, "a");
  return name;
}

Texts uuid(std::string_view text) {
  std::size_t digits = 0;
  bool good = true;
  for (const char c : text) {
    const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    const bool dash = c == '-' && (digits == 8 || digits == 12 || digits == 16 || digits == 20);
    good &= hex || dash;
    digits += hex ? 1 : 0;
  }
  good &= digits == 32 && text.find("--") == std::string_view::npos && !text.ends_with('-');
  return good ? Texts{} : Texts{"does not match the UUID format"};
}

Texts unless(bool good, std::string_view message) { return good ? Texts{} : Texts{std::string(message)}; }

struct Row {
  std::string_view function;  // of the format's own
  NamedFormat format;
  Texts (*check)(std::string_view);
};

constexpr std::uint32_t kUuidPattern = 70, kDateTimePattern = 71;

// What a format costs is the length of the pattern that Kubernetes takes it for.
constexpr std::array<Row, 13> kFormats = {{
    {"format.dns1123Label",
     {"dns1123Label", 30},
     [](std::string_view s) { return api::check_dns1123_label(s); }},
    {"format.dns1123Subdomain",
     {"dns1123Subdomain", 60},
     [](std::string_view s) { return api::check_dns1123_subdomain(s); }},
    {"format.dns1035Label",
     {"dns1035Label", 30},
     [](std::string_view s) { return api::check_dns1035_label(s); }},
    {"format.qualifiedName",
     {"qualifiedName", 60},
     [](std::string_view s) { return api::check_qualified_name(s); }},
    {"format.dns1123LabelPrefix",
     {"dns1123LabelPrefix", 30},
     [](std::string_view s) { return api::check_dns1123_label(masked(s)); }},
    {"format.dns1123SubdomainPrefix",
     {"dns1123SubdomainPrefix", 60},
     [](std::string_view s) { return api::check_dns1123_subdomain(masked(s)); }},
    {"format.dns1035LabelPrefix",
     {"dns1035LabelPrefix", 30},
     [](std::string_view s) { return api::check_dns1035_label(masked(s)); }},
    {"format.labelValue", {"labelValue", 40}, [](std::string_view s) { return api::check_label_value(s); }},
    {"format.uri",
     {"uri", 1103},
     [](std::string_view s) {
       const auto url = parse_url(s, true);
       return url ? Texts{} : Texts{url.error().message()};
     }},
    {"format.uuid", {"uuid", kUuidPattern}, uuid},
    {"format.byte",
     {"byte", 84},
     [](std::string_view s) { return unless(!s.empty() && decode_base64(s).has_value(), "invalid base64"); }},
    {"format.date",
     {"date", kDateTimePattern},
     [](std::string_view s) { return unless(parse_date(s).has_value(), "invalid date"); }},
    {"format.datetime",
     {"datetime", kDateTimePattern},
     [](std::string_view s) { return unless(parse_timestamp(s).has_value(), "invalid datetime"); }},
}};

Value format_value(const Row& row) { return Value::make(Kind::format, Value::Form::owned, 0, &row.format); }

template <std::size_t kIndex>
Value constant(Args, Memory&) {
  return format_value(kFormats[kIndex]);
}

Value named(Args args, Memory& memory) {
  for (const Row& row : kFormats)
    if (row.format.name == args[0].text()) return make_optional(format_value(row), memory);
  return no_optional();
}

Value validate(Args args, Memory& memory) {
  for (const Row& row : kFormats) {
    if (&row.format != &format_of(args[0])) continue;
    Value list = empty_list();
    for (const std::string& text : row.check(args[1].text()))
      list = append(list, copy_string(text, memory), memory);
    if (list.is_error()) return list;
    return list.count() == 0 ? no_optional() : make_optional(list, memory);
  }
  return no_such_overload();
}

template <std::size_t... kIndexes>
void add_constants(std::vector<Declaration>& rows, std::index_sequence<kIndexes...>) {
  (rows.push_back(
       {kFormats[kIndexes].function, kFormats[kIndexes].function, "() -> format", constant<kIndexes>}),
   ...);
}

}  // namespace

std::span<const Declaration> format_table() {
  static const std::vector<Declaration> kRows = [] {
    std::vector<Declaration> rows = {
        {"format.named", "format-named", "(string) -> optional(format)", named},
        {"validate", "format-validate", "format.(string) -> optional(list(string))", validate},
    };
    add_constants(rows, std::make_index_sequence<kFormats.size()>());
    return rows;
  }();
  return kRows;
}

}  // namespace koord::cel
