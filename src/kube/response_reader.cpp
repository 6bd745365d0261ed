// Strict where leniency would desynchronise the connection: lengths, chunk sizes, line ends.
#include "response_reader.hpp"

#include <algorithm>
#include <charconv>

namespace koord::kube {

namespace {

bool same(std::string_view a, std::string_view lower) {
  return a.size() == lower.size() && std::equal(a.begin(), a.end(), lower.begin(), [](char x, char y) {
           return (x >= 'A' && x <= 'Z' ? static_cast<char>(x + 32) : x) == y;
         });
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

Error bad(std::string_view what) { return Error(Code::parse, "HTTP response: " + std::string(what)); }

template <class N>
bool number(std::string_view text, N& out, int base = 10) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return failed == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace

void ResponseReader::reset(Method method) {
  state_ = State::head;
  method_ = method;
  keep_alive_ = true;
  gzip_ = chunked_ = has_length_ = false;
  left_ = 0;
  line_.clear();
  head_ = HttpResponse();
}

Result<std::size_t> ResponseReader::feed(std::string_view in, std::string& body) {
  const std::size_t size = in.size();
  while (!in.empty() && state_ != State::done) {
    switch (state_) {
      case State::head: {
        // Most often it has come whole.
        if (const std::size_t end = line_.empty() ? in.find("\r\n\r\n") : std::string_view::npos;
            end < kMaxHead - 4) {
          const std::string_view head = in.substr(0, end + 2);
          in.remove_prefix(end + 4);
          KOORD_CHECK(parse_head(head));
          break;
        }
        // The end may lie across two reads: search again from three bytes before what is new.
        const std::size_t from = line_.size() < 3 ? 0 : line_.size() - 3;
        const std::size_t room = kMaxHead - line_.size();
        const std::size_t before = line_.size();
        line_.append(in.substr(0, room));
        const std::size_t end = line_.find("\r\n\r\n", from);
        if (end == std::string::npos) {
          if (line_.size() >= kMaxHead) return bad("the header is longer than 64 KiB");
          in.remove_prefix(std::min(room, in.size()));
          break;
        }
        in.remove_prefix(end + 4 - before);
        const std::string head = line_.substr(0, end + 2);
        line_.clear();
        KOORD_CHECK(parse_head(head));
        break;
      }
      case State::counted:
      case State::chunk: {
        const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(left_, in.size()));
        body.append(in.substr(0, n));
        in.remove_prefix(n);
        left_ -= n;
        if (left_ == 0) state_ = state_ == State::counted ? State::done : State::chunk_end;
        break;
      }
      case State::until_close:
        body.append(in);
        in = {};
        break;
      case State::chunk_size: {
        KOORD_TRY(complete, take_line(in));
        if (!complete) break;
        KOORD_CHECK(parse_chunk_size());
        line_.clear();
        break;
      }
      case State::chunk_end: {
        KOORD_TRY(complete, take_line(in));
        if (!complete) break;
        if (!line_.empty()) return bad("a chunk is longer than its size");
        state_ = State::chunk_size;
        break;
      }
      case State::trailer: {
        KOORD_TRY(complete, take_line(in));
        if (!complete) break;
        if (line_.empty()) state_ = State::done;
        line_.clear();
        break;
      }
      case State::done: break;
    }
  }
  return size - in.size();
}

Result<bool> ResponseReader::take_line(std::string_view& in) {
  const std::size_t end = in.find('\n');
  line_.append(in.substr(0, end == std::string_view::npos ? in.size() : end));
  in.remove_prefix(end == std::string_view::npos ? in.size() : end + 1);
  if (line_.size() > kMaxLine) return bad("a chunk's first line is longer than 4 KiB");
  if (end == std::string_view::npos) return false;
  if (line_.empty() || line_.back() != '\r') return bad("a line does not end in CRLF");
  line_.pop_back();
  return true;
}

Result<> ResponseReader::parse_chunk_size() {
  std::string_view size = line_;
  size = trim(size.substr(0, size.find(';')));
  if (size.size() > 15 || !number(size, left_, 16)) return bad("a chunk's size is not a number");
  state_ = left_ == 0 ? State::trailer : State::chunk;
  return {};
}

Result<> ResponseReader::parse_head(std::string_view text) {
  head_ = HttpResponse();
  gzip_ = chunked_ = has_length_ = false;
  const std::size_t first = text.find("\r\n");
  std::string_view status = text.substr(0, first);
  if (status.size() < 12 || !status.starts_with("HTTP/1.") || status[8] != ' ' ||
      !number(status.substr(9, 3), head_.status) || head_.status < 100 ||
      (status.size() > 12 && status[12] != ' '))
    return bad("the first line is \"" + std::string(status.substr(0, 80)) + "\"");
  keep_alive_ = status[7] != '0';
  for (text.remove_prefix(first + 2); !text.empty();) {
    const std::size_t end = text.find("\r\n");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 2);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0 || line.front() == ' ' || line.front() == '\t' ||
        line[colon - 1] == ' ')
      return bad("a header field is malformed");
    KOORD_CHECK(parse_field(line.substr(0, colon), trim(line.substr(colon + 1))));
  }
  if (head_.status < 200) {  // 100, 103: the real one follows
    if (head_.status == 101) return bad("an unasked change of protocol");
    return {};
  }
  if (method_ == Method::head || head_.status == 204 || head_.status == 304) {
    state_ = State::done;
  } else if (chunked_) {
    if (has_length_) return bad("it has a length and chunks");
    state_ = State::chunk_size;
  } else if (has_length_) {
    state_ = left_ == 0 ? State::done : State::counted;
  } else {
    state_ = State::until_close;
    keep_alive_ = false;
  }
  return {};
}

Result<> ResponseReader::parse_field(std::string_view name, std::string_view value) {
  if (same(name, "content-length")) {
    std::uint64_t length = 0;
    if (!number(value, length) || (has_length_ && length != left_)) return bad("its length is malformed");
    has_length_ = true;
    left_ = length;
  } else if (same(name, "transfer-encoding")) {
    if (!same(value, "chunked")) return bad("unknown transfer encoding");
    chunked_ = true;
  } else if (same(name, "content-encoding")) {
    if (same(value, "gzip"))
      gzip_ = true;
    else if (!same(value, "identity"))
      return bad("unknown content encoding");
  } else if (same(name, "connection")) {
    if (same(value, "close"))
      keep_alive_ = false;
    else if (same(value, "keep-alive"))
      keep_alive_ = true;
  } else if (same(name, "content-type")) {
    head_.content_type = value;
  } else if (same(name, "retry-after")) {
    // The other form, a date, is not used by API servers.
    unsigned seconds = 0;
    if (number(value, seconds)) head_.retry_after = std::chrono::seconds{std::min(seconds, 86'400u)};
  }
  return {};
}

Result<> ResponseReader::finish() {
  if (state_ == State::until_close) state_ = State::done;
  if (state_ == State::done) return {};
  return Error(Code::unavailable, head_done() ? "the connection ended within the response's body"
                                              : "the connection ended before a response");
}

}  // namespace koord::kube
