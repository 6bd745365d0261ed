// RequestParser: bytes in, Requests out; knows no socket. Private to the server and its tests.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "koord/net/message.hpp"

namespace koord::net {

/// Refuses what kube-apiserver refuses, and bare LF besides.
class RequestParser {
 public:
  struct Limits {
    std::size_t max_header_bytes, max_body_bytes;
  };
  /// What the client did wrong: the status to answer with (400, 413, 431, 501) before closing.
  struct Failure {
    unsigned status = 0;  // 0: nothing failed
    std::string message;
  };

  explicit RequestParser(Limits limits);
  ~RequestParser();

  /// Takes the next bytes; returns how many it used. It stops behind the header, so that the body can be
  /// refused or bounded, and behind the end of a request, so that a pipelined one stays with the caller; and
  /// uses nothing of an unfinished header. After a failure nothing more may be fed.
  std::size_t feed(std::string_view bytes);
  bool header_done() const;
  bool done() const;
  const Failure& failure() const;

  // As the header says it: only after header_done().

  /// The request so far, for its peer to be set and its sender to be judged.
  Request& request();
  /// A body follows, or at least its end.
  bool has_body() const;
  /// No more body than this: a length that is said to be larger fails now, chunks fail later.
  void limit_body(std::size_t bytes);
  /// Bytes that the body's memory takes now.
  std::size_t buffered() const;
  /// Bytes of the body that have come.
  std::size_t received() const;
  /// Whose length nobody has said.
  bool chunked() const;
  /// Moves what has come of the body into `into`, which is empty; for who passes it on in pieces.
  void take_body(std::string& into);
  /// The fields behind the last chunk; only when done(), before take().
  const Headers& trailers() const;
  /// The client waits for "100 Continue" before it sends the body.
  bool expects_continue() const;
  /// HTTP/1.0 without keep-alive closes.
  bool keep_alive() const;
  /// The request is of HTTP/1.0, which has no chunked bodies.
  bool http_1_0() const;
  /// Forgets the request that was begun.
  void reset();
  /// The finished request; the parser is ready for the next one.
  Request take();

 private:
  class Machine;
  const Limits limits_;
  std::size_t max_body_;
  std::unique_ptr<Machine> machine_;
  Failure failure_;
};

}  // namespace koord::net
