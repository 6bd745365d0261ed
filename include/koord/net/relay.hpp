// Relay: requests that go on to another server as they come, both bodies in pieces; and connections that
// change their protocol, as bytes.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "koord/base/clock.hpp"
#include "koord/net/message.hpp"
#include "koord/net/pool.hpp"

namespace koord::net {

struct RelayOptions {
  Url to;  // plain, without a prefix
  nanoseconds connect_timeout = std::chrono::seconds{10};
  /// Asked about an answer whose body lasts until its connection ends: true, and from there on what the
  /// client sends goes on, too, though nobody asked for another protocol. Empty: never.
  std::function<bool(const Request&, const Response&)> takes_over = {};
  /// What a client is told when no answer came; its status also says so of one that is no HTTP. Empty: 502
  /// with the error's text.
  std::function<Response(const Error&)> failed = {};
};

struct RelayCounts {
  std::uint64_t requests = 0, failed = 0, taken_over = 0;
  std::uint64_t open = 0;                      // now under way
  std::uint64_t to_server = 0, to_client = 0;  // bytes of bodies, and of what was taken over
};

/// Whom an Admission names (server.hpp). A request keeps its target and headers, those of the hop aside, an
/// answer its status, reason and headers, and either its trailers; neither body is looked at or kept, at most
/// 48 KiB a direction are under way, and who reads slowly is waited for. A client that ends its connection
/// ends the server's, and the other way round; of a connection that was taken over each half by itself. A
/// body that is cut stays cut. Each connection of a client has one of the server's. One thread: the event
/// loop's.
class Relay {
 public:
  Relay(boost::asio::any_io_executor executor, Clock& clock, RelayOptions options);
  /// The servers whose requests it relays have gone, or have stopped.
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  RelayCounts counts() const;

  class Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::net
