// ResponseParser over Beast's parser.
#include "response_parser.hpp"

#include "http_machine.hpp"

namespace koord::net {

class ResponseParser::Machine final : public HttpMachine<false> {
 public:
  explicit Machine(const Also& also) : also_(also) {}

  Response head;
  bool gzip = false;

  /// 100, 103: the real one follows.
  bool interim() const { return head.status < 200 && head.status != 101; }

 private:
  void on_status(unsigned status) override {
    head.status = status;
    if (status < 100) refuse(400, "a status below 100");
    if (status == 101 && !also_.upgrade) refuse(400, "an unasked change of protocol");
  }
  void on_field(http::field name, std::string_view text, std::string_view value) override {
    if (name == http::field::content_encoding && !also_.any_encoding) {
      gzip = boost::beast::iequals({value.data(), value.size()}, "gzip");
      if (!gzip && !boost::beast::iequals({value.data(), value.size()}, "identity"))
        refuse(400, "unknown content encoding");
    }
    if (name == http::field::content_type)
      head.content_type = value;
    else
      head.headers.add(text, value);
  }

  const Also& also_;
};

ResponseParser::ResponseParser(std::string_view method, Also also)
    : bodiless_(method == "HEAD"), also_(also) {
  begin();
}
ResponseParser::~ResponseParser() = default;

void ResponseParser::begin() {
  machine_ = std::make_unique<Machine>(also_);
  machine_->skip(bodiless_);
}

Result<std::size_t> ResponseParser::feed(std::string_view in, std::string& body) {
  static constexpr HttpLimits kLimits{kMaxHead, kMaxLine, SIZE_MAX};
  const std::size_t before = rest_.size();
  started_ = started_ || !in.empty();
  if (before > 0) rest_.append(in);
  const std::string_view all = before > 0 ? std::string_view(rest_) : in;
  std::size_t used = 0;
  while (used < all.size() && !done()) {
    if (machine_->is_done()) begin();
    machine_->sink = &body;
    const std::size_t n = machine_->feed(all.substr(used), kLimits);
    used += n;
    if (machine_->fault.status != 0)
      return Error(Code::parse, fmt::format("HTTP response: {}", machine_->fault.message));
    if (n == 0) break;
  }
  if (done()) {
    rest_.clear();
    return used - before;
  }
  if (before > 0)
    rest_.erase(0, used);
  else
    rest_.assign(in.substr(used));
  return in.size();
}

Result<> ResponseParser::finish() {
  if (head_done() && machine_->need_eof() && !machine_->is_done()) {
    BeastError failed;
    machine_->put_eof(failed);
  }
  if (done()) return {};
  return Error(Code::unavailable, head_done() ? "the connection ended within the response's body"
                                              : "the connection ended before a response");
}

bool ResponseParser::head_done() const { return machine_->is_header_done() && !machine_->interim(); }
bool ResponseParser::done() const { return machine_->is_done() && !machine_->interim(); }
bool ResponseParser::keep_alive() const { return done() && machine_->keep_alive(); }
bool ResponseParser::gzip() const { return machine_->gzip; }
bool ResponseParser::chunked() const { return machine_->chunked(); }
bool ResponseParser::until_end() const { return machine_->need_eof(); }
std::string_view ResponseParser::reason() const { return machine_->reason; }
std::uint64_t ResponseParser::remaining() const {
  if (!head_done() || done()) return 0;
  return machine_->content_length_remaining().value_or(0);
}
const Headers& ResponseParser::trailers() const { return machine_->trailers; }
Response& ResponseParser::head() { return machine_->head; }

}  // namespace koord::net
