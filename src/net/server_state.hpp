// ServerState: what the connections of one server share: room for connections, the budget of bodies, the
// date.
#pragma once

#include <string>
#include <unordered_set>

#include "koord/async/task_group.hpp"
#include "koord/net/server.hpp"

namespace koord::net {

class ServerConnection;

/// Outlives the connections. The event loop's thread only.
class ServerState {
 public:
  ServerState(asio::any_io_executor executor, Clock& clock, ServerOptions options, ServerHandlers handlers);

  void enter(ServerConnection& connection);
  /// It counts no more, though its task may still be unwinding. Harmless when repeated.
  void leave(ServerConnection& connection);
  /// It was answered for the first time, and is proven() from now on.
  void proved(ServerConnection& connection);
  const std::unordered_set<ServerConnection*>& connections() const { return connections_; }
  /// True if one more connection may come in; another may have to go for it. Who has never been answered gets
  /// three quarters of the connections, and then another such goes.
  bool make_room();
  /// Counts a connection that is dropped, and tells the log of such at most once a minute.
  void drop(std::string_view reason, const std::string& address);

  /// A connection keeps `now` bytes of bodies where it kept `before`; others' unfinished bodies may go for
  /// it. False if it is its own that has to go.
  bool keep(const ServerConnection& connection, std::size_t before, std::size_t now);

  std::string_view date_now();

  Clock& clock;
  const ServerOptions options;
  const ServerHandlers handlers;
  TaskGroup group;
  bool stopping = false;

 private:
  std::unordered_set<ServerConnection*> connections_;
  std::size_t strangers_ = 0;  // of them, those that are not proven
  std::size_t body_bytes_ = 0;
  std::size_t untold_ = 0;  // drops since the log's last line
  MonoTime tell_after_{};
  std::int64_t date_second_ = -1;
  std::string date_;
};

}  // namespace koord::net
