// The servers' reader of HTTP requests: however the bytes are cut, the same requests come out.
// The input: one byte that the cuts follow from, then what a client sends on one connection.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "request_parser.hpp"

namespace {

using koord::net::Request;
using koord::net::RequestParser;

constexpr RequestParser::Limits kLimits{.max_header_bytes = 1024, .max_body_bytes = 512};

void check(bool holds) {
  if (!holds) std::abort();
}

struct Seen {
  std::vector<std::string> requests;
  unsigned failure = 0;
};

std::string print(const Request& request, bool keep_alive) {
  std::string text = request.method + '\n' + request.target + '\n' + request.path + '\n';
  for (const auto& [name, value] : request.query) text += name + '=' + value + '\n';
  for (std::size_t i = 0; i < request.headers.size(); ++i) {
    const auto [name, value] = request.headers.at(i);
    (text += name) += ':';
    (text += value) += '\n';
  }
  return text + (keep_alive ? "keep\n" : "close\n") + request.body;
}

/// The server's loop: what the parser does not use is offered again with what follows it.
template <class F>
Seen read(std::string_view text, F next) {
  RequestParser parser(kLimits);
  Seen seen;
  std::string buffer;
  std::size_t at = 0;
  for (;;) {
    const std::size_t used = parser.feed(buffer);
    check(used <= buffer.size());
    buffer.erase(0, used);
    if (const unsigned status = parser.failure().status; status != 0) {
      check(status >= 400 && status <= 501);
      seen.failure = status;
      return seen;
    }
    if (parser.done()) {
      const bool keep_alive = parser.keep_alive();
      const Request request = parser.take();
      check(!request.method.empty() && request.body.size() <= kLimits.max_body_bytes);
      seen.requests.push_back(print(request, keep_alive));
      if (!keep_alive) return seen;
      if (!buffer.empty()) continue;
    } else if (used > 0 && parser.header_done() && !buffer.empty()) {
      continue;  // it stopped behind the header
    }
    if (at == text.size()) return seen;
    const std::size_t size = std::min(next(), text.size() - at);
    buffer += text.substr(at, size);
    at += size;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::uint32_t state = data[0];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Seen whole = read(text, [&] { return std::max<std::size_t>(text.size(), 1); });
  const auto few = [&state] {
    state = state * 1664525 + 1013904223;
    return std::size_t{1} + (state >> 24) % 7;
  };
  const Seen cut = read(text, few);
  check(cut.requests == whole.requests);
  // A last request that is not whole may be refused at once, or when its end is there or can come no more.
  if (whole.failure == 0) check(cut.failure == 0);
  return 0;
}
