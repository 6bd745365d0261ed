// ResponseParser: one HTTP/1.1 response as a machine from bytes to head and body; knows no socket.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "koord/base/result.hpp"
#include "koord/net/message.hpp"

namespace koord::net {

/// Unwraps chunks and Content-Length; does not unpack gzip.
class ResponseParser {
 public:
  static constexpr std::size_t kMaxHead = std::size_t{64} * 1024;
  static constexpr std::size_t kMaxLine = std::size_t{4} * 1024;  // of a chunk's size, or the whole trailer

  /// What is taken besides, by who passes the response on.
  struct Also {
    bool upgrade = false;       // 101 is the response, and ends it
    bool any_encoding = false;  // of the content
  };
  /// For the response to a request of that method.
  explicit ResponseParser(std::string_view method) : ResponseParser(method, {}) {}
  ResponseParser(std::string_view method, Also also);
  ~ResponseParser();

  /// Takes bytes as they come, appends what they hold of the body to `body`, returns how many it used: all
  /// of them unless the response is done. Code::parse for what is not HTTP/1.
  Result<std::size_t> feed(std::string_view in, std::string& body);
  /// The connection has ended: fine if the body lasts until then, else Code::unavailable.
  Result<> finish();

  bool head_done() const;
  bool done() const;
  /// Some of it has come, if only of its head.
  bool started() const { return started_; }
  /// Whether the connection can carry another request; only when done.
  bool keep_alive() const;
  bool gzip() const;
  /// When head_done(): how the body comes, and the words behind the status.
  bool chunked() const;
  bool until_end() const;
  std::string_view reason() const;
  /// Body bytes still to come where the server said so, else 0.
  std::uint64_t remaining() const;
  /// The fields behind the last chunk, when done().
  const Headers& trailers() const;
  /// Status and headers, when head_done(); its body is the caller's.
  Response& head();

 private:
  class Machine;
  void begin();

  const bool bodiless_;  // HEAD
  const Also also_;
  bool started_ = false;
  std::unique_ptr<Machine> machine_;
  std::string rest_;  // of a header or a chunk's line, until it is whole
};

}  // namespace koord::net
