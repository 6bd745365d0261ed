// RequestParser over Beast's parser.
#include "request_parser.hpp"

#include "http_machine.hpp"

namespace koord::net {
namespace {

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

// As Go's httpguts.ValidHostHeader.
bool is_host(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("!$%&()*+,-.:;=[]'_~").find(c) != std::string_view::npos;
  });
}

}  // namespace

class RequestParser::Machine final : public HttpMachine<true> {
 public:
  Request request;
  bool expects_continue = false;

  Request& current() {
    if (!moved_) {
      request.headers = std::move(headers);
      moved_ = true;
    }
    return request;
  }

 private:
  bool on_request_line(std::string_view method, std::string_view target) override {
    request.method = method;
    request.target = target;
    return split_target(request);
  }
  void on_field(http::field name, std::string_view text, std::string_view value) override {
    if (name == http::field::expect && boost::beast::iequals({value.data(), value.size()}, "100-continue"))
      expects_continue = true;
    if (name == http::field::host) {
      if (++hosts_ > 1) refuse(400, "too many Host headers");
      if (!is_host(value)) refuse(400, "malformed Host header");
    }
    if (name == http::field::transfer_encoding && version < 11)
      refuse(400, "a transfer encoding in HTTP/1.0");
    headers.add(text, value);
  }
  void check_header() override {
    if (hosts_ == 0 && version >= 11 && request.method != "CONNECT")
      refuse(400, "missing required Host header");
  }

  int hosts_ = 0;
  bool moved_ = false;
};

RequestParser::RequestParser(Limits limits) : limits_(limits), max_body_(limits.max_body_bytes) {}
RequestParser::~RequestParser() = default;

std::size_t RequestParser::feed(std::string_view bytes) {
  if (!machine_) {
    machine_ = std::make_unique<Machine>();
    max_body_ = limits_.max_body_bytes;
  }
  const HttpLimits limits{limits_.max_header_bytes, limits_.max_header_bytes, max_body_};
  const std::size_t used = machine_->feed(bytes, limits);
  if (machine_->fault.status != 0) failure_ = {machine_->fault.status, machine_->fault.message};
  return used;
}

void RequestParser::limit_body(std::size_t bytes) {
  max_body_ = std::min(bytes, limits_.max_body_bytes);
  machine_->body_limit(max_body_);
  if (const auto length = machine_->content_length(); length && *length > max_body_)
    failure_ = {413, max_body_ == 0 ? "this path takes no body"
                                    : fmt::format("the request's body is larger than {} bytes", max_body_)};
  else if (machine_->chunked() && max_body_ == 0)
    failure_ = {413, "this path takes no body"};
}

bool RequestParser::header_done() const { return machine_ && machine_->is_header_done(); }
bool RequestParser::done() const { return machine_ && machine_->is_done(); }
const RequestParser::Failure& RequestParser::failure() const { return failure_; }
Request& RequestParser::request() { return machine_->current(); }
bool RequestParser::has_body() const { return !machine_->is_done(); }
std::size_t RequestParser::buffered() const { return machine_ ? machine_->body.capacity() : 0; }
std::size_t RequestParser::received() const { return machine_ ? machine_->body.size() : 0; }
bool RequestParser::chunked() const { return machine_ && machine_->chunked(); }
const Headers& RequestParser::trailers() const { return machine_->trailers; }
void RequestParser::take_body(std::string& into) { std::swap(into, machine_->body); }
bool RequestParser::expects_continue() const { return machine_ && machine_->expects_continue; }
bool RequestParser::keep_alive() const { return machine_ && machine_->keep_alive(); }
bool RequestParser::http_1_0() const { return machine_ && machine_->version < 11; }

void RequestParser::reset() { machine_.reset(); }

Request RequestParser::take() {
  Request request = std::move(machine_->current());
  request.body = std::move(machine_->body);
  machine_.reset();
  return request;
}

}  // namespace koord::net
