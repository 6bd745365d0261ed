// The client's reader of HTTP responses: however the bytes are cut, the same head, body and verdict come out.
// The input: one byte for the method, one that the cuts follow from, then the response.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "codec/gzip.hpp"
#include "response_parser.hpp"

namespace {

using koord::net::ResponseParser;

constexpr std::size_t kUnpacked = 1 << 20;

struct Outcome {
  bool ok = true;
  bool done = false, keep_alive = false, gzip = false;
  std::size_t used = 0;
  unsigned status = 0;
  std::string content_type, body;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

void check(bool holds) {
  if (!holds) std::abort();
}

/// `next` gives the size of each piece.
template <class F>
Outcome read(std::string_view text, std::string_view method, bool relayed, F next) {
  ResponseParser reader(method, {.upgrade = relayed, .any_encoding = relayed});
  Outcome out;
  while (out.used < text.size() && !reader.done()) {
    const std::size_t size = std::min(next(), text.size() - out.used);
    const std::size_t before = out.body.size();
    const auto used = reader.feed(text.substr(out.used, size), out.body);
    if (!used) {
      check(!used.error().message().empty());
      return Outcome{.ok = false};
    }
    check(*used <= size && (*used == size || reader.done()));
    check(out.body.size() - before <= size);
    check(reader.head_done() || out.body.empty());
    out.used += *used;
  }
  out.done = reader.done();
  out.ok = reader.finish().has_value();
  check(!out.done || out.ok);
  check(!out.ok || reader.done());
  if (reader.head_done()) {
    check((reader.head().status >= 200 || (relayed && reader.head().status == 101 && reader.done())) &&
          reader.head().status <= 999);
    out.status = reader.head().status;
    out.content_type = reader.head().content_type;
    out.keep_alive = reader.keep_alive();
    out.gzip = reader.gzip();
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view method = data[0] % 8 == 0 ? "HEAD" : "GET";
  const bool relayed = data[0] % 8 == 1;
  std::uint32_t state = data[1];
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const Outcome whole = read(text, method, relayed, [&] { return text.size(); });
  const auto few = [&state] {
    state = state * 1664525 + 1013904223;
    return std::size_t{1} + (state >> 24) % 7;
  };
  check(read(text, method, relayed, few) == whole);
  const auto cut = [first = std::size_t{data[1]}, &text]() mutable {
    return std::max<std::size_t>(std::exchange(first, text.size()), 1);
  };
  check(read(text, method, relayed, cut) == whole);
  if (whole.ok && whole.gzip) {
    const auto plain = koord::net::gunzip(whole.body, kUnpacked);
    check(!plain || plain->size() <= kUnpacked);
  }
  return 0;
}
