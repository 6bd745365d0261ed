// ServerConnection: reads, parses, answers, writes; at most one of them waits at a time.
#include "server_connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>
#include <cstring>
#include <utility>

#include <sys/socket.h>

namespace koord::net {
namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kReadSize = std::size_t{16} * 1024;
constexpr std::size_t kBatch =
    std::size_t{256} * 1024;  // encrypted or answered at a time before the socket is asked
constexpr std::size_t kMaxGather = 64;
constexpr auto kPatience = std::chrono::milliseconds{100};  // with who owes something, before it may go

bool would_block(const boost::system::error_code& ec) {
  return ec == asio::error::would_block || ec == asio::error::try_again;
}

/// True if the peer is one of a unix socket.
bool describe(asio::generic::stream_protocol::socket& socket, Peer& peer) {
  boost::system::error_code failed;
  const auto remote = socket.remote_endpoint(failed);
  const int family = remote.protocol().family();
  if (!failed && (family == AF_INET || family == AF_INET6)) {
    asio::ip::tcp::endpoint endpoint;
    endpoint.resize(remote.size());
    std::memcpy(endpoint.data(), remote.data(), remote.size());
    peer.address = endpoint.address().to_string();
    peer.port = endpoint.port();
    return false;
  }
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(socket.native_handle(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0)
    peer.address = fmt::format("pid {} of user {}", who.pid, who.uid);
  return family == AF_UNIX;
}

}  // namespace

ServerConnection::ServerConnection(ServerState& server, asio::generic::stream_protocol::socket socket,
                                   const std::shared_ptr<const TlsContext>& tls)
    : server_(server),
      socket_(std::move(socket)),
      peer_(std::make_shared<Peer>()),
      parser_({server.options.max_header_bytes, server.options.max_body_bytes}),
      came_(server.clock.mono()),
      since_(came_) {
  unix_ = describe(socket_, *peer_);
  if (tls) {
    tls_.emplace(tls);
    peer_->tls = true;
  }
  server_.enter(*this);
}

ServerConnection::~ServerConnection() {
  if (timer_ != 0) server_.clock.cancel(timer_);
  keep(0);
  server_.leave(*this);
}

Task<> ServerConnection::run() {
  boost::system::error_code ignored;
  socket_.non_blocking(true, ignored);
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::keep_alive(true), ignored);
  if (const std::size_t most = server_.options.send_buffer; most > 0)
    socket_.set_option(asio::socket_base::send_buffer_size(static_cast<int>(most)), ignored);
  net_.resize(kReadSize);
  deadline(server_.options.first_request_timeout);
  while (!broken_) {
    const Step step = process();
    if (step == Step::admit || step == Step::call || step == Step::relay) {
      no_deadline();
      write_now();  // answers to earlier requests do not wait for this one
    }
    if (step == Step::admit) {
      Admission admission = co_await ask();
      if (broken_) break;
      admitted(std::move(admission));
      if (!closing_) continue;
    } else if (step == Step::relay) {
      co_await relay();
      if (broken_) break;
    } else if (step == Step::call) {
      Response response = co_await server_.handlers.handle(std::move(request_));
      keep(0);
      respond(std::move(response));
    }
    const MonoTime began = server_.clock.mono();
    while (!write_now() && !broken_) {
      nanoseconds patience = server_.options.write_timeout;
      if (const nanoseconds most = server_.options.answer_timeout; most > nanoseconds::zero())
        patience = std::min(patience, began + most - server_.clock.mono());
      deadline(patience);
      stalled_ = std::min(stalled_, server_.clock.mono());
      co_await socket_.async_wait(asio::socket_base::wait_write, kAwait);
    }
    stalled_ = MonoTime::max();
    if (broken_) break;
    if (stream_) {
      no_deadline();
      watch_peer();
      const Result<std::vector<Bytes>> batch = co_await stream_->next();
      if (!batch) break;  // without the last chunk: the client sees that the body was cut
      add_chunk(*batch);
      continue;
    }
    if (closing_) break;
    if (step != Step::read) continue;
    if (serving_ && !admitted_) {
      serving_ = false;
      since_ = server_.clock.mono();
    }
    if (!in_request_) {
      idle_ = true;
      if (server_.stopping) break;
      deadline(server_.options.idle_timeout);
    }
    const auto [ec, received] = co_await socket_.async_read_some(asio::buffer(net_), kAwait);
    idle_ = false;
    if (ec || !take(received)) break;
  }
  stream_.reset();
  if (linger_ && !broken_) co_await linger();
  break_off();
}

// Closing while bytes are unread makes the kernel send a reset, which can overtake our answer.
Task<> ServerConnection::linger() {
  boost::system::error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_send, ignored);
  deadline(std::chrono::seconds{1});
  while (!broken_) {
    const auto [ec, received] = co_await socket_.async_read_some(asio::buffer(net_), kAwait);
    if (ec) break;
  }
}

// Decrypts what the socket gave; false if the peer has finished or the connection is broken.
bool ServerConnection::take(std::size_t received) {
  if (in_used_ == in_.size()) {
    in_.clear();
    in_used_ = 0;
  } else if (in_used_ > 0) {
    in_.erase(0, in_used_);
    in_used_ = 0;
  }
  if (!tls_) {
    in_.append(net_.data(), received);
    return true;
  }
  const bool was_done = tls_->handshake_done();
  tls_->receive({net_.data(), received});
  const Result<bool> open = tls_->decrypt(in_);
  if (!open) {
    write_now();  // the alert, if it fits into the socket's buffer
    return false;
  }
  if (!was_done && tls_->handshake_done()) tls_->describe_peer(*peer_);
  return *open;
}

ServerConnection::Step ServerConnection::process() {
  if (closing_ || stream_) return Step::write;
  while (true) {
    if (relay_ != nullptr) return Step::relay;  // which reads the body
    if (in_used_ < in_.size()) {
      if (!in_request_) {
        in_request_ = true;
        continued_ = false;
        deadline(server_.options.request_timeout);
      }
      in_used_ += parser_.feed(std::string_view(in_).substr(in_used_));
      keep(parser_.buffered());
      if (closing_) return Step::write;  // over the budget
    }
    if (parser_.failure().status != 0) {
      fail(parser_.failure().status, parser_.failure().message);
      return Step::write;
    }
    if (!parser_.header_done()) return Step::read;
    if (!admitted_) {
      known_ = true;
      keep_alive_ = parser_.keep_alive() && !server_.stopping;
      request_1_0_ = parser_.http_1_0();
      parser_.request().peer = peer_;
      head_only_ = parser_.request().method == "HEAD";
      if (server_.handlers.fast_admit)
        admitted(server_.handlers.fast_admit(parser_.request()));
      else if (server_.handlers.admit)
        return Step::admit;
      else
        admitted({});
      if (closing_) return Step::write;
      continue;
    }
    if (!parser_.done()) {
      if (parser_.expects_continue() && !continued_) {
        continued_ = true;
        output_.add(std::string_view("HTTP/1.1 100 Continue\r\n\r\n"));
      }
      return Step::read;
    }
    in_request_ = admitted_ = false;
    body_began_ = MonoTime::max();
    request_ = parser_.take();
    if (!server_.handlers.fast) return Step::call;
    std::optional<Response> response = server_.handlers.fast(request_);
    if (!response) return Step::call;
    keep(0);
    respond(std::move(*response));
    if (closing_ || stream_ || output_.size() >= kBatch) return Step::write;
  }
}

// A peer that has to go takes its question with it.
Task<Admission> ServerConnection::ask() {
  Admission admission;
  try {
    auto token = asio::bind_cancellation_slot(asking_.slot(), asio::use_awaitable);
    admission =
        co_await asio::co_spawn(socket_.get_executor(), server_.handlers.admit(parser_.request()), token);
  } catch (const boost::system::system_error& e) {
    if (e.code() != asio::error::operation_aborted) throw;
    broken_ = true;
  }
  co_return admission;
}

// The body is still to come, and is read only for those who are let in.
void ServerConnection::admitted(Admission admission) {
  if (!admission.refusal) {
    admitted_ = serving_ = true;
    relay_ = admission.relay;
    if (relay_ != nullptr && tls_) return fail(501, "this path is not served over TLS");
    if (relay_ != nullptr) return;
    parser_.limit_body(admission.max_body);
    if (parser_.done()) return;
    body_began_ = server_.clock.mono();
    deadline(server_.options.request_timeout);
    return;
  }
  if (parser_.done()) {
    (void)parser_.take();
    in_request_ = false;
  } else {
    keep_alive_ = false;
    linger_ = true;
  }
  respond(std::move(*admission.refusal));
}

void ServerConnection::keep(std::size_t bytes) {
  const std::size_t before = std::exchange(kept_, bytes);
  if (server_.keep(*this, before, bytes)) return;
  server_.drop("bodies", address());
  fail(503, "too many requests have a body");
}

ServerConnection::DropRank ServerConnection::drop_rank() const {
  const MonoTime now = server_.clock.mono();
  const auto late = [](nanoseconds since, DropRank::Kind otherwise) {
    return DropRank{since >= kPatience ? DropRank::stalled : otherwise, since};
  };
  if (stalled_ != MonoTime::max()) return late(now - stalled_, DropRank::served);
  if (owes_ != MonoTime::max()) return late(now - owes_, DropRank::served);
  if (body_began_ != MonoTime::max()) {
    const std::chrono::duration<double> paid(static_cast<double>(parser_.received()) /
                                             static_cast<double>(server_.options.min_body_rate));
    return late(now - body_began_ - std::chrono::duration_cast<nanoseconds>(paid), DropRank::served);
  }
  if (serving_) return {};
  if (!known_) return late(now - came_, DropRank::newcomer);
  return {DropRank::idle, now - since_};
}

double ServerConnection::body_cost() const {
  if (body_began_ == MonoTime::max()) return 0;
  const std::chrono::duration<double> age = server_.clock.mono() - body_began_;
  return static_cast<double>(kept_) * (age.count() + 1e-6);
}

void ServerConnection::drop_body() {
  body_began_ = MonoTime::max();
  parser_.reset();
  keep(0);
  break_off();
}

void ServerConnection::fail(unsigned status, const std::string& message) {
  known_ = true;  // it did say something
  keep_alive_ = false;
  linger_ = true;
  head_only_ = false;
  respond(Response::text(status, fmt::format("{}\n", message)));
  body_began_ = MonoTime::max();
  parser_.reset();
  keep(0);
}

void ServerConnection::respond(Response response) {
  if (!peer_->known && response.status < 400 && response.proves) {
    server_.proved(*this);
    peer_->known = true;
  }
  std::size_t size = response.body.size();
  for (const Bytes& part : response.parts) size += part->size();
  if (response.stream && request_1_0_) keep_alive_ = false;
  if (server_.stopping) keep_alive_ = false;
  ResponseHead head;
  head.date = server_.date_now();
  head.keep_alive = keep_alive_;
  head.chunked = response.stream != nullptr;
  head.http_1_0 = request_1_0_;
  scratch_.clear();
  write_head(scratch_, response, size, head);
  closing_ = !keep_alive_;
  output_.add(std::string_view(scratch_));
  if (head_only_) return;
  if (!response.stream) {
    output_.add(std::move(response.body));
    for (const Bytes& part : response.parts) output_.add(part);
    return;
  }
  raw_stream_ = request_1_0_;
  std::vector<Bytes> first;
  if (!response.body.empty()) first.push_back(std::make_shared<const std::string>(std::move(response.body)));
  for (Bytes& part : response.parts) first.push_back(std::move(part));
  stream_ = std::move(response.stream);
  stream_cancelled_ = false;
  if (size > 0) add_chunk(first);
  if (server_.stopping) stop_stream();
}

// No buffers: the body's end.
void ServerConnection::add_chunk(const std::vector<Bytes>& buffers) {
  if (buffers.empty()) {
    if (!raw_stream_) output_.add(std::string_view("0\r\n\r\n"));
    stream_.reset();
    if (server_.stopping || stream_cancelled_) closing_ = true;
    return;
  }
  std::size_t size = 0;
  for (const Bytes& bytes : buffers) size += bytes->size();
  if (size == 0) return;  // an empty chunk would end the body
  char head[24];
  const int n = std::snprintf(head, sizeof head, "%zx\r\n", size);
  if (!raw_stream_) output_.add(std::string_view(head, static_cast<std::size_t>(n)));
  for (const Bytes& bytes : buffers) output_.add(bytes);
  if (!raw_stream_) output_.add(std::string_view("\r\n"));
}

// True when nothing is left to write; false: wait until the socket takes more, or broken_.
bool ServerConnection::write_now() { return tls_ ? write_encrypted() : write_plain(); }

bool ServerConnection::write_encrypted() {
  while (true) {
    const std::size_t kept = server_.options.send_buffer;
    const std::size_t batch = kept > 0 ? std::min(kept, kBatch) : kBatch;
    while (!output_.empty() && tls_->handshake_done() && tls_->output().size() < batch) {
      const std::string_view piece = output_.front().substr(0, batch);
      if (!tls_->send(piece)) return write_failed(asio::error::connection_aborted);
      output_.consume(piece.size());
    }
    if (closing_ && !stream_ && output_.empty() && !close_sent_) {
      close_sent_ = true;
      tls_->send_close();
    }
    const std::string_view all = tls_->output();
    while (encrypted_used_ < all.size()) {
      boost::system::error_code ec;
      encrypted_used_ +=
          socket_.write_some(asio::buffer(all.data() + encrypted_used_, all.size() - encrypted_used_), ec);
      if (ec) return write_failed(ec);
    }
    tls_->clear_output();
    encrypted_used_ = 0;
    if (output_.empty() || !tls_->handshake_done()) return true;
  }
}

bool ServerConnection::write_plain() {
  while (!output_.empty()) {
    std::array<asio::const_buffer, kMaxGather> buffers;
    for (std::size_t i = 0; i < std::min(kMaxGather, output_.pieces()); ++i) {
      const std::string_view piece = output_.piece(i);
      buffers[i] = asio::const_buffer(piece.data(), piece.size());
    }
    boost::system::error_code ec;
    const std::size_t n = socket_.write_some(buffers, ec);
    if (ec) return write_failed(ec);
    output_.consume(n);
  }
  return true;
}

bool ServerConnection::write_failed(const boost::system::error_code& ec) {
  if (!would_block(ec)) broken_ = true;
  return false;
}

// While a stream waits for something to send, nobody else would notice that the client has gone.
void ServerConnection::watch_peer() {
  if (watching_) return;
  watching_ = true;
  socket_.async_wait(asio::socket_base::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& ec) {
                       self->watching_ = false;
                       self->input_.set();
                       if (!ec && self->stream_) self->peer_readable();
                     });
}

void ServerConnection::peer_readable() {
  boost::system::error_code ec;
  const std::size_t received = socket_.read_some(asio::buffer(net_), ec);
  if (would_block(ec)) return watch_peer();
  if (ec || !take(received) || in_.size() > 4 * kReadSize) return stop_stream();
  watch_peer();
}

void ServerConnection::stop_stream() {
  if (!stream_ || stream_cancelled_) return;
  stream_cancelled_ = true;
  stream_->cancel();
}

void ServerConnection::finish() {
  if (idle_) return break_off();
  stop_stream();
}

void ServerConnection::break_off() {
  broken_ = true;
  server_.leave(*this);
  stop_stream();
  input_.set();
  asking_.emit(asio::cancellation_type::all);
  boost::system::error_code ignored;
  socket_.close(ignored);
}

void ServerConnection::deadline(nanoseconds after) {
  deadline_ = server_.clock.mono() + after;
  if (!known_) deadline_ = std::min(deadline_, came_ + server_.options.first_request_timeout);
  if (timer_ == 0 || deadline_ < timer_at_) arm_timer();
}

// One timer a connection, moved only when it fires too early: a request costs no timer operation.
void ServerConnection::arm_timer() {
  if (timer_ != 0) server_.clock.cancel(timer_);
  timer_at_ = deadline_;
  timer_ = server_.clock.call_at(deadline_, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->timer_ = 0;
    if (self->deadline_ == MonoTime::max()) return;
    if (self->server_.clock.mono() >= self->deadline_) {
      if (!self->known_) self->server_.drop("silent", self->address());
      return self->break_off();
    }
    self->arm_timer();
  });
}

}  // namespace koord::net
