#include "cel/library/url_parse.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cel/values/representation.hpp"

namespace koord::cel {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool alphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool plain_in_path(char c) {
  return alphanumeric(c) || std::string_view("-_.~$&+/:=@").find(c) != std::string_view::npos;
}

/// The text without escapes, or the escape that is wrong.
Result<std::string> unescaped(std::string_view text, bool plus_is_blank) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_blank) {
      out += ' ';
    } else if (text[i] == '%') {
      if (i + 2 >= text.size() || hex_value(text[i + 1]) < 0 || hex_value(text[i + 2]) < 0)
        return Error(koord::Code::invalid,
                     fmt::format("invalid URL escape {}", go_quoted(text.substr(i, 3))));
      out += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

Result<std::string> escaped_path(std::string_view raw) {
  KOORD_TRY(path, unescaped(raw, false));
  static constexpr std::string_view kAllowed = "!$&'()*+,;=:@[]%-_.~/";
  const bool valid = std::all_of(raw.begin(), raw.end(), [](char c) {
    return alphanumeric(c) || kAllowed.find(c) != std::string_view::npos;
  });
  if (valid) return std::string(raw);
  std::string out;
  for (const char c : path)
    out += plain_in_path(c) ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return out;
}

Error invalid(std::string message) { return Error(koord::Code::invalid, std::move(message)); }

Result<void> check_port(std::string_view text) {
  const bool good = text.empty() || (text[0] == ':' && std::all_of(text.begin() + 1, text.end(), [](char c) {
                                       return c >= '0' && c <= '9';
                                     }));
  if (good) return {};
  return invalid(fmt::format("invalid port {} after host", go_quoted(text)));
}

Result<std::string> host_of(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.rfind(']');
    if (end == std::string_view::npos) return invalid("missing ']' in host");
    KOORD_CHECK(check_port(text.substr(end + 1)));
    return unescaped(text, false);
  }
  if (const std::size_t colon = text.rfind(':'); colon != std::string_view::npos)
    KOORD_CHECK(check_port(text.substr(colon)));
  for (const char c : text) {
    const bool good = alphanumeric(c) || static_cast<unsigned char>(c) >= 0x80 ||
                      std::string_view("-_.~!$&'()*+,;=:[]<>\"%").find(c) != std::string_view::npos;
    if (!good)
      return invalid(fmt::format("invalid character {} in host name", go_quoted(std::string_view(&c, 1))));
  }
  for (std::size_t i = 0; i + 2 < text.size(); ++i)
    if (text[i] == '%' && hex_value(text[i + 1]) >= 0 && hex_value(text[i + 1]) < 8)
      return invalid(fmt::format("invalid URL escape {}", go_quoted(text.substr(i, 3))));
  return unescaped(text, false);
}

Result<void> authority(std::string_view text, ParsedUrl& url) {
  url.has_authority = true;
  const std::size_t at = text.rfind('@');
  KOORD_TRY(host, host_of(at == std::string_view::npos ? text : text.substr(at + 1)));
  url.host = std::move(host);
  if (at == std::string_view::npos) return {};
  const std::string_view user = text.substr(0, at);
  const bool good = std::all_of(user.begin(), user.end(), [](char c) {
    return alphanumeric(c) || std::string_view("-._:~!$&'()*+,;=%@").find(c) != std::string_view::npos;
  });
  if (!good) return invalid("net/url: invalid userinfo");
  if (const auto name = unescaped(user, false); !name) return name.error();
  url.user = user;
  return {};
}

/// Takes the scheme off.
Result<std::string> scheme_of(std::string_view& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool letter = alphanumeric(c) && !(c >= '0' && c <= '9');
    if (letter) continue;
    if (c == ':') {
      if (i == 0) return invalid("missing protocol scheme");
      std::string scheme(text.substr(0, i));
      std::transform(scheme.begin(), scheme.end(), scheme.begin(),
                     [](char d) { return d >= 'A' && d <= 'Z' ? static_cast<char>(d + 32) : d; });
      text.remove_prefix(i + 1);
      return scheme;
    }
    const bool later = alphanumeric(c) || c == '+' || c == '-' || c == '.';
    if (!later || i == 0) break;
  }
  return std::string();
}

Result<ParsedUrl> parse(std::string_view rest, bool of_request) {
  ParsedUrl url;
  if (std::any_of(rest.begin(), rest.end(),
                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }))
    return invalid("net/url: invalid control character in URL");
  if (rest.empty() && of_request) return invalid("empty url");
  if (rest == "*") {
    url.path = "*";
    return url;
  }
  KOORD_TRY(scheme, scheme_of(rest));
  url.scheme = std::move(scheme);
  if (rest.ends_with('?') && std::count(rest.begin(), rest.end(), '?') == 1) {
    url.forced_query = true;
    rest.remove_suffix(1);
  } else if (const std::size_t mark = rest.find('?'); mark != std::string_view::npos) {
    url.query = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
  }
  if (!rest.starts_with('/')) {
    if (!url.scheme.empty()) {
      url.opaque = rest;
      return url;
    }
    if (of_request) return invalid("invalid URI for request");
    if (rest.substr(0, rest.find('/')).find(':') != std::string_view::npos)
      return invalid("first path segment in URL cannot contain colon");
  }
  if ((!url.scheme.empty() || (!of_request && !rest.starts_with("///"))) && rest.starts_with("//")) {
    const std::string_view name = rest.substr(2, rest.find('/', 2) - 2);
    KOORD_CHECK(authority(name, url));
    rest.remove_prefix(2 + name.size());
  }
  KOORD_TRY(path, escaped_path(rest));
  url.path = std::move(path);
  return url;
}

}  // namespace

std::string ParsedUrl::text() const {
  std::string out;
  if (!scheme.empty()) out += scheme + ':';
  out += opaque;
  if (has_authority) out += "//" + (user.empty() ? "" : user + '@') + host;
  out += path;
  if (forced_query || !query.empty()) out += '?' + query;
  if (has_fragment) out += '#' + fragment;
  return out;
}

Result<ParsedUrl> parse_url(std::string_view text, bool of_request) {
  std::string_view rest = text;
  std::string_view fragment;
  const std::size_t hash = of_request ? std::string_view::npos : text.find('#');
  if (hash != std::string_view::npos) {
    rest = text.substr(0, hash);
    fragment = text.substr(hash + 1);
  }
  auto url = parse(rest, of_request);
  if (!url)
    return Error(koord::Code::invalid, fmt::format("parse {}: {}", go_quoted(text), url.error().message()));
  url->fragment = fragment;
  url->has_fragment = !fragment.empty();
  return url;
}

std::optional<std::string> unescape_query(std::string_view text) {
  auto out = unescaped(text, true);
  if (!out) return std::nullopt;
  return std::move(*out);
}

}  // namespace koord::cel
