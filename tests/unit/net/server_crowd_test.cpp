// Server over loopback sockets: who keeps a seat and whose body goes when too many come.
#include "koord/net/server.hpp"

#include <catch2/catch.hpp>

#include "server_rig.hpp"

namespace koord::net {
namespace {

using namespace test_rig;

TEST_CASE(
    "a full server lets the silent one go that came first, whatever its address, and keeps who was "
    "answered") {
  Bench bench;
  auto first = bench.connect();
  bench.send(first, "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(body_of(bench.receive(first)) == "GET /1 ");
  bench.loop.advance(std::chrono::seconds{1});
  auto silent = bench.connect("127.0.0.2");
  bench.loop.advance(std::chrono::seconds{1});
  auto later = bench.connect();
  bench.loop.advance(std::chrono::seconds{1});
  auto probe = bench.connect();
  bench.send(probe, "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(body_of(bench.receive(probe)) == "GET /healthz ");
  const auto closed = [&](tcp::socket& socket) {
    bool is = false;
    bench.receive(socket, &is);
    return is;
  };
  CHECK(closed(silent));
  CHECK_FALSE(closed(first));
  CHECK_FALSE(closed(later));
  CHECK(bench.server.connections() == 3);
  CHECK(bench.dropped("evicted") == 1);
}

TEST_CASE("a body that comes slowly loses its seat to a newcomer, one that comes does not") {
  Bench bench;
  const std::string head = "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 45000\r\n\r\n";
  auto quick = bench.connect(), slow = bench.connect(), slower = bench.connect();
  for (auto* each : {&quick, &slow, &slower}) bench.send(*each, head + "x");
  bench.send(quick, std::string(40'000, 'x'));
  bool closed = false;
  auto early = bench.connect();  // nobody owes anything yet
  bench.receive(early, &closed);
  CHECK(closed);
  CHECK(bench.dropped("refused") == 1);
  bench.loop.advance(std::chrono::milliseconds{200});
  bench.send(slow, std::string(10'000, 'x'));
  auto newcomer = bench.connect();
  bench.send(newcomer, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(body_of(bench.receive(newcomer)) == "GET /x ");
  closed = false;
  bench.receive(slower, &closed);
  CHECK(closed);
  CHECK(bench.dropped("evicted") == 1);
  bench.send(quick, std::string(4'999, 'x'));
  CHECK(bench.receive(quick).starts_with("HTTP/1.1 200 "));
}

TEST_CASE("a quarter of the seats stays with who was answered, however many come") {
  Bench bench(8);
  auto known = bench.connect(), also = bench.connect();
  for (auto* each : {&known, &also}) {
    bench.send(*each, "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n");
    bench.receive(*each);
  }
  bench.loop.advance(std::chrono::seconds{100});  // idle for longer than anybody else is here
  std::vector<tcp::socket> flood;
  for (int i = 0; i < 40; ++i) {
    flood.push_back(bench.connect());
    bench.send(flood.back(), "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nx");
    bench.loop.advance(std::chrono::milliseconds{150});
  }
  CHECK(bench.server.connections() == 8);
  for (auto* each : {&known, &also}) {
    bench.send(*each, "GET /2 HTTP/1.1\r\nHost: h\r\n\r\n");
    CHECK(body_of(bench.receive(*each)) == "GET /2 ");
  }
}

TEST_CASE("who was told what anybody is told keeps no seat") {
  Bench bench(8);
  auto known = bench.connect();
  bench.send(known, "GET /health HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(body_of(bench.receive(known)) == "0");
  bench.send(known, "GET /health HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(body_of(bench.receive(known)) == "0");
  bench.loop.advance(std::chrono::seconds{100});
  std::vector<tcp::socket> flood;
  for (int i = 0; i < 8; ++i) {
    flood.push_back(bench.connect());
    bench.send(flood.back(), "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nx");
  }
  bool closed = false;
  bench.receive(known, &closed);
  CHECK(closed);
}

TEST_CASE("many silent connections keep nobody out") {
  Bench bench;
  std::vector<tcp::socket> flood;
  for (int i = 0; i < 20; ++i) flood.push_back(bench.connect());
  auto probe = bench.connect();
  bench.send(probe, "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(body_of(bench.receive(probe)) == "GET /healthz ");
  CHECK(bench.server.connections() == 3);
}

TEST_CASE("who is being served does not go; the newcomer is refused, unless a peer reads nothing") {
  Bench bench;
  auto a = bench.connect(), b = bench.connect(), c = bench.connect();
  for (auto* socket : {&a, &b}) bench.send(*socket, "GET /slow?x=1 HTTP/1.1\r\nHost: h\r\n\r\n");
  bench.send(c, "GET /watch HTTP/1.1\r\nHost: h\r\n\r\n");
  bool closed = false;
  auto late = bench.connect();
  bench.receive(late, &closed);
  CHECK(closed);
  CHECK(bench.dropped("refused") == 1);
  bench.feed.push(std::string(64 << 20, 'z'));  // and c does not read it
  bench.turn();
  bench.loop.advance(std::chrono::seconds{5});
  auto later = bench.connect();
  bench.send(later, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(body_of(bench.receive(later)) == "GET /x ");
  CHECK(bench.dropped("evicted") == 1);
}

TEST_CASE("who is still being asked about goes when the server is full, and the question with them") {
  Bench bench;
  std::vector<tcp::socket> strangers;
  for (int i = 0; i < 4; ++i) {
    strangers.push_back(bench.connect());
    bench.send(strangers.back(), "GET /ask HTTP/1.1\r\nHost: h\r\n\r\n");
  }
  CHECK(bench.asking == 3);
  CHECK(bench.server.connections() == 3);
  bench.leave.set();
  CHECK(body_of(bench.receive(strangers.back())) == "GET /ask ");
}

TEST_CASE("a body is neither asked for nor read before its sender is let in") {
  struct Row {
    std::string path, status;
  };
  for (const Row& row : {Row{"/secret", "HTTP/1.1 401 "}, Row{"/none", "HTTP/1.1 413 "}}) {
    Bench bench;
    auto socket = bench.connect();
    bench.send(socket, "POST " + row.path +
                           " HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n");
    bool closed = false;
    const std::string response = bench.receive(socket, &closed);
    CHECK(response.starts_with(row.status));
    CHECK(response.find("Connection: close\r\n") != std::string::npos);
    CHECK(closed);
    CHECK(bench.calls == 0);
  }
  Bench bench;
  auto socket = bench.connect();
  bench.send(socket, "GET /secret HTTP/1.1\r\nHost: h\r\n\r\nGET /none HTTP/1.1\r\nHost: h\r\n\r\n");
  const std::string both = bench.receive(socket);  // without a body the connection stays
  CHECK(both.starts_with("HTTP/1.1 401 "));
  CHECK(both.ends_with("GET /none "));
  bench.send(socket, "POST /ask HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nok");
  CHECK(bench.receive(socket).empty());
  CHECK(bench.calls == 1);
  bench.leave.set();
  CHECK(body_of(bench.receive(socket)) == "POST /ask ok");
}

TEST_CASE("bodies have a budget together; the unfinished one goes that has held most for longest") {
  Bench bench;
  const std::string head = "POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n";
  auto first = bench.connect(), second = bench.connect(), third = bench.connect();
  bench.send(first, head + std::string(90'000, 'x'));
  bench.send(second, head + "x");  // what is only promised costs nobody anything
  bench.loop.advance(std::chrono::milliseconds{50});
  bench.send(third, head + std::string(100'000, 'x'));
  CHECK(bench.receive(third).starts_with("HTTP/1.1 200 "));
  bool closed = false;
  bench.receive(first, &closed);
  CHECK(closed);
  CHECK(bench.dropped("bodies") == 1);
  bench.send(second, std::string(99'999, 'x'));
  CHECK(bench.receive(second).starts_with("HTTP/1.1 200 "));
}

TEST_CASE("a body for which nobody else can go is refused") {
  Bench bench;
  auto served = bench.connect(), other = bench.connect();
  const std::string head = "POST /slow?x=1 HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n";
  bench.send(served, head + std::string(100'000, 'x'));  // whole, and being answered
  bench.send(other, head + std::string(90'000, 'x'));
  CHECK(bench.receive(other).starts_with("HTTP/1.1 503 "));
  CHECK(bench.dropped("bodies") == 1);
  bench.release.set();
  CHECK(bench.receive(served).starts_with("HTTP/1.1 200 "));
}

}  // namespace
}  // namespace koord::net
