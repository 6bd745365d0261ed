// RequestParser: bytes in, Requests out; knows no socket. Private to the server and its tests.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "koord/net/message.hpp"

namespace koord::net {

class RequestParser {
 public:
  struct Limits {
    std::size_t max_header_bytes, max_body_bytes;
  };
  /// What the client did wrong: the status to answer with (400, 413, 431) before closing.
  struct Failure {
    unsigned status = 0;  // 0: nothing failed
    std::string message;
  };

  explicit RequestParser(Limits limits);
  ~RequestParser();

  /// Takes the next bytes; returns how many it used. It stops behind the end of a request, so that a
  /// pipelined one stays with the caller, and uses nothing of an unfinished header. After a failure
  /// nothing more may be fed.
  std::size_t feed(std::string_view bytes);
  bool header_done() const;
  bool done() const;
  const Failure& failure() const;
  /// The client waits for "100 Continue" before it sends the body.
  bool expects_continue() const;
  /// Of the finished request; HTTP/1.0 without keep-alive closes.
  bool keep_alive() const;
  /// Bytes of an unfinished request have been seen.
  bool started() const;
  /// The request is of HTTP/1.0, which has no chunked bodies.
  bool http_1_0() const;
  /// The finished request, without its peer; the parser is ready for the next one.
  Request take();

 private:
  class Impl;
  Limits limits_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::net
