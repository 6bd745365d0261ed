// url(...): what Go's net/url makes of a text.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cel/library/tables.hpp"
#include "cel/library/url_parse.hpp"
#include "cel/values/kubernetes_values.hpp"
#include "cel/values/representation.hpp"

namespace koord::cel {
namespace {

using Args = std::span<const Value>;

Value make_url(Args args, Memory& memory) {
  const std::string_view text = args[0].text();
  auto parsed = parse_url(text, true);
  if (parsed) parsed = parse_url(text, false);
  if (!parsed)
    return fail(memory, "URL parse error during conversion from string: " + parsed.error().message());
  auto* url = memory.make<Url>();
  const Value printed = copy_string(parsed->text(), memory), scheme = copy_string(parsed->scheme, memory),
              host = copy_string(parsed->host, memory), path = copy_string(parsed->path, memory),
              query = copy_string(parsed->query, memory);
  if (!url || memory.exhausted()) return out_of_memory();
  new (url) Url{printed.text(), scheme.text(), host.text(), path.text(), query.text()};
  return Value::make(Kind::url, Value::Form::owned, 0, url);
}

Value is_url(Args args, Memory&) { return Value::boolean(parse_url(args[0].text(), true).has_value()); }

Value scheme(Args args, Memory&) { return Value::string(url_of(args[0]).scheme); }
Value host(Args args, Memory&) { return Value::string(url_of(args[0]).host); }
Value path(Args args, Memory&) { return Value::string(url_of(args[0]).path); }

/// Where the port's colon stands, or the end.
std::size_t port_at(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  if (colon == std::string_view::npos) return host.size();
  const std::string_view digits = host.substr(colon + 1);
  const bool number = std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  return number && !(host.find(']', colon) != std::string_view::npos) ? colon : host.size();
}

Value hostname(Args args, Memory&) {
  const std::string_view whole = url_of(args[0]).host;
  std::string_view name = whole.substr(0, port_at(whole));
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  return Value::string(name);
}
Value port(Args args, Memory&) {
  const std::string_view whole = url_of(args[0]).host;
  const std::size_t at = port_at(whole);
  return Value::string(at == whole.size() ? std::string_view{} : whole.substr(at + 1));
}

Value query(Args args, Memory& memory) {
  std::string_view rest = url_of(args[0]).query;
  Value map = empty_map();
  while (!rest.empty() && !map.is_error()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    if (pair.empty() || pair.find(';') != std::string_view::npos) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const auto key = unescape_query(pair.substr(0, equals));
    const auto text = unescape_query(equals < pair.size() ? pair.substr(equals + 1) : std::string_view{});
    if (!key || !text) continue;
    const Value name = copy_string(*key, memory), value = copy_string(*text, memory);
    if (memory.exhausted()) return out_of_memory();
    const auto before = find(map, name, memory);
    map = put(map, name, append(before.value_or(empty_list()), value, memory), memory);
  }
  return map;
}

}  // namespace

std::span<const Declaration> url_table() {
  static constexpr Declaration kRows[] = {
      {"url", "string_to_url", "(string) -> url", make_url},
      {"isURL", "is_url_string", "(string) -> bool", is_url},
      {"getScheme", "url_get_scheme", "url.() -> string", scheme},
      {"getHost", "url_get_host", "url.() -> string", host},
      {"getHostname", "url_get_hostname", "url.() -> string", hostname},
      {"getPort", "url_get_port", "url.() -> string", port},
      {"getEscapedPath", "url_get_escaped_path", "url.() -> string", path},
      {"getQuery", "url_get_query", "url.() -> map(string, list(string))", query},
  };
  return kRows;
}

}  // namespace koord::cel
