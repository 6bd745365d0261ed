// HttpParser over Beast's parser: the only file of the server that includes Beast.
#include "http_parser.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <optional>

namespace koord::runtime {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using StringView = boost::beast::string_view;

std::string_view view(StringView text) { return {text.data(), text.size()}; }

bool split_target(HttpRequest& request) {
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

// Writes straight into an HttpRequest instead of Beast's own containers.
class RequestParser final : public http::basic_parser<true> {
 public:
  HttpRequest request;
  bool expects_continue = false;
  int version = 11;

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
  void on_chunk_header_impl(std::uint64_t, StringView, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, StringView body, error_code&) override {
    request.body.append(body.data(), body.size());
    return body.size();
  }
  void on_finish_impl(error_code&) override {}
};

/// Beast (1.81) asserts that a last chunk, when it looks at it for the second time, is five bytes: "0", an
/// end of line and an empty line. What may be the beginning of one waits until so much is there, as it always
/// is in the end.
bool may_be_cut_last_chunk(const RequestParser& parser, std::string_view bytes) {
  constexpr std::size_t kLastChunkSize = 5;
  return bytes.size() < kLastChunkSize && (bytes.front() == '0' || bytes.front() == '\r') &&
         parser.is_header_done() && parser.chunked();
}

}  // namespace

class HttpParser::Impl {
 public:
  std::optional<RequestParser> parser;
  Failure failure;
};

HttpParser::HttpParser(Limits limits) : limits_(limits), impl_(std::make_unique<Impl>()) {}
HttpParser::~HttpParser() = default;

std::size_t HttpParser::feed(std::string_view bytes) {
  if (!impl_->parser) {
    impl_->parser.emplace();
    impl_->parser->eager(true);
    impl_->parser->header_limit(
        static_cast<std::uint32_t>(std::min<std::size_t>(limits_.max_header_bytes, UINT32_MAX)));
    impl_->parser->body_limit(limits_.max_body_bytes);
  }
  std::size_t used = 0;
  while (used < bytes.size() && !impl_->parser->is_done()) {
    if (may_be_cut_last_chunk(*impl_->parser, bytes.substr(used))) break;
    error_code ec;
    const std::size_t n =
        impl_->parser->put(boost::asio::const_buffer(bytes.data() + used, bytes.size() - used), ec);
    used += n;
    if (ec == http::error::need_more) break;
    if (ec) {
      impl_->failure.status = ec == http::error::header_limit ? 431
                              : ec == http::error::body_limit ? 413
                                                              : 400;
      impl_->failure.message =
          ec == http::error::header_limit
              ? "the request's header is larger than " + std::to_string(limits_.max_header_bytes) + " bytes"
          : ec == http::error::body_limit
              ? "the request's body is larger than " + std::to_string(limits_.max_body_bytes) + " bytes"
              : "not an HTTP/1.1 request: " + ec.message();
      break;
    }
    if (n == 0) break;
  }
  return used;
}

bool HttpParser::header_done() const { return impl_->parser && impl_->parser->is_header_done(); }
bool HttpParser::done() const { return impl_->parser && impl_->parser->is_done(); }
const HttpParser::Failure& HttpParser::failure() const { return impl_->failure; }
bool HttpParser::expects_continue() const { return impl_->parser && impl_->parser->expects_continue; }
bool HttpParser::keep_alive() const { return impl_->parser && impl_->parser->keep_alive(); }
bool HttpParser::started() const { return impl_->parser && impl_->parser->got_some(); }
bool HttpParser::http_1_0() const { return impl_->parser && impl_->parser->version < 11; }

HttpRequest HttpParser::take() {
  HttpRequest request = std::move(impl_->parser->request);
  impl_->parser.reset();
  return request;
}

}  // namespace koord::runtime
