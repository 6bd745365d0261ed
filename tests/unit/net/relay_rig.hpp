// A server on a unix socket that relays to a second one; the test plays both the client and the server
// behind, byte by byte, on one thread.
#pragma once

#include <unistd.h>

#include <boost/asio/local/stream_protocol.hpp>
#include <catch2/catch.hpp>
#include <optional>
#include <string>

#include "koord/net/relay.hpp"
#include "koord/net/server.hpp"
#include "support/run_task.hpp"
#include "support/tree.hpp"

namespace koord::net::test_rig {

using local = asio::local::stream_protocol;

struct RelayBench {
  testing::Tree tree;
  test::Loop loop;
  asio::io_context outside;  // the test's own sockets
  local::acceptor acceptor{outside};
  Relay relay;
  Server server;

  explicit RelayBench(std::size_t seats = 16, bool behind = true)
      : relay(loop.executor(), loop.clock, options()),
        server(loop.executor(), loop.clock, server_options(seats),
               {.handle = [this](Request r) { return answer(std::move(r)); },
                .fast_admit = [this](const Request& r) { return admit(r); }}) {
    const Result<> opened = server.listen({.path = tree / "front", .users = {::getuid()}});
    REQUIRE(opened.has_value());
    if (!behind) return;
    acceptor.open();
    acceptor.bind(tree / "back");
    acceptor.listen();
    acceptor.non_blocking(true);
  }
  ~RelayBench() {
    Task<> stopped = server.stop(std::chrono::milliseconds{10});
    test::run_task(loop, std::move(stopped));
  }

  RelayOptions options() const {
    RelayOptions relayed;
    relayed.to = *unix_url(tree / "back");
    relayed.takes_over = [](const Request& request, const Response& head) {
      return request.method == "POST" && head.content_type == "application/raw";
    };
    return relayed;
  }
  static ServerOptions server_options(std::size_t seats) {
    ServerOptions served;
    served.max_connections = seats;
    served.max_body_bytes = SIZE_MAX;
    return served;
  }
  Admission admit(const Request& request) {
    Admission admission;
    if (request.path == "/own")
      admission.max_body = 100;
    else
      admission.relay = &relay;
    return admission;
  }
  Task<Response> answer(Request request) { co_return Response::text(200, "own " + request.body); }

  void turn() {
    for (int i = 0; i < 30; ++i) loop.settle();
  }
  local::socket connect() {
    local::socket socket(outside);
    socket.connect(tree / "front");
    socket.non_blocking(true);
    turn();
    return socket;
  }
  /// The relay's next connection; nothing if there is none.
  std::optional<local::socket> accept() {
    turn();
    local::socket socket(outside);
    boost::system::error_code ec;
    acceptor.accept(socket, ec);
    if (ec) return std::nullopt;
    socket.non_blocking(true);
    return socket;
  }
  /// As much of it as is taken; all of it unless the other side takes nothing.
  std::size_t send(local::socket& socket, std::string_view text) {
    std::size_t sent = 0;
    while (sent < text.size()) {
      boost::system::error_code ec;
      const std::size_t n = socket.write_some(asio::buffer(text.data() + sent, text.size() - sent), ec);
      sent += n;
      turn();
      if (ec && ec != asio::error::would_block) break;
      if (n > 0) continue;
      if (socket.write_some(asio::buffer(text.data() + sent, 1), ec) == 0) break;
      ++sent;
    }
    turn();
    return sent;
  }
  struct Received {
    std::string text;
    bool ended = false;
  };
  Received receive(local::socket& socket) {
    Received all;
    for (;;) {
      turn();
      char buffer[65536];
      boost::system::error_code ec;
      const std::size_t n = socket.read_some(asio::buffer(buffer), ec);
      all.text.append(buffer, n);
      all.ended = ec && ec != asio::error::would_block;
      if (ec) return all;
    }
  }
  std::string text(local::socket& socket) { return receive(socket).text; }
  bool ended(local::socket& socket) { return receive(socket).ended; }
};

}  // namespace koord::net::test_rig
