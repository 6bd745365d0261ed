// Server: HTTP/1.1 over TCP, plain or TLS, and over unix sockets, for all that koord opens.
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
#include "koord/base/metrics.hpp"
#include "koord/base/result.hpp"
#include "koord/net/message.hpp"
#include "koord/net/tls.hpp"
#include "koord/net/unix_listener.hpp"

namespace koord::net {

class Relay;

struct ServerOptions {
  std::size_t max_header_bytes = std::size_t{64} * 1024;      // more: 431, and the connection is closed
  std::size_t max_body_bytes = std::size_t{3} * 1024 * 1024;  // more: 413, and the connection is closed
  /// Bytes of all bodies that are kept at a time. For one more the unfinished body goes that has held most
  /// for longest (bytes times time); where that is the one itself it is answered with 503.
  std::size_t body_budget = std::size_t{256} * 1024 * 1024;
  std::chrono::seconds first_request_timeout{10};  // from the connection to the first request's header
  std::chrono::seconds request_timeout{30};        // from a request's first byte to its last
  std::chrono::seconds idle_timeout{180};          // between two requests
  std::chrono::seconds write_timeout{60};          // a peer that reads nothing for so long is dropped
  /// A peer that has not taken an answer, or a piece of a stream, in that time is dropped, however it
  /// trickles; 0: it may take as long as it reads some.
  std::chrono::seconds answer_timeout{0};
  /// Bytes that are kept for a peer that does not read, of the kernel and of TLS each; 0: as many as the
  /// kernel thinks fit, which are MiB.
  std::size_t send_buffer = 0;
  /// Bytes a second of a body below which its peer owes time; one that owes, or does not read its answer,
  /// loses its place to a newcomer when the server is full.
  std::size_t min_body_rate = std::size_t{256} * 1024;
  /// One more: somebody goes (ServerConnection::DropRank). A quarter of the places is for who is known: has
  /// been answered once (Response::proves).
  std::size_t max_connections = 10'000;
  std::optional<Logger>
      log;  // told of handlers that throw, and once a minute of connections that were dropped
  /// By the label `reason`: evicted (to make room), refused (no room could be made), silent (no request in
  /// time), bodies (over their budget). Without it nobody counts.
  std::optional<metrics::Family<metrics::Counter>> dropped = {};
};

/// What a request's header decides: an answer at once, or how much body it may bring.
struct Admission {
  std::optional<Response> refusal;
  std::size_t max_body = SIZE_MAX;  // 0: a body is 413; never more than the server's
  /// Who answers, in place of the handlers: the body goes on as it comes and counts for no budget, the
  /// server's max_body_bytes bounds it alone. Plain connections only, others get 501. Outlives the server.
  Relay* relay = nullptr;
};

struct ServerHandlers {
  /// Called for each request; runs within the connection's task, and is cancelled with it.
  std::function<Task<Response>(Request)> handle;
  /// Answers without a coroutine, or leaves the request untouched and returns nothing, and then `handle` is
  /// called. Must not block.
  std::function<std::optional<Response>(Request&)> fast = {};
  /// Asked when a request's header is there, before any of its body is read; cancelled when the peer has to
  /// go. Without it everything is admitted.
  std::function<Task<Admission>(const Request&)> admit = {};
  /// The same without a coroutine, asked instead.
  std::function<Admission(const Request&)> fast_admit = {};
};

/// Requests of one connection are answered in order, one at a time; what is pipelined waits.
/// Everything happens on the given executor; no thread of its own.
class Server {
 public:
  Server(boost::asio::any_io_executor executor, Clock& clock, ServerOptions options, ServerHandlers handlers);
  /// stop() must have completed, or the executor's context no longer runs.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Opens a port (0: any) and serves it; may be called for several. Returns the port. The address is
  /// numeric; "" is every address, both families. Without TLS: plain. A busy port is Code::already_exists.
  Result<std::uint16_t> listen(const std::string& address, std::uint16_t port,
                               std::shared_ptr<const TlsContext> tls = nullptr);
  /// Serves a unix socket, plain; UnixListener's errors.
  Result<> listen(UnixListenerOptions socket);
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
