// Relay: connections that change their protocol, and become bytes in both directions.
#include <catch2/catch.hpp>

#include "relay_rig.hpp"

namespace koord::net {
namespace {

using namespace test_rig;

struct Way {
  const char* name;
  const char* request;
  const char* answer;
};
const Way kWays[] = {
    {"an upgrade",
     "POST /exec/1/start HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: "
     "2\r\n\r\n{}",
     "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/raw\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"},
    {"the older way", "POST /exec/1/start HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}",
     "HTTP/1.1 200 OK\r\nContent-Type: application/raw\r\n\r\n"},
};

/// A connection that was taken over.
struct Taken : RelayBench {
  local::socket client = connect();
  std::optional<local::socket> behind;

  explicit Taken(const Way& way, const std::string& early = "", const std::string& first = "") {
    send(client, way.request + early);
    behind = accept();
    REQUIRE(behind.has_value());
    CHECK(text(*behind).ends_with("\r\n\r\n{}"));
    send(*behind, way.answer + first);
    CHECK(text(client) == way.answer + first);
    CHECK(text(*behind) == early);
    CHECK(relay.counts().taken_over == 1);
  }
};

TEST_CASE("bytes go both ways") {
  for (const Way& way : kWays) {
    INFO(way.name);
    Taken bench(way);
    bench.send(bench.client, "GET / HTTP/1.1\r\n\r\n");
    CHECK(bench.text(*bench.behind) == "GET / HTTP/1.1\r\n\r\n");
    bench.send(*bench.behind, std::string("\0\xff\r\n", 4));
    CHECK(bench.text(bench.client) == std::string("\0\xff\r\n", 4));
    CHECK(bench.relay.counts().to_server == 2 + 18);
    CHECK(bench.relay.counts().to_client == 4);
  }
}

TEST_CASE("what came early is not lost") {
  for (const Way& way : kWays) {
    INFO(way.name);
    Taken bench(way, "early", "first");
    bench.send(bench.client, "later");
    CHECK(bench.text(*bench.behind) == "later");
  }
}

TEST_CASE("each half ends by itself") {
  const Way& way = kWays[GENERATE(0, 1)];
  {
    INFO(way.name);
    Taken bench(way);
    SECTION("the client's first: its input is over, the output still comes") {
      bench.send(bench.client, "last");
      bench.client.shutdown(local::socket::shutdown_send);
      const auto input = bench.receive(*bench.behind);
      CHECK(input.text == "last");
      CHECK(input.ended);
      bench.send(*bench.behind, "output");
      const auto output = bench.receive(bench.client);
      CHECK(output.text == "output");
      CHECK_FALSE(output.ended);
      bench.behind->close();
      CHECK(bench.ended(bench.client));
    }
    SECTION("the server's first: it still takes input") {
      bench.send(*bench.behind, "output");
      bench.behind->shutdown(local::socket::shutdown_send);
      const auto output = bench.receive(bench.client);
      CHECK(output.text == "output");
      CHECK(output.ended);
      bench.send(bench.client, "input");
      CHECK(bench.text(*bench.behind) == "input");
      bench.client.close();
      CHECK(bench.ended(*bench.behind));
    }
    bench.loop.advance(std::chrono::seconds{2});
    bench.turn();
    CHECK(bench.server.connections() == 0);
  }
}

TEST_CASE("either side may just go") {
  for (const Way& way : kWays) {
    for (const bool client : {true, false}) {
      INFO(way.name << ", " << client);
      Taken bench(way);
      (client ? bench.client : *bench.behind).close();
      CHECK(bench.ended(client ? *bench.behind : bench.client));
      bench.loop.advance(std::chrono::seconds{2});
      bench.turn();
      CHECK(bench.server.connections() == 0);
      CHECK(bench.relay.counts().open == 0);
    }
  }
}

TEST_CASE("who does not read is waited for, and gets it all") {
  const std::string much(8 << 20, 'x');
  for (const Way& way : kWays) {
    INFO(way.name);
    Taken bench(way);
    for (const bool up : {true, false}) {
      local::socket& from = up ? bench.client : *bench.behind;
      local::socket& to = up ? *bench.behind : bench.client;
      std::size_t sent = bench.send(from, much), got = 0;
      CHECK(sent < much.size() / 2);
      while (got < much.size()) {
        const std::size_t n = bench.text(to).size();
        got += n;
        if (sent < much.size()) sent += bench.send(from, std::string_view(much).substr(sent));
        if (n == 0) break;
      }
      CHECK(got == much.size());
    }
  }
}

TEST_CASE("a server need not change the protocol: its answer is one like any other") {
  RelayBench bench;
  auto client = bench.connect();
  bench.send(client, kWays[0].request);
  auto behind = bench.accept();
  bench.send(*behind, "HTTP/1.1 409 Conflict\r\nContent-Length: 2\r\n\r\nno");
  CHECK(bench.text(client) == "HTTP/1.1 409 Conflict\r\nContent-Length: 2\r\n\r\nno");
  bench.send(client, "POST /own HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(bench.text(client).ends_with("own "));
  CHECK(bench.relay.counts().taken_over == 0);
}

TEST_CASE("who did not ask for it is not taken over") {
  RelayBench bench;
  auto client = bench.connect();
  bench.send(client, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  auto behind = bench.accept();
  bench.send(*behind, "HTTP/1.1 200 OK\r\nContent-Type: application/raw\r\n\r\nabc");
  CHECK(bench.text(client).ends_with("Connection: close\r\n\r\nabc"));
  bench.text(*behind);
  bench.send(client, "POST /own HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(bench.text(*behind).empty());
}

}  // namespace
}  // namespace koord::net
