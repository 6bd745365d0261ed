// Connection: a client's, over TCP, TLS or a unix socket, with a deadline; bytes in, bytes out.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/address.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"
#include "tls_engine.hpp"

namespace koord::net {

/// What connections of one thread read into, one after the other: none of them needs it while it waits. Most
/// answers are small, and a pool has dozens of connections.
struct ReadRoom {
  static constexpr std::size_t kSize = std::size_t{32} * 1024;
  std::unique_ptr<char[]> encrypted = std::make_unique_for_overwrite<char[]>(kSize);
  std::unique_ptr<char[]> plain = std::make_unique_for_overwrite<char[]>(kSize);
};

/// One user at a time; without TLS one that reads and one that writes. After any error it is of no more use.
/// When the deadline passes, what waits returns Code::timeout.
class Connection {
 public:
  /// The room outlives it.
  Connection(const asio::any_io_executor& executor, Clock& clock, ReadRoom& room);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Tries the addresses in order; `tls` null is plain TCP.
  Task<Result<>> connect(const std::vector<asio::ip::address>& addresses, std::uint16_t port,
                         std::shared_ptr<const TlsContext> tls);
  /// A unix socket, plain.
  Task<Result<>> connect_unix(const std::string& path);
  Task<Result<>> write(std::string_view bytes);
  /// What came, in the room: valid until its reader waits for anything; empty when the peer has ended.
  Task<Result<std::string_view>> read();

  /// 0: none. Cheap: one timer per connection, armed again only when it fires too early.
  void set_deadline(nanoseconds from_now);
  /// Whose TLS it speaks; null over plain TCP.
  const TlsContext* context() const { return tls_ ? tls_->context() : nullptr; }
  /// Ended or broken by the peer while idle; a system call.
  bool dead() const;
  /// Without TLS: the peer reads an end, and may go on writing.
  void shut_down_write();
  /// After the peer's end was read: it takes nothing, either. Of a unix socket; else false.
  bool hung_up() const;
  /// Whoever waits is cancelled.
  void close();

 private:
  Task<Result<>> connect_one(const asio::generic::stream_protocol::endpoint& endpoint, std::string_view name);
  Task<Result<>> handshake();
  Task<Result<>> write_socket(std::string_view bytes);
  /// `into`: of the room's.
  Task<Result<std::string_view>> read_socket(char* into);
  Task<Result<>> flush();
  Error failure(const boost::system::error_code& code, std::string_view doing) const;
  void arm();

  asio::generic::stream_protocol::socket socket_;
  Clock& clock_;
  std::unique_ptr<TlsEngine> tls_;
  ReadRoom& room_;
  MonoTime deadline_{};  // the epoch: none
  MonoTime timer_at_{};
  TimerId timer_ = 0;
  bool timed_out_ = false;
  bool ended_ = false;
  bool more_ = false;  // TLS may hold decrypted bytes
};

}  // namespace koord::net
