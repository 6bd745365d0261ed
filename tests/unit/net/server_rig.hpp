// A server and blocking clients on one thread, over loopback, on the manual clock.
#pragma once

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <catch2/catch.hpp>

#include "koord/async/event.hpp"
#include "koord/net/server.hpp"
#include "support/run_task.hpp"

namespace koord::net::test_rig {

using asio::ip::tcp;

// A watch: what push() gave, until end().
struct Feed {
  std::vector<Bytes> ready;
  bool ended = false;
  bool cancelled = false;
  bool failed = false;
  int alive = 0;
  Event changed;
  void push(std::string text) {
    ready.push_back(std::make_shared<const std::string>(std::move(text)));
    changed.set();
  }
};

class FeedSource final : public BodySource {
 public:
  explicit FeedSource(Feed& feed) : feed_(feed) { ++feed_.alive; }
  ~FeedSource() override { --feed_.alive; }
  Task<Result<std::vector<Bytes>>> next() override {
    while (feed_.ready.empty() && !feed_.ended && !feed_.cancelled && !feed_.failed) {
      KOORD_CO_CHECK(co_await feed_.changed.wait());
      feed_.changed.reset();
    }
    if (feed_.failed) co_return Error(Code::internal, "broken");
    co_return std::exchange(feed_.ready, {});
  }
  void cancel() override {
    feed_.cancelled = true;
    feed_.changed.set();
  }

 private:
  Feed& feed_;
};

// A server and one blocking client on one thread: the loop is polled while the client waits.
struct Bench {
  test::Loop loop;
  Feed feed;
  Event release;  // what /slow waits for
  Event leave;    // what /ask waits for
  int calls = 0, asking = 0;
  static constexpr metrics::Metric kDropped{
      .name = "dropped_total", .help = "Connections.", .labels = {"reason"}};
  static inline metrics::Registry registry;
  Server server;
  std::uint16_t port = 0;
  asio::io_context client_context;

  explicit Bench(std::size_t seats = 3) : Bench(options(seats)) {}
  explicit Bench(ServerOptions options)
      : server(loop.executor(), loop.clock, std::move(options),
               {.handle = [this](Request r) { return slow(std::move(r)); },
                .fast = [this](Request& r) { return fast(r); },
                .admit = [this](const Request& r) { return admit(r); }}) {
    auto opened = server.listen("127.0.0.1", 0);
    REQUIRE(opened.has_value());
    port = *opened;
  }
  ~Bench() {
    feed.ended = true;
    feed.changed.set();
    release.set();
    leave.set();
    Task<> stopped = server.stop(std::chrono::milliseconds{10});
    test::run_task(loop, std::move(stopped));
  }

  static ServerOptions options(std::size_t seats) {
    registry.reset();
    ServerOptions options;
    options.max_body_bytes = 100'000;
    options.max_connections = seats;
    options.body_budget = 150'000;
    options.dropped = registry.counters(kDropped);
    return options;
  }
  double dropped(std::string_view reason) const { return registry.counters(kDropped).with({reason}).value(); }
  // /secret is for nobody, /ask waits for leave, /none takes no body.
  Task<Admission> admit(const Request& request) {
    Admission admission;
    if (request.path == "/ask") {
      ++asking;
      const Result<> waited = co_await leave.wait();
      --asking;
      if (!waited) co_return admission;
    }
    if (request.path == "/secret") admission.refusal = Response::text(401, "who?");
    if (request.path == "/none") admission.max_body = 0;
    co_return admission;
  }
  std::optional<Response> fast(Request& request) {
    ++calls;
    if (request.path == "/slow") return std::nullopt;
    if (request.path == "/watch") {
      Response response = Response::json(200, "");
      response.stream = std::make_unique<FeedSource>(feed);
      return response;
    }
    if (request.path == "/parts") {
      Response response = Response::text(200, "a");
      response.parts = {std::make_shared<const std::string>(200'000, 'x'),
                        std::make_shared<const std::string>("b")};
      return response;
    }
    if (request.path == "/health") {
      Response response = Response::text(200, request.peer->known ? "1" : "0");
      response.proves = false;
      return response;
    }
    if (request.path == "/inject") {
      Response response = Response::text(200, "");
      response.headers.add("X-Echo", "a\r\nX-Evil: 1");
      return response;
    }
    return Response::text(200, request.method + " " + request.path + " " + request.body);
  }
  Task<Response> slow(Request request) {
    const Result<> waited = co_await release.wait();
    co_return Response::text(waited ? 200 : 503, "slow " + request.query.at(0).second);
  }

  /// From an address of this host, all of 127.0.0.0/8.
  tcp::socket connect(const char* from = "127.0.0.1") {
    tcp::socket socket(client_context);
    socket.open(tcp::v4());
    socket.bind({asio::ip::make_address(from), 0});
    socket.connect({asio::ip::address_v4::loopback(), port});
    socket.non_blocking(true);
    turn();
    return socket;
  }
  // Loopback delivers at once, but accepting, reading and writing each take a turn of the loop.
  void turn() {
    for (int i = 0; i < 20; ++i) loop.settle();
  }
  void send(tcp::socket& socket, const std::string& text) {
    std::size_t sent = 0;
    while (sent < text.size()) {
      boost::system::error_code ec;
      sent += socket.write_some(asio::buffer(text.data() + sent, text.size() - sent), ec);
      turn();
      if (ec && ec != asio::error::would_block) return;
    }
  }
  // What has come by now; `closed` if the server has ended the connection.
  std::string receive(tcp::socket& socket, bool* closed = nullptr) {
    std::string all;
    while (true) {
      turn();
      char buffer[65536];
      boost::system::error_code ec;
      const std::size_t n = socket.read_some(asio::buffer(buffer), ec);
      all.append(buffer, n);
      if (ec && closed) *closed = ec != asio::error::would_block;
      if (ec) return all;
    }
  }
};

inline std::string body_of(const std::string& response) {
  return response.substr(response.find("\r\n\r\n") + 4);
}

}  // namespace koord::net::test_rig
