// Server: ports, the connections' task group, and the way to an orderly end.
#include "koord/net/server.hpp"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <list>

#include "koord/async/timer.hpp"
#include "server_connection.hpp"

namespace koord::net {
namespace {

using asio::ip::tcp;

Error listen_error(const std::string& address, std::uint16_t port, const boost::system::error_code& ec) {
  const Code code = ec == asio::error::address_in_use ? Code::already_exists : Code::io;
  const std::string host = address.find(':') == std::string::npos ? address : fmt::format("[{}]", address);
  return Error(code, fmt::format("cannot listen on {}:{}: {}", host, port, ec.message()));
}

}  // namespace

class Server::Impl {
 public:
  struct Port {
    tcp::acceptor acceptor;
    bool tls;
  };

  Impl(asio::any_io_executor executor, Clock& clock, ServerOptions options, ServerHandlers handlers)
      : state(executor, clock, std::move(options), std::move(handlers)),
        doors(std::move(executor), log_failures(state.options.log)) {}

  Result<std::uint16_t> open(const std::string& address, std::uint16_t port,
                             std::shared_ptr<const TlsContext> context) {
    boost::system::error_code ec;
    tcp::endpoint endpoint(tcp::v6(), port);
    if (!address.empty()) {
      const auto ip = asio::ip::make_address(address, ec);
      if (ec) return Error(Code::invalid, fmt::format("\"{}\" is not an IP address", address));
      endpoint = {ip, port};
    }
    tcp::acceptor acceptor(state.group.executor());
    acceptor.open(endpoint.protocol(), ec);
    if (ec && address.empty()) {  // a kernel without IPv6
      endpoint = {tcp::v4(), port};
      acceptor.open(endpoint.protocol(), ec);
    }
    boost::system::error_code ignored;
    if (!ec) acceptor.set_option(asio::socket_base::reuse_address(true), ec);
    if (!ec && address.empty()) acceptor.set_option(asio::ip::v6_only(false), ignored);
    if (!ec) acceptor.bind(endpoint, ec);
    if (!ec) acceptor.listen(1024, ec);
    if (ec) return listen_error(address, port, ec);
    const std::uint16_t bound = acceptor.local_endpoint(ignored).port();
    ports.push_back({std::move(acceptor), context != nullptr});
    if (context) tls = std::move(context);
    state.group.spawn("http accept", accept(ports.back()));
    return bound;
  }

  Task<> accept(Port& port) {
    while (!state.stopping) {
      auto [ec, socket] = co_await port.acceptor.async_accept(asio::as_tuple(asio::use_awaitable));
      if (state.stopping || ec == asio::error::operation_aborted) co_return;
      if (ec) {  // out of descriptors, most likely: connections that end give some back
        const Result<> slept = co_await sleep(state.clock, std::chrono::milliseconds{100});
        if (!slept) co_return;
        continue;
      }
      if (!state.make_room()) continue;
      auto connection =
          std::make_shared<ServerConnection>(state, std::move(socket), port.tls ? tls : nullptr);
      state.group.spawn("http connection", ServerConnection::serve(std::move(connection)));
    }
  }

  Result<> open(UnixListenerOptions socket) {
    KOORD_TRY(listener, UnixListener::open(state.group.executor(), state.clock, std::move(socket)));
    sockets.push_back(std::move(listener));
    doors.spawn("http accept", accept(*sockets.back()));
    return {};
  }

  Task<Result<>> accept(UnixListener& listener) {
    for (;;) {
      KOORD_CO_TRY(fd, co_await listener.accept());
      if (!state.make_room()) continue;
      asio::generic::stream_protocol::socket socket(state.group.executor());
      boost::system::error_code failed;
      socket.assign(asio::generic::stream_protocol(AF_UNIX, 0), fd.get(), failed);
      if (failed) continue;
      (void)fd.release();
      auto connection = std::make_shared<ServerConnection>(state, std::move(socket), nullptr);
      state.group.spawn("http connection", ServerConnection::serve(std::move(connection)));
    }
  }

  ServerState state;
  TaskGroup doors;  // of unix sockets
  std::list<Port> ports;
  std::list<std::unique_ptr<UnixListener>> sockets;
  std::shared_ptr<const TlsContext> tls;
};

Server::Server(asio::any_io_executor executor, Clock& clock, ServerOptions options, ServerHandlers handlers)
    : impl_(std::make_unique<Impl>(std::move(executor), clock, std::move(options), std::move(handlers))) {}

Server::~Server() = default;

Result<std::uint16_t> Server::listen(const std::string& address, std::uint16_t port,
                                     std::shared_ptr<const TlsContext> tls) {
  return impl_->open(address, port, std::move(tls));
}

Result<> Server::listen(UnixListenerOptions socket) { return impl_->open(std::move(socket)); }

void Server::set_tls(std::shared_ptr<const TlsContext> tls) { impl_->tls = std::move(tls); }

Task<void> Server::stop(std::chrono::milliseconds grace) {
  ServerState& state = impl_->state;
  state.stopping = true;
  boost::system::error_code ignored;
  for (Impl::Port& port : impl_->ports) port.acceptor.close(ignored);
  co_await impl_->doors.stop(state.clock, std::chrono::milliseconds{100});
  impl_->sockets.clear();
  const std::vector<ServerConnection*> open(state.connections().begin(), state.connections().end());
  for (ServerConnection* connection : open) connection->finish();
  Task<Result<>> join = state.group.join();
  const Result<> finished = co_await with_timeout(state.clock, grace, std::move(join));
  if (!finished) {
    const std::vector<ServerConnection*> left(state.connections().begin(), state.connections().end());
    for (ServerConnection* connection : left) connection->break_off();
  }
  co_await state.group.stop(state.clock, std::chrono::milliseconds{100});
}

std::size_t Server::connections() const { return impl_->state.connections().size(); }

}  // namespace koord::net
