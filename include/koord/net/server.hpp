// Server: HTTP/1.1 over TCP, plain or TLS, for every port that koord opens.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/base/result.hpp"
#include "koord/net/message.hpp"
#include "koord/net/tls.hpp"

namespace koord::net {

struct ServerOptions {
  std::size_t max_header_bytes = std::size_t{64} * 1024;      // more: 431, and the connection is closed
  std::size_t max_body_bytes = std::size_t{3} * 1024 * 1024;  // more: 413, and the connection is closed
  std::chrono::seconds idle_timeout{180};                     // between two requests
  std::chrono::seconds request_timeout{30};  // from a request's first byte to its last; TLS handshake
  std::chrono::seconds write_timeout{60};    // a peer that reads nothing for so long is dropped
  std::size_t max_connections = 10'000;      // more: accepted and closed at once
  std::optional<Logger> log;                 // told of handlers that throw
};

/// Requests of one connection are answered in order, one at a time; what is pipelined waits.
/// Everything happens on the given executor; no thread of its own.
class Server {
 public:
  /// Called for each request; runs within the connection's task, and is cancelled with it.
  using Handler = std::function<Task<Response>(Request)>;
  /// Answers without a coroutine, or leaves the request untouched and returns nothing, and then
  /// Handler is called. Must not block.
  using FastHandler = std::function<std::optional<Response>(Request&)>;

  Server(boost::asio::any_io_executor executor, Clock& clock, ServerOptions options, Handler handler,
         FastHandler fast = {});
  /// stop() must have completed, or the executor's context no longer runs.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Opens a port (0: any) and serves it; may be called for several. Returns the port. The address is
  /// numeric; "" is every address, both families. Without TLS: plain. A busy port is Code::already_exists.
  Result<std::uint16_t> listen(const std::string& address, std::uint16_t port,
                               std::shared_ptr<const TlsContext> tls = nullptr);
  /// New connections of the TLS ports use this context; those that are open go on with theirs.
  void set_tls(std::shared_ptr<const TlsContext> tls);

  /// Closes the ports and idle connections, cancels streams, lets running requests finish for up to
  /// `grace`, then breaks off what is left.
  Task<void> stop(std::chrono::milliseconds grace);

  std::size_t connections() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::net
