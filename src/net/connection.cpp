// Writes go to the socket directly and wait only when it is full: the common case costs one system call.
#include "connection.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace koord::net {

namespace {
constexpr auto kToken = asio::as_tuple(asio::use_awaitable);
}

Connection::Connection(const asio::any_io_executor& executor, Clock& clock, ReadRoom& room)
    : socket_(executor), clock_(clock), room_(room) {}

Connection::~Connection() { clock_.cancel(timer_); }

void Connection::set_deadline(nanoseconds from_now) {
  deadline_ = from_now.count() > 0 ? clock_.mono() + from_now : MonoTime{};
  if (deadline_ != MonoTime{} && (timer_ == 0 || deadline_ < timer_at_)) arm();
}

void Connection::arm() {
  clock_.cancel(timer_);
  timer_at_ = deadline_;
  timer_ = clock_.call_at(deadline_, [this] {
    timer_ = 0;
    if (deadline_ == MonoTime{}) return;
    if (deadline_ > clock_.mono()) return arm();
    timed_out_ = true;
    boost::system::error_code ignored;
    socket_.close(ignored);
  });
}

bool Connection::dead() const {
  if (timed_out_ || ended_ || !socket_.is_open()) return true;
  char byte = 0;
  const ssize_t n = ::recv(const_cast<asio::generic::stream_protocol::socket&>(socket_).native_handle(),
                           &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

void Connection::shut_down_write() {
  boost::system::error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_send, ignored);
}

bool Connection::hung_up() const {
  if (!socket_.is_open()) return true;
  pollfd asked{const_cast<asio::generic::stream_protocol::socket&>(socket_).native_handle(), 0, 0};
  return ::poll(&asked, 1, 0) > 0 && (asked.revents & (POLLHUP | POLLERR)) != 0;
}

void Connection::close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

Error Connection::failure(const boost::system::error_code& code, std::string_view doing) const {
  if (timed_out_) return Error(Code::timeout, fmt::format("{}: no answer in time", doing));
  if (code == asio::error::operation_aborted) return Error(Code::cancelled, "asked to stop");
  return Error(Code::unavailable, fmt::format("{}: {}", doing, code.message()));
}

Task<Result<>> Connection::connect(const std::vector<asio::ip::address>& addresses, std::uint16_t port,
                                   std::shared_ptr<const TlsContext> tls) {
  Result<> connected;
  for (const asio::ip::address& address : addresses) {
    const asio::ip::tcp::endpoint endpoint(address, port);
    connected = co_await connect_one(endpoint, fmt::format("{}:{}", address.to_string(), port));
    if (connected || connected.error().code() != Code::unavailable) break;
  }
  if (!connected) co_return connected;
  if (!tls) co_return connected;
  tls_ = std::make_unique<TlsEngine>(std::move(tls));
  co_return co_await handshake();
}

Task<Result<>> Connection::connect_unix(const std::string& path) {
  if (path.size() >= sizeof(sockaddr_un::sun_path))  // Asio would throw
    co_return Error(Code::invalid, fmt::format("a socket's path is too long: {}", path));
  const asio::local::stream_protocol::endpoint endpoint(path);
  co_return co_await connect_one(endpoint, path);
}

Task<Result<>> Connection::connect_one(const asio::generic::stream_protocol::endpoint& endpoint,
                                       std::string_view name) {
  boost::system::error_code ignored;
  socket_.close(ignored);
  const auto [failed] = co_await socket_.async_connect(endpoint, kToken);
  if (failed || timed_out_) co_return failure(failed, fmt::format("connecting to {}", name));
  // A unix socket has no such options, and needs none.
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::keep_alive(true), ignored);
  socket_.non_blocking(true, ignored);
  co_return Result<>();
}

Task<Result<>> Connection::handshake() {
  for (;;) {
    Result<bool> step = tls_->handshake();
    const Result<> sent = co_await flush();
    if (!step) co_return std::move(step).error();
    KOORD_CO_CHECK(sent);
    if (*step) co_return Result<>();
    KOORD_CO_TRY(bytes, co_await read_socket(room_.encrypted.get()));
    if (bytes.empty()) co_return Error(Code::unavailable, "TLS: the connection ended within the handshake");
    tls_->receive(bytes);
  }
}

Task<Result<>> Connection::flush() {
  if (tls_->output().empty()) co_return Result<>();
  Result<> sent = co_await write_socket(tls_->output());
  tls_->clear_output();
  co_return sent;
}

Task<Result<>> Connection::write(std::string_view bytes) {
  if (!tls_) return write_socket(bytes);
  // What cannot be encrypted leaves the output empty, and the read that follows reports the error.
  (void)tls_->send(bytes);
  return flush();
}

Task<Result<>> Connection::write_socket(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n =
        ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
      continue;
    }
    if (errno == EINTR) continue;
    boost::system::error_code failed(errno, boost::system::system_category());
    if (errno == EAGAIN) {
      const auto [waited] = co_await socket_.async_wait(asio::socket_base::wait_write, kToken);
      failed = waited;
    }
    if (failed || timed_out_) co_return failure(failed, "writing to the server");
  }
  co_return Result<>();
}

/// It waits in any case, so that a server which sends without an end holds nobody up.
Task<Result<std::string_view>> Connection::read_socket(char* into) {
  for (;;) {
    const auto [failed] = co_await socket_.async_wait(asio::socket_base::wait_read, kToken);
    if (failed || timed_out_) co_return failure(failed, "reading from the server");
    const ssize_t n = ::recv(socket_.native_handle(), into, ReadRoom::kSize, MSG_DONTWAIT);
    if (n >= 0) co_return std::string_view(into, static_cast<std::size_t>(n));
    if (errno != EINTR && errno != EAGAIN)
      co_return failure({errno, boost::system::system_category()}, "reading from the server");
  }
}

Task<Result<std::string_view>> Connection::read() {
  if (!tls_) {
    KOORD_CO_TRY(bytes, co_await read_socket(room_.plain.get()));
    ended_ = bytes.empty();
    co_return bytes;
  }
  for (;;) {
    if (more_) {
      char* const plain = room_.plain.get();
      KOORD_CO_TRY(n, tls_->decrypt(plain, ReadRoom::kSize, ended_));
      more_ = n == ReadRoom::kSize;
      if (n > 0 || ended_) co_return std::string_view(plain, n);
    }
    KOORD_CO_TRY(bytes, co_await read_socket(room_.encrypted.get()));
    if (bytes.empty()) {  // no close_notify: the body's own framing tells whether something is missing
      ended_ = true;
      co_return std::string_view();
    }
    tls_->receive(bytes);
    more_ = true;
  }
}

}  // namespace koord::net
