// HttpMachine: Beast's parser of requests or of responses, fed so that how the bytes were cut decides
// nothing. Included by the two parsers alone: nothing else of the tree sees Beast.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>

#include "koord/net/message.hpp"

namespace koord::net {

namespace http = boost::beast::http;
using BeastError = boost::beast::error_code;
using BeastView = boost::beast::string_view;

inline std::string_view view(BeastView text) { return {text.data(), text.size()}; }

/// The most bytes of a header, of a chunk's line or the trailer, and of a body.
struct HttpLimits {
  std::size_t header, line, body;
};

/// What the peer did wrong, as a server would answer it: 400, 413, 431 or 501.
struct HttpFault {
  unsigned status = 0;  // 0: nothing
  std::string message;
};

/// Strict where Beast is lenient: one transfer encoding and it is `chunked`, a length is digits, no folded
/// lines, and the fields of a trailer are kept apart.
template <bool kRequest>
class HttpMachine : public http::basic_parser<kRequest> {
 public:
  HttpMachine(const HttpMachine&) = delete;
  HttpMachine& operator=(const HttpMachine&) = delete;
  HttpMachine() {
    this->eager(true);
    this->header_limit(UINT32_MAX);  // the exact limits are ours, see piece()
  }

  /// Takes the next bytes, whose beginning is what was not used before; returns how many it used. Nothing of
  /// an unfinished header; stops behind the header and behind the message.
  std::size_t feed(std::string_view bytes, const HttpLimits& limits) {
    if (!this->is_header_done()) return feed_header(bytes, limits);
    std::size_t used = 0;
    while (used < bytes.size() && !this->is_done() && fault.status == 0) {
      const std::size_t size = piece(bytes.substr(used), limits);
      if (size == 0) break;
      const std::size_t n = put(bytes.substr(used, size), limits);
      used += n;
      if (n == 0) {
        // A piece is whole: what Beast still misses is a quote in a chunk's line that nothing ends. Asked
        // again it would take the chunk's size off the body's limit each time.
        refuse(400,
               fmt::format("not an HTTP/1.1 {}: a quoted string in a chunk header is not closed", kKind));
        break;
      }
    }
    return used;
  }

  HttpFault fault;
  Headers headers;
  Headers trailers;  // nobody judges by them
  std::string body;
  std::string* sink = &body;  // what the body is appended to
  int version = 11;
  std::string reason;  // of a response

 protected:
  /// More fields than these are the deriving parser's to look at.
  virtual void on_field(http::field name, std::string_view text, std::string_view value) {
    headers.add(text, value);
    (void)name;
  }
  /// What follows from all fields together.
  virtual void check_header() {}
  void refuse(unsigned status, std::string message) {
    if (fault.status == 0) fault = {status, std::move(message)};
  }

 private:
  static constexpr std::size_t kUnknown = std::string_view::npos;
  static constexpr const char* kKind = kRequest ? "request" : "response";

  std::size_t put(std::string_view bytes, const HttpLimits& limits) {
    BeastError failed;
    const std::size_t n = basic::put(boost::asio::const_buffer(bytes.data(), bytes.size()), failed);
    if (fault.status != 0) return n;
    if (failed == http::error::body_limit)
      refuse(413, fmt::format("the {}'s body is larger than {} bytes", kKind, limits.body));
    else if (failed && failed != http::error::need_more)
      refuse(400, fmt::format("not an HTTP/1.1 {}: {}", kKind, failed.message()));
    return n;
  }

  std::size_t feed_header(std::string_view bytes, const HttpLimits& limits) {
    // Another protocol may never send the end of a header.
    if (!bytes.empty() &&
        !(kRequest ? std::isalpha(static_cast<unsigned char>(bytes.front())) != 0 : bytes.front() == 'H')) {
      refuse(400, fmt::format("not an HTTP/1.1 {}", kKind));
      return 0;
    }
    const std::size_t found = bytes.find("\r\n\r\n", searched_ < 3 ? 0 : searched_ - 3);
    searched_ = bytes.size();
    const std::size_t size = found == kUnknown ? bytes.size() + 1 : found + 4;
    if (size > limits.header) {
      refuse(431, fmt::format("the {}'s header is larger than {} bytes", kKind, limits.header));
      return 0;
    }
    if (found == kUnknown) return 0;
    const std::string_view header = bytes.substr(0, size);
    if (header.find("\r\n ") != kUnknown || header.find("\r\n\t") != kUnknown) {
      refuse(400, fmt::format("not an HTTP/1.1 {}: a folded header line", kKind));
      return 0;
    }
    this->body_limit(limits.body);
    const std::size_t n = put(header, limits);
    if (fault.status == 0 && (n != size || !this->is_header_done()))
      refuse(400, fmt::format("not an HTTP/1.1 {}", kKind));
    if (fault.status == 0) check_header();
    return n;
  }

  /// Never more of `rest` than to the end of a chunk's line or of a chunk: Beast has no limit for that line
  /// and the trailer. 0: wait for more, or too long.
  std::size_t piece(std::string_view rest, const HttpLimits& limits) {
    if (!this->chunked()) return rest.size();
    if (chunk_left_ > 0) return static_cast<std::size_t>(std::min<std::uint64_t>(chunk_left_, rest.size()));
    const std::size_t size = chunk_line(rest);
    if (std::min(size, rest.size()) > limits.line) {
      refuse(431,
             fmt::format("the {}'s chunk header or trailer is larger than {} bytes", kKind, limits.line));
      return 0;
    }
    return size == kUnknown ? 0 : size;
  }

  /// The bytes of a chunk's line, with the end of the chunk before it; the last one's go on to the end of the
  /// trailer. kUnknown while the end is not there.
  std::size_t chunk_line(std::string_view rest) const {
    const std::size_t begin = first_chunk_ ? 0 : 2;
    const auto end = rest.find("\r\n", begin);
    if (end == kUnknown) return kUnknown;
    const std::string_view line = rest.substr(begin, end - begin);
    const auto digit = line.find_first_not_of('0');
    const bool last = line.starts_with('0') &&
                      (digit == kUnknown || std::isxdigit(static_cast<unsigned char>(line[digit])) == 0);
    if (!last) return end + 2;
    const auto trailer_end = rest.find("\r\n\r\n", end);
    return trailer_end == kUnknown ? kUnknown : trailer_end + 4;
  }

  void field(http::field name, std::string_view text, std::string_view value) {
    if (this->is_header_done()) return trailers.add(text, value);  // who may do what is settled by then
    if (name == http::field::transfer_encoding) {
      if (encoded_ || !boost::beast::iequals({value.data(), value.size()}, "chunked"))
        refuse(501, "a transfer encoding other than chunked");
      encoded_ = true;
    } else if (name == http::field::content_length && value.find_first_not_of("0123456789") != kUnknown) {
      refuse(400, "a Content-Length that is not a number");
    }
    on_field(name, text, value);
  }

  // Beast's side.
  using basic = http::basic_parser<kRequest>;
  void on_request_impl(http::verb, BeastView method, BeastView target, int http_version,
                       BeastError& failed) override {
    version = http_version;
    if (!on_request_line(view(method), view(target))) failed = http::error::bad_target;
  }
  void on_response_impl(int status, BeastView words, int http_version, BeastError&) override {
    version = http_version;
    reason.assign(words.data(), words.size());
    on_status(static_cast<unsigned>(status));
  }
  virtual bool on_request_line(std::string_view, std::string_view) { return true; }
  virtual void on_status(unsigned) {}
  void on_field_impl(http::field name, BeastView text, BeastView value, BeastError& failed) override {
    field(name, view(text), view(value));
    if (fault.status != 0) failed = http::error::bad_value;
  }
  void on_header_impl(BeastError&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>& length, BeastError&) override {
    // A lying Content-Length must not make us allocate what never comes; a server takes nobody's word at all.
    if (length && !kRequest)
      sink->reserve(sink->size() + static_cast<std::size_t>(std::min<std::uint64_t>(*length, 1 << 20)));
  }
  std::size_t on_body_impl(BeastView bytes, BeastError&) override {
    sink->append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t size, BeastView, BeastError&) override {
    chunk_left_ = size;
    first_chunk_ = false;
  }
  std::size_t on_chunk_body_impl(std::uint64_t, BeastView bytes, BeastError&) override {
    sink->append(bytes.data(), bytes.size());
    chunk_left_ -= bytes.size();
    return bytes.size();
  }
  void on_finish_impl(BeastError&) override {}

  std::size_t searched_ = 0;      // of the header's bytes, for its end
  std::uint64_t chunk_left_ = 0;  // bytes of the chunk that are still to come
  bool first_chunk_ = true;
  bool encoded_ = false;
};

}  // namespace koord::net
