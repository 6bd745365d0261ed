// Server over loopback sockets: answers, streams, limits, timeouts on the manual clock, the end.
#include "koord/net/server.hpp"

#include <catch2/catch.hpp>

#include "server_rig.hpp"

namespace koord::net {
namespace {

using namespace test_rig;

TEST_CASE("pipelined requests are answered in order, fast and slow") {
  Bench bench;
  auto socket = bench.connect();
  bench.send(socket,
             "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /slow?x=2 HTTP/1.1\r\nHost: h\r\n\r\n"
             "POST /3 HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhiHEAD /4 HTTP/1.1\r\nHost: h\r\n\r\n");
  const std::string first = bench.receive(socket);
  CHECK(body_of(first) == "GET /1 ");
  CHECK(bench.calls == 2);
  bench.release.set();
  const std::string rest = bench.receive(socket);
  const auto two = rest.find("slow 2"), three = rest.find("POST /3 hi"),
             four = rest.find("Content-Length: 8");
  CHECK(two < three);
  CHECK(three < four);
  CHECK(rest.ends_with("\r\n\r\n"));  // HEAD has no body
}

TEST_CASE("shared parts follow the body, counted in the length") {
  Bench bench;
  auto socket = bench.connect();
  bench.send(socket, "GET /parts HTTP/1.1\r\nHost: h\r\n\r\n");
  const std::string response = bench.receive(socket);
  CHECK(response.find("Content-Length: 200002\r\n") != std::string::npos);
  CHECK(body_of(response) == "a" + std::string(200'000, 'x') + "b");
}

TEST_CASE("a header's value cannot smuggle another header") {
  Bench bench;
  auto socket = bench.connect();
  bench.send(socket, "GET /inject HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(bench.receive(socket).find("\r\nX-Evil") == std::string::npos);
}

TEST_CASE("a stream is chunked, gathered, and ends in order") {
  Bench bench;
  auto socket = bench.connect();
  bench.send(socket, "GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(bench.receive(socket).find("Transfer-Encoding: chunked\r\n") != std::string::npos);
  bench.feed.push("one\n");
  bench.feed.push("two\n");
  CHECK(bench.receive(socket) == "8\r\none\ntwo\n\r\n");
  bench.feed.ended = true;
  bench.feed.changed.set();
  CHECK(bench.receive(socket) == "0\r\n\r\n");
  bench.send(socket, "GET /next HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(body_of(bench.receive(socket)) == "GET /next ");
}

TEST_CASE("a stream that fails is cut, not ended") {
  Bench bench;
  auto socket = bench.connect();
  bench.send(socket, "GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
  bench.feed.failed = true;
  bench.feed.changed.set();
  bool closed = false;
  CHECK_FALSE(bench.receive(socket, &closed).ends_with("0\r\n\r\n"));
  CHECK(closed);
}

TEST_CASE("a stream learns that its client has gone, though nothing is sent") {
  Bench bench;
  {
    auto socket = bench.connect();
    bench.send(socket, "GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
    CHECK(bench.feed.alive == 1);
  }
  bench.turn();
  CHECK(bench.feed.cancelled);
  CHECK(bench.feed.alive == 0);
  CHECK(bench.server.connections() == 0);
}

TEST_CASE("a reader that is slow gets everything") {
  Bench bench;
  auto socket = bench.connect();
  bench.send(socket, "GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
  std::size_t sent = 0;
  for (int i = 0; i < 400; ++i) {
    bench.feed.push(std::string(50'000, '~'));
    sent += 50'000;
    bench.turn();
  }
  const std::string all = bench.receive(socket);
  CHECK(static_cast<std::size_t>(std::count(all.begin(), all.end(), '~')) == sent);
}

TEST_CASE("what is too large or no HTTP is refused and the connection closed") {
  struct Row {
    std::string wire, status;
  };
  const Row rows[] = {
      {"NONSENSE\r\n\r\n", "HTTP/1.1 400 "},
      {"GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(70'000, 'x') + "\r\n\r\n", "HTTP/1.1 431 "},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100001\r\n\r\n", "HTTP/1.1 413 "},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n", "HTTP/1.1 400 "},
  };
  for (const Row& row : rows) {
    CAPTURE(row.wire.substr(0, 60));
    Bench bench;
    auto socket = bench.connect();
    bench.send(socket, row.wire);
    bool closed = false;
    const std::string response = bench.receive(socket, &closed);
    CHECK(response.starts_with(row.status));
    CHECK(response.find("Connection: close\r\n") != std::string::npos);
    CHECK(closed);
    CHECK(bench.calls == 0);
  }
}

TEST_CASE("leave to send a body is given") {
  Bench bench;
  auto socket = bench.connect();
  bench.send(socket, "POST /c HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  CHECK(bench.receive(socket) == "HTTP/1.1 100 Continue\r\n\r\n");
  bench.send(socket, "ok");
  CHECK(body_of(bench.receive(socket)) == "POST /c ok");
}

TEST_CASE("HTTP/1.0 gets no chunks and is closed unless it asks otherwise") {
  Bench bench;
  auto socket = bench.connect();
  bench.send(socket, "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  CHECK(bench.receive(socket).find("Connection: keep-alive\r\n") != std::string::npos);
  bench.send(socket, "GET /watch HTTP/1.0\r\n\r\n");
  bench.feed.push("raw\n");
  bench.feed.ended = true;
  bool closed = false;
  const std::string response = bench.receive(socket, &closed);
  CHECK(body_of(response).starts_with("raw\n"));
  CHECK(response.find("chunked") == std::string::npos);
}

TEST_CASE("an idle connection is closed, one that trickles a request too") {
  Bench bench;
  auto idle = bench.connect();
  auto trickle = bench.connect();
  bool closed = false;
  for (auto* socket : {&idle, &trickle}) {
    bench.send(*socket, "GET /first HTTP/1.1\r\nHost: h\r\n\r\n");
    CHECK(body_of(bench.receive(*socket)) == "GET /first ");
  }
  for (int i = 0; i < 31; ++i) {  // slowloris: a byte a second
    bench.send(trickle, i == 0 ? "GET / HTTP/1.1\r\nX: " : "x");
    bench.loop.advance(std::chrono::seconds{1});
  }
  bench.receive(trickle, &closed);
  CHECK(closed);
  bench.send(idle, "GET /still HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(body_of(bench.receive(idle)) == "GET /still ");
  bench.loop.advance(std::chrono::seconds{179});
  closed = false;
  bench.receive(idle, &closed);
  CHECK_FALSE(closed);
  bench.loop.advance(std::chrono::seconds{2});
  bench.receive(idle, &closed);
  CHECK(closed);
  CHECK(bench.dropped("silent") == 0);
}

TEST_CASE("the first request has ten seconds, however it trickles; its body has more") {
  Bench bench;
  auto silent = bench.connect(), trickle = bench.connect(), body = bench.connect();
  bench.send(body, "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n");
  bench.send(trickle, "GET / HTTP/1.1\r\nX: ");
  for (int i = 0; i < 9; ++i) {
    bench.send(trickle, "x");
    bench.loop.advance(std::chrono::seconds{1});
  }
  bench.turn();
  CHECK(bench.server.connections() == 3);
  bench.loop.advance(std::chrono::seconds{1});
  bench.turn();
  CHECK(bench.server.connections() == 1);
  CHECK(bench.dropped("silent") == 2);
  bench.send(body, "ok");
  CHECK(body_of(bench.receive(body)) == "POST /b ok");
}

TEST_CASE("a peer that reads nothing is dropped") {
  Bench bench;
  auto socket = bench.connect();
  bench.send(socket, "GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
  bench.feed.push(std::string(64 << 20, 'z'));
  bench.turn();
  CHECK(bench.server.connections() == 1);
  bench.loop.advance(std::chrono::seconds{61});
  bench.turn();
  CHECK(bench.server.connections() == 0);
  CHECK(bench.feed.alive == 0);
}

TEST_CASE("a peer that trickles a piece of a stream has it for so long as an answer may take") {
  ServerOptions options = Bench::options(3);
  options.write_timeout = std::chrono::seconds{10};
  options.answer_timeout = std::chrono::seconds{30};
  Bench bench(std::move(options));
  auto socket = bench.connect();
  bench.send(socket, "GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
  bench.loop.advance(std::chrono::seconds{100});  // nothing waits for it: it is late with nothing
  bench.feed.push(std::string(64 << 20, 'z'));
  bench.turn();
  std::string buffer(1 << 20, ' ');
  for (int i = 0; i < 4; ++i) {
    CAPTURE(i);
    CHECK(bench.server.connections() == 1);
    boost::system::error_code ec;
    for (int part = 0; part < 8 && !ec; ++part) socket.read_some(asio::buffer(buffer), ec);
    bench.turn();
    bench.loop.advance(std::chrono::seconds{8});
    bench.turn();
  }
  CHECK(bench.server.connections() == 0);
  CHECK(bench.feed.alive == 0);
}

TEST_CASE("the kernel keeps no more for a peer that does not read than the server says") {
  const auto kept = [](std::size_t most) {
    ServerOptions options = Bench::options(3);
    options.send_buffer = most;
    Bench bench(std::move(options));
    tcp::socket socket(bench.client_context);
    socket.open(tcp::v4());
    socket.set_option(asio::socket_base::receive_buffer_size(4096));  // what the peer's own kernel keeps
    socket.connect({asio::ip::address_v4::loopback(), bench.port});
    socket.non_blocking(true);
    bench.turn();
    bench.send(socket, "GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
    std::size_t taken = 0;
    for (std::size_t before = SIZE_MAX; before != taken && taken < 1000;) {
      before = taken;
      bench.feed.push(std::string(16 << 10, 'z'));
      bench.turn();
      taken += bench.feed.ready.empty() ? 1 : 0;  // nobody asks for a piece while the one before waits
    }
    return taken * (16 << 10);
  };
  CHECK(kept(32 << 10) <= 160 << 10);
  CHECK(kept(0) > 256 << 10);  // else the line above says nothing
}

TEST_CASE("an answer is UTF-8, whatever the path was") {
  Bench bench;
  auto socket = bench.connect();
  bench.send(socket, "GET /a%ff%c3%a9\xff HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(body_of(bench.receive(socket)) == "GET /a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd ");
}

TEST_CASE("stopping finishes the request that runs and ends streams in order") {
  Bench bench;
  auto slow = bench.connect(), watch = bench.connect(), idle = bench.connect();
  bench.send(slow, "GET /slow?x=1 HTTP/1.1\r\nHost: h\r\n\r\n");
  bench.send(watch, "GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
  bool stopped = false;
  Task<> stop = bench.server.stop(std::chrono::seconds{5});
  asio::co_spawn(bench.loop.context, std::move(stop), [&](std::exception_ptr) { stopped = true; });
  bool closed = false;
  bench.receive(idle, &closed);
  CHECK(closed);
  closed = false;
  CHECK(bench.receive(watch, &closed).ends_with("0\r\n\r\n"));
  CHECK(closed);
  CHECK_FALSE(stopped);
  bench.release.set();
  closed = false;
  const std::string last = bench.receive(slow, &closed);
  CHECK(last.find("Connection: close\r\n") != std::string::npos);
  CHECK(body_of(last) == "slow 1");
  CHECK(closed);
  bench.turn();
  CHECK(stopped);
  tcp::socket late(bench.client_context);
  boost::system::error_code ec;
  late.connect({asio::ip::address_v4::loopback(), bench.port}, ec);
  CHECK(ec);
}

TEST_CASE("stopping breaks off what does not finish in its grace") {
  Bench bench;
  auto slow = bench.connect();
  bench.send(slow, "GET /slow?x=1 HTTP/1.1\r\nHost: h\r\n\r\n");
  bool stopped = false;
  Task<> stop = bench.server.stop(std::chrono::seconds{5});
  asio::co_spawn(bench.loop.context, std::move(stop), [&](std::exception_ptr) { stopped = true; });
  bench.turn();
  CHECK_FALSE(stopped);
  bench.loop.advance(std::chrono::seconds{5});
  bench.turn();
  CHECK(stopped);
}

TEST_CASE("a busy port and a bad address are errors that say so") {
  Bench bench;
  const auto busy = bench.server.listen("127.0.0.1", bench.port);
  REQUIRE_FALSE(busy.has_value());
  CHECK(busy.error().code() == Code::already_exists);
  CHECK(busy.error().message() ==
        "cannot listen on 127.0.0.1:" + std::to_string(bench.port) + ": Address already in use");
  CHECK(bench.server.listen("localhost", 0).error().message() == "\"localhost\" is not an IP address");
}

}  // namespace
}  // namespace koord::net
