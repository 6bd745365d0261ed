// RequestParser over Beast's parser: the only file of the server that includes Beast.
#include "request_parser.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <cctype>
#include <optional>

namespace koord::net {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using StringView = boost::beast::string_view;

std::string_view view(StringView text) { return {text.data(), text.size()}; }

bool split_target(Request& request) {
  std::string_view target = request.target;
  if (target.starts_with("http://") || target.starts_with("https://")) {  // absolute form, from a proxy
    const auto slash = target.find('/', target.find("//") + 2);
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  const auto question = target.find('?');
  auto path = percent_decode(target.substr(0, question));
  if (!path || path->empty() || (path->front() != '/' && *path != "*")) return false;
  request.path = std::move(*path);
  if (question == std::string_view::npos) return true;
  std::string_view rest = target.substr(question + 1);
  while (!rest.empty()) {
    const auto amp = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, amp);
    rest.remove_prefix(std::min(amp + 1, rest.size()));
    if (pair.empty()) continue;
    const auto equals = std::min(pair.find('='), pair.size());
    auto key = percent_decode(pair.substr(0, equals), true);
    auto value = percent_decode(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!key || !value) return false;
    request.query.emplace_back(std::move(*key), std::move(*value));
  }
  return true;
}

// Writes straight into an Request instead of Beast's own containers.
class Beast final : public http::basic_parser<true> {
 public:
  Request request;
  bool expects_continue = false;
  int version = 11;
  std::uint64_t chunk_left = 0;  // bytes of the chunk that are still to come
  bool first_chunk = true;

 private:
  void on_request_impl(http::verb, StringView method, StringView target, int http_version,
                       error_code& ec) override {
    version = http_version;
    request.method = view(method);
    request.target = view(target);
    if (!split_target(request)) ec = http::error::bad_target;
  }
  void on_response_impl(int, StringView, int, error_code&) override {}
  void on_field_impl(http::field name, StringView text, StringView value, error_code&) override {
    if (name == http::field::expect && boost::beast::iequals(value, "100-continue")) expects_continue = true;
    request.headers.add(view(text), view(value));
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>& length, error_code&) override {
    // A lying Content-Length must not make us allocate what never comes.
    if (length) request.body.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(*length, 1 << 20)));
  }
  std::size_t on_body_impl(StringView body, error_code&) override {
    request.body.append(body.data(), body.size());
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t size, StringView, error_code&) override {
    chunk_left = size;
    first_chunk = false;
  }
  std::size_t on_chunk_body_impl(std::uint64_t, StringView body, error_code&) override {
    request.body.append(body.data(), body.size());
    chunk_left -= body.size();
    return body.size();
  }
  void on_finish_impl(error_code&) override {}
};

constexpr std::size_t kUnknown = std::string_view::npos;

/// The bytes up to the end of the header, of which `rest` begins a line; kUnknown while its end is not there.
std::size_t header_rest(std::string_view rest) {
  if (rest.starts_with("\r\n")) return 2;
  const auto end = rest.find("\r\n\r\n");
  return end == kUnknown ? kUnknown : end + 4;
}

/// The bytes of a chunk's line, with the end of the chunk before it; the last one's go on to the end of the
/// trailer. kUnknown while the end is not there.
std::size_t chunk_line(std::string_view rest, bool first) {
  const std::size_t begin = first ? 0 : 2;
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

}  // namespace

class RequestParser::Impl {
 public:
  std::optional<Beast> parser;
  std::size_t header_used = 0;
  Failure failure;

  void fail(unsigned status, std::string message) { failure = {status, std::move(message)}; }

  struct Piece {
    std::size_t size = 0;             // bytes that the parser may have now
    const char* too_large = nullptr;  // what is over its limit, unless the parser finds worse in these bytes
  };

  /// Never more of `rest` than to the end of a header, of a chunk's line or of a chunk. So the exact size of
  /// each decides about its limit, however the bytes came: Beast's own limits go by the pieces, and it has
  /// none for a chunk's line and the trailer. Nothing: wait for more.
  Piece piece(std::string_view rest, std::size_t limit) const {
    if (!parser->is_header_done()) {
      const std::size_t left = limit - std::min(header_used, limit);
      const std::size_t known = std::min(header_rest(rest), rest.size());
      return {std::min(known, left), known > left ? "header" : nullptr};
    }
    if (!parser->chunked()) return {rest.size()};
    if (parser->chunk_left > 0)
      return {static_cast<std::size_t>(std::min<std::uint64_t>(parser->chunk_left, rest.size()))};
    const std::size_t size = chunk_line(rest, parser->first_chunk);
    if (std::min(size, rest.size()) > limit) return {0, "chunk header or trailer"};
    return {size == kUnknown ? 0 : size};
  }
};

RequestParser::RequestParser(Limits limits) : limits_(limits), impl_(std::make_unique<Impl>()) {}
RequestParser::~RequestParser() = default;

std::size_t RequestParser::feed(std::string_view bytes) {
  if (!impl_->parser) {
    impl_->parser.emplace();
    impl_->parser->eager(true);
    impl_->parser->header_limit(UINT32_MAX);
    impl_->parser->body_limit(limits_.max_body_bytes);
    impl_->header_used = 0;
  }
  std::size_t used = 0;
  while (used < bytes.size() && !impl_->parser->is_done()) {
    const Impl::Piece piece = impl_->piece(bytes.substr(used), limits_.max_header_bytes);
    error_code ec;
    std::size_t n = 0;
    if (piece.size > 0) {
      n = impl_->parser->put(boost::asio::const_buffer(bytes.data() + used, piece.size), ec);
      used += n;
      impl_->header_used += n;
    }
    if (ec == http::error::body_limit) {
      impl_->fail(413,
                  "the request's body is larger than " + std::to_string(limits_.max_body_bytes) + " bytes");
      break;
    }
    if (ec && ec != http::error::need_more) {
      impl_->fail(400, "not an HTTP/1.1 request: " + ec.message());
      break;
    }
    if (piece.too_large) {
      impl_->fail(431, std::string("the request's ") + piece.too_large + " is larger than " +
                           std::to_string(limits_.max_header_bytes) + " bytes");
      break;
    }
    if (n == 0) break;
  }
  return used;
}

bool RequestParser::header_done() const { return impl_->parser && impl_->parser->is_header_done(); }
bool RequestParser::done() const { return impl_->parser && impl_->parser->is_done(); }
const RequestParser::Failure& RequestParser::failure() const { return impl_->failure; }
bool RequestParser::expects_continue() const { return impl_->parser && impl_->parser->expects_continue; }
bool RequestParser::keep_alive() const { return impl_->parser && impl_->parser->keep_alive(); }
bool RequestParser::started() const { return impl_->parser && impl_->parser->got_some(); }
bool RequestParser::http_1_0() const { return impl_->parser && impl_->parser->version < 11; }

Request RequestParser::take() {
  Request request = std::move(impl_->parser->request);
  impl_->parser.reset();
  return request;
}

}  // namespace koord::net
