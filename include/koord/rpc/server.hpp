// Server: gRPC on a unix socket. Methods with a handler are answered by koord; all others go to a channel as
// bytes, streams and all, or are Unimplemented.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "koord/async/task.hpp"
#include "koord/base/log.hpp"
#include "koord/net/unix_listener.hpp"
#include "koord/rpc/call.hpp"
#include "koord/rpc/channel.hpp"
#include "koord/rpc/engine.hpp"

namespace koord::rpc {

struct ServerOptions {
  net::UnixListenerOptions socket;
  std::size_t max_message = std::size_t{16} << 20;
  int max_streams = 1000;                       // of one connection; more wait at the peer
  std::size_t max_connections = 100;            // one more costs one that has no call its place
  std::size_t memory = std::size_t{256} << 20;  // of all messages that are under way
  /// Who answers what no handler is named for; null: nobody. Outlives the server.
  Channel* rest = nullptr;
  std::optional<Logger> log;
};

/// A method with one request and one reply. Runs on the executor; cancelled when the caller has gone, gave up
/// or its time is over. An exception that escapes is answered as Internal.
using Handler = std::function<Task<Reply>(Request)>;

/// What was relayed since the start, for metrics; read from any thread.
struct RelayCounts {
  std::uint64_t calls = 0, messages = 0, bytes = 0, open = 0;
};

class Server {
 public:
  Server(Engine& engine, Clock& clock, ServerOptions options);
  /// stop() must have completed, or nothing was listened on.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Before listen().
  void handle(std::string method, Handler handler);
  /// Errors: net::UnixListener's.
  Result<> listen();
  /// Closes the socket, lets calls end for `grace`, then cancels them.
  Task<> stop(nanoseconds grace);
  RelayCounts relayed() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::rpc
