// RFC 9110's fields of a hop, and those that `Connection` names.
#include "relay_head.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/beast/core/string.hpp>
#include <iterator>

#include "output.hpp"

namespace koord::net {
namespace {

bool same(std::string_view a, std::string_view b) {
  return boost::beast::iequals({a.data(), a.size()}, {b.data(), b.size()});
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// One of the comma's parts of a field of that name is `token`.
bool lists(const Headers& headers, std::string_view name, std::string_view token) {
  for (std::string_view rest : headers.all(name)) {
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      if (same(trimmed(rest.substr(0, comma)), token)) return true;
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  return false;
}

constexpr std::array<std::string_view, 9> kHop = {
    "Connection",          "Keep-Alive",       "Proxy-Authenticate",
    "Proxy-Authorization", "Proxy-Connection", "TE",
    "Transfer-Encoding",   "Upgrade",          "Trailer"};

bool of_hop(const Headers& headers, std::string_view name) {
  const auto is_name = [name](std::string_view each) { return same(each, name); };
  if (std::any_of(kHop.begin(), kHop.end(), is_name)) return true;
  return !same(name, "Content-Length") && !same(name, "Host") && lists(headers, "Connection", name);
}

}  // namespace

bool asks_upgrade(const Request& request) {
  return !request.headers.get("Upgrade").empty() && lists(request.headers, "Connection", "upgrade");
}

void write_last_chunk(std::string& out, const Headers& trailers) {
  out.append("0\r\n");
  for (std::size_t i = 0; i < trailers.size(); ++i) {
    const auto [name, value] = trailers.at(i);
    if (!of_hop(trailers, name) && !same(name, "Content-Length") && !same(name, "Host"))
      write_field(out, name, value);
  }
  out.append("\r\n");
}

void write_relayed_request(std::string& out, const Request& request, bool chunked, bool upgrade) {
  out.append(request.method).append(" ").append(request.target).append(" HTTP/1.1\r\n");
  if (!request.headers.has("Host")) out.append("Host: localhost\r\n");
  for (std::size_t i = 0; i < request.headers.size(); ++i) {
    const auto [name, value] = request.headers.at(i);
    // Who asks whether to send the body is told by us.
    const bool passes = !of_hop(request.headers, name) && !same(name, "Expect");
    if (passes || (chunked && same(name, "Trailer"))) write_field(out, name, value);
  }
  if (upgrade) {
    out.append("Connection: Upgrade\r\n");
    for (const std::string_view protocol : request.headers.all("Upgrade"))
      write_field(out, "Upgrade", protocol);
  }
  if (chunked) out.append("Transfer-Encoding: chunked\r\n");
  out.append("\r\n");
}

void write_relayed_answer(std::string& out, const Response& head, std::string_view reason,
                          const RelayedAnswer& options) {
  fmt::format_to(std::back_inserter(out), "HTTP/1.{} {} {}\r\n", options.http_1_0 ? 0 : 1, head.status,
                 reason);
  if (!head.content_type.empty()) write_field(out, "Content-Type", head.content_type);
  for (std::size_t i = 0; i < head.headers.size(); ++i) {
    const auto [name, value] = head.headers.at(i);
    const bool passes = options.verbatim || !of_hop(head.headers, name);
    if (passes || (options.chunked && same(name, "Trailer"))) write_field(out, name, value);
  }
  if (!options.verbatim) {
    if (options.chunked) out.append("Transfer-Encoding: chunked\r\n");
    if (!options.keep_alive)
      out.append("Connection: close\r\n");
    else if (options.http_1_0)
      out.append("Connection: keep-alive\r\n");
  }
  out.append("\r\n");
}

}  // namespace koord::net
