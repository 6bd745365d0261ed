// Channel: a gRPC client of a unix socket.
#pragma once

#include <memory>
#include <string>

#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"
#include "koord/rpc/call.hpp"
#include "koord/rpc/engine.hpp"

namespace koord::rpc {

struct ChannelOptions {
  std::string path;  // of the socket
  std::size_t max_message = std::size_t{16} << 20;
  std::string user_agent;  // empty: gRPC's own
  /// How long whoever listens there may take to say so much as that he speaks HTTP/2.
  nanoseconds connect_within = std::chrono::seconds(5);
  /// Between two tries to connect; a call in between fails at once.
  nanoseconds least_backoff = std::chrono::milliseconds(100), most_backoff = std::chrono::seconds(3);
};

/// One connection, made with the first call and again after it broke. Used on the executor's thread.
class Channel {
 public:
  Channel(Engine& engine, ChannelOptions options);
  ~Channel();  // what is under way is cancelled
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// What the server says, or gRPC: nobody listens (unavailable), the time is over (deadline_exceeded).
  /// Cancelled with its coroutine: the server is told, and the status is `cancelled`.
  Task<Reply> call(Request request);
  const std::string& path() const;

  class Impl;
  Impl& impl() { return *impl_; }

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace koord::rpc
