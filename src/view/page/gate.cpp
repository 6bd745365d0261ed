// Gate: names of this server, origins, methods, and the headers of each answer.
#include "view/page/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>

#include "koord/base/base64.hpp"

namespace koord::view {

namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
  return text;
}

/// "[::1]:80" -> "::1", "a:80" -> "a"; empty: it is none.
std::string name_of(std::string_view host) {
  std::size_t end = host.size();
  if (host.starts_with('[')) {
    end = host.find(']');
    if (end == std::string_view::npos) return {};
    const std::string_view rest = host.substr(end + 1);
    if (!rest.empty() && !rest.starts_with(':')) return {};
    return lower(std::string(host.substr(1, end - 1)));
  }
  if (const auto colon = host.find(':'); colon != std::string_view::npos) {
    if (host.find_first_not_of("0123456789", colon + 1) != std::string_view::npos) return {};
    end = colon;
  }
  return lower(std::string(host.substr(0, end)));
}

bool is_ours(const GateSettings& settings, const std::string& name) {
  if (name.empty()) return false;
  if (name == "localhost") return true;
  if (std::ranges::any_of(settings.hosts, [&](const std::string& host) { return lower(host) == name; }))
    return true;
  // A numeric address is nobody's name that could be made to lead here.
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(name, error);
  return !error && (address.is_loopback() || !settings.loopback);
}

net::Response refusal(unsigned status, std::string why) {
  why += '\n';
  net::Response response = net::Response::text(status, std::move(why));
  response.proves = false;
  return response;
}

}  // namespace

std::optional<net::Response> refuse_foreign(const GateSettings& settings, const net::Request& request) {
  const auto hosts = request.headers.all("Host");
  if (hosts.size() != 1 || !is_ours(settings, name_of(hosts.front())))
    return refusal(421, "this server does not have that name (--ui-hosts)");
  const bool whole_page = request.path == "/" || request.path == kPageRoot;
  for (const std::string_view origin : request.headers.all("Origin"))
    if (lower(std::string(origin)) !=
        fmt::format("{}://{}", settings.tls ? "https" : "http", lower(std::string(hosts.front()))))
      return refusal(403, "another site asks: that is not answered");
  for (const std::string_view site : request.headers.all("Sec-Fetch-Site")) {
    const bool followed = whole_page && request.headers.get("Sec-Fetch-Mode") == "navigate" &&
                          request.headers.get("Sec-Fetch-Dest") == "document";
    if (site != "same-origin" && site != "none" && !followed)
      return refusal(403, "another site asks: that is not answered");
  }
  const bool pasted = request.path == kWhatIfPath;
  // What is worked out for an answer is worked out for who gets it.
  const bool worked_out = request.path.starts_with(kDataRoot);
  const bool reads = request.method == "GET" || (request.method == "HEAD" && !worked_out);
  if (pasted ? request.method != "POST" : !reads) {
    net::Response response = refusal(405, pasted ? "a pod is posted here" : "this port is for reading");
    response.headers.add("Allow", pasted ? "POST" : worked_out ? "GET" : "GET, HEAD");
    return response;
  }
  if (!pasted) return std::nullopt;
  const std::string_view type = request.headers.get("Content-Type");
  const std::string kind = lower(std::string(type.substr(0, type.find(';'))));
  if (kind != "application/yaml" && kind != "application/json")
    return refusal(415, "a pod is application/yaml or application/json");
  return std::nullopt;
}

std::string shown_token(const net::Request& request) {
  const auto values = request.headers.all("Authorization");
  if (values.size() != 1) return {};
  const std::string_view value = values.front();
  const auto space = value.find(' ');
  if (space == std::string_view::npos) return {};
  const std::string scheme = lower(std::string(value.substr(0, space)));
  if (scheme == "bearer") return std::string(value.substr(space + 1));
  if (scheme != "basic") return {};
  const auto decoded = decode_base64(value.substr(space + 1));
  if (!decoded) return {};
  const auto colon = decoded->find(':');
  return colon == std::string::npos ? std::string() : decoded->substr(colon + 1);
}

void add_page_headers(net::Response& response) {
  response.headers.add(
      "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
      "require-trusted-types-for 'script'; trusted-types 'none'");
  response.headers.add("X-Content-Type-Options", "nosniff");
  response.headers.add("X-Frame-Options", "DENY");
  response.headers.add("Referrer-Policy", "no-referrer");
  response.headers.add("Cross-Origin-Resource-Policy", "same-origin");
  response.headers.add("Cross-Origin-Opener-Policy", "same-origin");
  response.headers.add("Permissions-Policy", "camera=(), geolocation=(), microphone=()");
  response.headers.add("Cache-Control", "no-store");
}

}  // namespace koord::view
