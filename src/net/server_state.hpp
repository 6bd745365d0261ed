// ServerState: what the connections of one server share: room for connections, the budget of bodies, the
// date.
#pragma once

#include <string>
#include <unordered_map>
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
  const std::unordered_set<ServerConnection*>& connections() const { return connections_; }
  /// True if one more connection may come in; another may have to go for it.
  bool make_room();
  /// Counts a connection that is dropped, and tells the log of such at most once a minute.
  void drop(std::string_view reason, const std::string& address);

  /// A connection keeps `now` bytes of bodies where it kept `before`; false if that is over the budget.
  bool keep(std::size_t before, std::size_t now);

  std::string_view date_now();

  Clock& clock;
  const ServerOptions options;
  const ServerHandlers handlers;
  TaskGroup group;
  bool stopping = false;

 private:
  std::unordered_set<ServerConnection*> connections_;
  std::unordered_map<std::string, std::size_t> by_address_;
  std::size_t body_bytes_ = 0;
  std::size_t untold_ = 0;  // drops since the log's last line
  MonoTime tell_after_{};
  std::int64_t date_second_ = -1;
  std::string date_;
};

}  // namespace koord::net
