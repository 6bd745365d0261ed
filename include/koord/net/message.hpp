// Request and Response: one of each, for servers and clients.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"

namespace koord::net {

/// Immutable bytes that many responses may share: serialised once, written to every watcher.
using Bytes = std::shared_ptr<const std::string>;

/// Header fields in the order they were added, kept in one allocation. Names compare without case.
class Headers {
 public:
  void add(std::string_view name, std::string_view value);
  /// The first field of that name, empty if there is none (or if it is empty: see has()).
  std::string_view get(std::string_view name) const;
  bool has(std::string_view name) const;
  std::vector<std::string_view> all(std::string_view name) const;
  std::size_t size() const { return fields_.size(); }
  std::pair<std::string_view, std::string_view> at(std::size_t i) const;
  void clear();

 private:
  struct Field {
    std::uint32_t name, name_size, value_size;  // the value follows the name in text_
  };
  std::string text_;
  std::vector<Field> fields_;
};

/// Who is at the other end; one object a connection, shared by its requests.
struct Peer {
  std::string address;  // "127.0.0.1", "::1"; of a unix socket "pid 17 of user 0"
  std::uint16_t port = 0;
  bool tls = false;
  /// A request of it was answered without an error before (Response::proves).
  bool known = false;
  bool certificate_given = false;
  /// Set if a client certificate was presented and signed by the server's client CA.
  bool certificate_verified = false;
  /// Set if it was signed by the CA of proxies: its headers say who asks, it is nobody itself.
  bool proxy_verified = false;
  std::string common_name;                 // CN: the user's name
  std::vector<std::string> organizations;  // O: the user's groups
};

/// A request, as a server's handler gets it and as a client sends it.
struct Request {
  std::string method = "GET";  // upper case
  std::string target;          // as it goes over the wire: "/api/v1/pods?limit=5"
  Headers headers;             // a client's: without those that the pool sets
  std::string body;

  // What a server makes of it.
  std::string path;  // percent-decoded, without the query: "/api/v1/pods"
  std::vector<std::pair<std::string, std::string>> query;  // decoded, in order
  std::shared_ptr<const Peer> peer;                        // never null in a handler

  // What a client wants besides.
  /// Until the response is complete, or a stream's header has come; 0: the pool's default.
  nanoseconds timeout{0};
  /// May be sent a second time when a kept-alive connection turns out to be dead. GET and HEAD always may.
  bool idempotent = false;
  /// The most bytes of the answer's body, unpacked; 0: the pool's limit, which it never exceeds.
  std::size_t max_answer = 0;
  /// Asked when it is about to go over the wire, after all waiting for a connection; false: it does not, and
  /// the answer is Code::unavailable. Empty: it may.
  std::function<bool()> may_go = {};

  /// The first parameter of that name; empty string_view with data()==nullptr if it is absent.
  std::string_view query_get(std::string_view name) const;
  bool query_has(std::string_view name) const;
};

/// A body that is made while it is sent (a watch). Lives on the server's executor.
class BodySource {
 public:
  virtual ~BodySource() = default;
  /// Waits until there is something to send. The buffers leave in one gathered write, as one chunk;
  /// give as many as are ready. No buffers end the body; an error breaks the connection off, so that
  /// the client sees a cut body.
  virtual Task<Result<std::vector<Bytes>>> next() = 0;
  /// The client has gone or the server stops: the next() that waits, or the following one, returns
  /// no buffers soon. Called at most once, never after the body has ended. When a write fails the
  /// source is destroyed without it.
  virtual void cancel() = 0;
};

/// An answer, as a server's handler gives it and as a client gets it: complete, unchunked and unpacked.
struct Response {
  unsigned status = 200;
  std::string content_type;  // left out if empty
  Headers headers;  // others; Content-Length, Transfer-Encoding, Connection, Date are the server's to add
  std::string body;

  // A server's, besides.
  std::vector<Bytes> parts;            // sent after body without being copied; counted in Content-Length
  std::shared_ptr<BodySource> stream;  // if set: chunked, after body and parts
  /// Whoever is answered so, with a status below 400, is known from then on and keeps a place among
  /// strangers. False for what a port says to anybody: its health where it serves something else.
  bool proves = true;

  static Response text(unsigned status, std::string body);
  static Response json(unsigned status, std::string body);
};

/// "a%20b" -> "a b"; with plus_is_space also '+'. Malformed escapes are refused.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space = false);

}  // namespace koord::net
