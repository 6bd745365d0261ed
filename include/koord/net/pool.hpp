// Pool: a client's kept-alive connections to one server, most recently used first.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "koord/async/resolve.hpp"
#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/net/message.hpp"
#include "koord/net/tls.hpp"

namespace koord::net {

/// "https://10.0.0.1:6443/prefix", taken apart.
struct Url {
  bool tls = false;
  std::string host;       // without brackets
  std::string authority;  // for the Host field
  std::string prefix;     // before every target; no slash at its end
  std::uint16_t port = 0;
  std::string unix_path = {};  // of a socket; if set it is all that counts to connect
};
/// Code::invalid for all but http:// and https:// with a host.
Result<Url> parse_url(const std::string& text);
/// A server behind a unix socket, plain: "/run/docker.sock" or "unix:///run/docker.sock". `host` is what the
/// Host field says. Code::invalid: the path is not absolute or longer than the kernel takes.
Result<Url> unix_url(std::string_view path, std::string host = "localhost");

/// A response whose body is read as it comes. Destroying it drops the connection.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Status and headers; body is empty.
  virtual const Response& head() const = 0;
  /// The next bytes, decoded, valid until the next call; empty at the orderly end of the body. A body that
  /// is cut short is Code::unavailable. Waits as long as it takes, unless `idle` is given: when
  /// that long nothing comes, Code::timeout (the stream is then dead).
  virtual Task<Result<std::string_view>> read(nanoseconds idle = nanoseconds{0}) = 0;
};

struct PoolOptions {
  /// Connections in use at once, streams not counted; further requests wait for one in order of arrival.
  unsigned max_connections = 32;
  nanoseconds connect_timeout = std::chrono::seconds{10};  // look-up and handshake included
  nanoseconds request_timeout = std::chrono::seconds{60};
  /// Idle connections are closed after this.
  nanoseconds idle_timeout = std::chrono::seconds{90};
  /// Largest body of an answer, as it comes and unpacked; a bigger one is Code::too_large.
  std::size_t max_body = std::size_t{256} << 20;
  /// The same of all answers under way together; one of less than a sixteenth of it always has room.
  std::size_t answer_budget = std::size_t{256} << 20;
  /// Ask for gzip where the answer may be big (GET); decoding costs less than the network, not on loopback.
  bool gzip = true;
  /// Of every request.
  Headers headers = {};
  /// How the server's name is looked up.
  ResolveOptions resolve = {};
};

/// One thread: the event loop's. Errors are of the way, not of the server: unavailable (refused, reset, cut,
/// TLS verification), timeout, too_large, parse, cancelled. Any status that the server sends is a response.
/// The clock must outlive the pool, and the pool its requests and streams.
class Pool {
 public:
  /// `tls` where the URL says https.
  Pool(boost::asio::any_io_executor executor, Clock& clock, Url url, std::shared_ptr<const TlsContext> tls,
       PoolOptions options);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// The request must stay until the task has ended; `authorization` is that header's value, empty for none.
  Task<Result<Response>> send(const Request& request, std::string authorization = {});
  Task<Result<std::unique_ptr<Stream>>> open_stream(Request request, std::string authorization = {});
  /// New connections use this context; idle ones are closed, those in use after their request.
  void set_tls(std::shared_ptr<const TlsContext> tls);

  class Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::net
