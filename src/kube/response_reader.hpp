// ResponseReader: one HTTP/1.1 response as a machine from bytes to head and body; knows no socket.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "koord/kube/transport.hpp"

namespace koord::kube {

/// Unwraps chunks and Content-Length; does not unpack gzip.
class ResponseReader {
 public:
  static constexpr std::size_t kMaxHead = std::size_t{64} * 1024;
  static constexpr std::size_t kMaxLine = std::size_t{4} * 1024;  // of a chunk's size or a trailer

  /// Ready for the response to a request of that method.
  void reset(Method method);

  /// Takes bytes as they come, appends what they hold of the body to `body`, returns how many it used: all
  /// of them unless the response is done. Code::parse for what is not HTTP/1.
  Result<std::size_t> feed(std::string_view in, std::string& body);
  /// The connection has ended: fine if the body lasts until then, else Code::unavailable.
  Result<> finish();

  bool head_done() const { return state_ > State::head; }
  bool done() const { return state_ == State::done; }
  /// Nothing came yet: the request may not have been seen.
  bool untouched() const { return state_ == State::head && line_.empty(); }
  /// Whether the connection can carry another request; only when done.
  bool keep_alive() const { return keep_alive_; }
  bool gzip() const { return gzip_; }
  /// Body bytes still to come where the server said so, else 0.
  std::uint64_t remaining() const { return state_ == State::counted ? left_ : 0; }
  const HttpResponse& head() const { return head_; }
  HttpResponse& head() { return head_; }

 private:
  enum class State : std::uint8_t { head, counted, until_close, chunk_size, chunk, chunk_end, trailer, done };
  Result<> parse_head(std::string_view text);
  Result<> parse_field(std::string_view name, std::string_view value);
  Result<> parse_chunk_size();
  /// Collects up to a line's end in line_; true if it is complete (and then without its CRLF).
  Result<bool> take_line(std::string_view& in);

  State state_ = State::head;
  Method method_ = Method::get;
  bool keep_alive_ = true;
  bool gzip_ = false;
  bool chunked_ = false;
  bool has_length_ = false;
  std::uint64_t left_ = 0;
  std::string line_;
  HttpResponse head_;
};

}  // namespace koord::kube
