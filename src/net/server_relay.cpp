// ServerConnection: what a relay's hop sees of it, and what becomes of it afterwards.
#include <poll.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "server_connection.hpp"

namespace koord::net {
namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kMostAhead = std::size_t{64} * 1024;  // of later requests, while one is answered

bool would_block(const boost::system::error_code& ec) {
  return ec == asio::error::would_block || ec == asio::error::try_again;
}

}  // namespace

Task<> ServerConnection::relay() {
  while (!write_now() && !broken_) {
    deadline(server_.options.write_timeout);
    stalled_ = std::min(stalled_, server_.clock.mono());
    co_await socket_.async_wait(asio::socket_base::wait_write, kAwait);
  }
  stalled_ = MonoTime::max();
  if (broken_) co_return;
  no_deadline();
  if (parser_.expects_continue() && !parser_.done()) {
    const Result<> told = co_await write("HTTP/1.1 100 Continue\r\n\r\n");
    if (!told) {
      broken_ = true;
      co_return;
    }
  }
  Relay& relay = *std::exchange(relay_, nullptr);
  if (!hop_ || &hop_->relay() != &relay.impl()) hop_ = std::make_unique<RelayHop>(relay.impl());
  std::shared_ptr<RelayFront> self(shared_from_this(), this);
  const RelayEnd end = co_await hop_->run(std::move(self));
  if (broken_) co_return;
  in_request_ = admitted_ = false;
  if (parser_.failure().status != 0) {
    if (end.failed) co_return fail(parser_.failure().status, parser_.failure().message);
    closing_ = broken_ = true;
    co_return;
  }
  const bool done = parser_.done();
  if (end.failed) {
    if (!done) {
      keep_alive_ = false;
      linger_ = true;
    }
    (void)parser_.take();
    respond(hop_->answer_to(*end.failed));
    co_return;
  }
  (void)parser_.take();
  if (end.keep && !server_.stopping) co_return;
  closing_ = true;
  if (end.whole)
    linger_ = true;
  else
    broken_ = true;  // so that a body which was cut is seen to be
}

/// Reads what the socket has, and waits for it; false at the end of the client's half.
Task<Result<bool>> ServerConnection::pull() {
  for (;;) {
    if (interrupted_) co_return Error(Code::cancelled, "asked to stop");
    if (broken_) co_return Error(Code::unavailable, "the client has gone");
    boost::system::error_code ec;
    const std::size_t received = socket_.read_some(asio::buffer(net_), ec);
    if (ec == asio::error::eof) co_return false;
    if (!ec) {
      take(received);
      co_return true;
    }
    if (!would_block(ec)) co_return Error(Code::unavailable, ec.message());
    input_.reset();
    watch_peer();
    KOORD_CO_CHECK(co_await input_.wait());
  }
}

Task<Result<std::string_view>> ServerConnection::read_body() {
  piece_.clear();
  for (;;) {
    if (in_used_ < in_.size()) in_used_ += parser_.feed(std::string_view(in_).substr(in_used_));
    if (parser_.failure().status != 0) co_return Error(Code::parse, parser_.failure().message);
    parser_.take_body(piece_);
    if (!piece_.empty() || parser_.done()) co_return std::string_view(piece_);
    owes_ = server_.clock.mono();
    const Result<bool> more = co_await pull();
    owes_ = MonoTime::max();
    if (!more) co_return more.error();
    if (!*more) co_return Error(Code::unavailable, "the request's body was cut");
  }
}

Task<Result<std::string_view>> ServerConnection::read_raw() {
  if (in_used_ == in_.size()) {
    KOORD_CO_TRY(more, co_await pull());
    if (!more) co_return std::string_view();
  }
  const std::size_t from = std::exchange(in_used_, in_.size());
  co_return std::string_view(in_).substr(from);
}

Task<Result<>> ServerConnection::wait_end() {
  for (;;) {
    if (in_.size() - in_used_ >= kMostAhead) {  // the kernel keeps the rest
      input_.reset();
      if (!interrupted_) KOORD_CO_CHECK(co_await input_.wait());
      if (interrupted_) co_return Error(Code::cancelled, "asked to stop");
      continue;
    }
    KOORD_CO_TRY(more, co_await pull());
    if (!more) break;
  }
  if (!unix_ || hung_up()) co_return Result<>();
  input_.reset();
  socket_.async_wait(asio::socket_base::wait_error,
                     [self = shared_from_this()](const boost::system::error_code&) { self->input_.set(); });
  KOORD_CO_CHECK(co_await input_.wait());
  if (interrupted_) co_return Error(Code::cancelled, "asked to stop");
  co_return Result<>();
}

void ServerConnection::interrupt(bool now) {
  interrupted_ = now;
  if (now) input_.set();
}

Task<Result<>> ServerConnection::write(std::string_view bytes) {
  while (!bytes.empty()) {
    boost::system::error_code ec;
    const std::size_t written = socket_.write_some(asio::buffer(bytes.data(), bytes.size()), ec);
    bytes.remove_prefix(written);
    if (!ec) continue;
    if (would_block(ec)) {
      stalled_ = server_.clock.mono();
      const auto [failed] = co_await socket_.async_wait(asio::socket_base::wait_write, kAwait);
      stalled_ = MonoTime::max();
      ec = failed;
    }
    if (ec || broken_) co_return Error(Code::unavailable, "the client has gone");
  }
  co_return Result<>();
}

void ServerConnection::shut_down_write() {
  boost::system::error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_send, ignored);
}

bool ServerConnection::hung_up() const {
  if (broken_) return true;
  pollfd asked{const_cast<asio::generic::stream_protocol::socket&>(socket_).native_handle(), 0, 0};
  return ::poll(&asked, 1, 0) > 0 && (asked.revents & (POLLHUP | POLLERR)) != 0;
}

void ServerConnection::answered(unsigned status) {
  if (peer_->known || status >= 400) return;
  server_.proved(*this);
  peer_->known = true;
}

void ServerConnection::spawn(Task<> task) { server_.group.spawn("http relay", std::move(task)); }

}  // namespace koord::net
