// Relay: heads, bodies of any kind and size, who is waited for, and what happens when one side goes.
#include "koord/net/relay.hpp"

#include <catch2/catch.hpp>

#include "relay_rig.hpp"

namespace koord::net {
namespace {

using namespace test_rig;

constexpr const char* kHello = "GET /x?a=%2F HTTP/1.1\r\nHost: docker\r\nX-One: 1\r\n\r\n";

/// An answer of the server behind, and what the client gets for it.
struct Answer {
  const char* method;
  const char* behind;
  const char* client;
};

TEST_CASE("a request goes on with its target and headers, without those of the hop") {
  struct Row {
    const char* client;
    const char* behind;
  };
  const Row rows[] = {
      {kHello, kHello},
      {"DELETE /v1.40/containers/a HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, X-Mine\r\nX-Mine: 1\r\n"
       "x-other: 2\r\nKeep-Alive: 5\r\nTE: trailers\r\nProxy-Authorization: a\r\n\r\n",
       "DELETE /v1.40/containers/a HTTP/1.1\r\nHost: h\r\nx-other: 2\r\n\r\n"},
      // An upgrade that Connection does not ask for is none.
      {"GET / HTTP/1.1\r\nHost: h\r\nUpgrade: tcp\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\n\r\n"},
      {"POST /a HTTP/1.1\r\nHost: h\r\nconnection: upgrade\r\nUpgrade: tcp\r\n\r\n",
       "POST /a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"},
      {"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nConnection: Content-Length\r\n\r\nabc",
       "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"},
      {"POST /a HTTP/1.1\r\nHost: h\r\nTrailer: T\r\nTransfer-Encoding: chunked\r\n\r\n"
       "3;x=y\r\nabc\r\n0\r\nT: 1\r\nt: 2\r\nHost: other\r\n\r\n",
       "POST /a HTTP/1.1\r\nHost: h\r\nTrailer: T\r\nTransfer-Encoding: chunked\r\n\r\n"
       "3\r\nabc\r\n0\r\nT: 1\r\nt: 2\r\n\r\n"},
      {"POST /a HTTP/1.1\r\nHost: h\r\nTrailer: T\r\nContent-Length: 0\r\n\r\n",
       "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"},
      {"GET /old HTTP/1.0\r\n\r\n", "GET /old HTTP/1.1\r\nHost: localhost\r\n\r\n"},
  };
  for (const Row& row : rows) {
    INFO(row.client);
    RelayBench bench;
    auto client = bench.connect();
    bench.send(client, row.client);
    auto behind = bench.accept();
    REQUIRE(behind.has_value());
    CHECK(bench.text(*behind) == row.behind);
  }
}

TEST_CASE("an answer comes with its status, reason, headers and body, as it was framed") {
  const Answer rows[] = {
      {"GET", "HTTP/1.1 201 Made it\r\nApi-Version: 1.40\r\nContent-Length: 2\r\n\r\nok",
       "HTTP/1.1 201 Made it\r\nApi-Version: 1.40\r\nContent-Length: 2\r\n\r\nok"},
      {"GET",
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: T\r\n\r\n2;e\r\nok\r\n0\r\nT: 1\r\nHost: "
       "x\r\n\r\n",
       "HTTP/1.1 200 OK\r\nTrailer: T\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nT: 1\r\n\r\n"},
      {"GET", "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n"},
      {"GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n",
       "HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n"},
      {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n",
       "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"},
      {"GET", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
       "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
      {"GET", "HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\nContent-Length: 1\r\n\r\nz",
       "HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\nContent-Length: 1\r\n\r\nz"},
      {"GET", "HTTP/1.1 500 No\r\nConnection: X-Hop\r\nX-Hop: 1\r\nContent-Length: 0\r\n\r\n",
       "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"},
      {"GET", "HTTP/1.1 101 Switching\r\nUpgrade: tcp\r\nConnection: Upgrade\r\n\r\n",
       "HTTP/1.1 502 Bad Gateway\r\n"},
      {"GET", "SSH-2.0-x\r\n", "HTTP/1.1 502 Bad Gateway\r\n"},
  };
  for (const Answer& row : rows) {
    INFO(row.behind);
    RelayBench bench;
    auto client = bench.connect();
    bench.send(client, fmt::format("{} / HTTP/1.1\r\nHost: h\r\n\r\n", row.method));
    auto behind = bench.accept();
    REQUIRE(behind.has_value());
    bench.send(*behind, row.behind);
    const auto got = bench.receive(client);
    CHECK(got.text.substr(0, std::string_view(row.client).size()) == row.client);
    CHECK_FALSE(got.ended);
  }
}

TEST_CASE("a client of HTTP/1.0 gets no chunks, and the end of the connection") {
  RelayBench bench;
  auto client = bench.connect();
  bench.send(client, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  auto behind = bench.accept();
  bench.send(*behind, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n");
  CHECK(bench.text(client) == "HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nok");
  bench.send(*behind, "0\r\n\r\n");
  CHECK(bench.ended(client));
}

TEST_CASE("each connection of a client has one behind, kept as long as both want") {
  RelayBench bench;
  auto client = bench.connect();
  std::optional<local::socket> behind;
  for (int i = 0; i < 3; ++i) {
    bench.send(client, kHello);
    if (i == 0) behind = bench.accept();
    CHECK(bench.text(*behind) == kHello);
    bench.send(*behind, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1");
    CHECK(bench.text(client).ends_with("\r\n\r\n1"));
  }
  CHECK_FALSE(bench.accept().has_value());
  SECTION("what is pipelined is answered in order, by whom it concerns") {
    bench.send(client,
               std::string(kHello) + "POST /own HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n!" + kHello);
    bench.send(*behind, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1");
    const std::string answers = bench.text(client);
    CHECK(answers.find("\r\n\r\n1HTTP/1.1 200") != std::string::npos);
    CHECK(answers.ends_with("own !"));
    CHECK(bench.text(*behind) == std::string(kHello) + kHello);
    bench.send(*behind, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2");
    CHECK(bench.text(client).ends_with("\r\n\r\n2"));
  }
  SECTION("it is opened anew when the server has ended it") {
    behind->close();
    bench.send(client, kHello);
    behind = bench.accept();
    REQUIRE(behind.has_value());
    bench.send(*behind, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n3");
    CHECK(bench.text(client).ends_with("\r\n\r\n3"));
  }
  SECTION("and when the server says that it will not go on") {
    bench.send(client, kHello);
    bench.send(*behind, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n4");
    CHECK(bench.text(client) == "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n4");
    CHECK(bench.ended(*behind));
    bench.send(client, kHello);
    CHECK(bench.accept().has_value());
  }
  SECTION("it ends with the client") {
    client.close();
    CHECK(bench.ended(*behind));
    CHECK(bench.server.connections() == 0);
  }
}

TEST_CASE("a GET that met an ended connection is asked again, a POST is not") {
  for (const bool post : {false, true}) {
    RelayBench bench;
    auto client = bench.connect();
    bench.send(client, kHello);
    auto behind = bench.accept();
    bench.send(*behind, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    CHECK_FALSE(bench.text(client).empty());
    bench.send(client, post ? "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n" : kHello);
    behind->close();
    auto again = bench.accept();
    CHECK(again.has_value() == !post);
    if (post) CHECK(bench.text(client).starts_with("HTTP/1.1 502 "));
  }
}

TEST_CASE("nobody behind: 502, and the client goes on") {
  RelayBench bench(16, false);
  auto client = bench.connect();
  for (int i = 0; i < 2; ++i) {
    bench.send(client, kHello);
    const auto got = bench.receive(client);
    CHECK(got.text.starts_with("HTTP/1.1 502 Bad Gateway\r\n"));
    CHECK(got.text.find("connecting to") != std::string::npos);
    CHECK_FALSE(got.ended);
  }
  CHECK(bench.relay.counts().failed == 2);
  // Its body would be taken for the next request.
  bench.send(client, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nGET ");
  CHECK(bench.ended(client));
}

TEST_CASE("pieces go on as they come, both ways") {
  RelayBench bench;
  auto client = bench.connect();
  bench.send(client, "POST /build HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  auto behind = bench.accept();
  CHECK(bench.text(*behind).ends_with("\r\n\r\n"));
  bench.send(client, "3\r\nabc\r\n");
  CHECK(bench.text(*behind) == "3\r\nabc\r\n");
  bench.send(*behind, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nstep\r\n");
  CHECK(bench.text(client).ends_with("\r\n\r\n4\r\nstep\r\n"));
  bench.send(client, "2\r\nde");  // half a chunk
  CHECK(bench.text(*behind) == "2\r\nde\r\n");
  bench.send(client, "\r\n0\r\n\r\n");
  CHECK(bench.text(*behind) == "0\r\n\r\n");
  bench.send(*behind, "0\r\n\r\n");
  CHECK(bench.text(client) == "0\r\n\r\n");
  const RelayCounts counts = bench.relay.counts();
  CHECK(counts.requests == 1);
  CHECK(counts.to_server == 5);
  CHECK(counts.to_client == 4);
  CHECK(counts.open == 0);
}

TEST_CASE("who waits to be told to go on is told") {
  RelayBench bench;
  auto client = bench.connect();
  bench.send(client, "PUT /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  CHECK(bench.text(client) == "HTTP/1.1 100 Continue\r\n\r\n");
  auto behind = bench.accept();
  CHECK(bench.text(*behind) == "PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n");
  bench.send(client, "hi");
  CHECK(bench.text(*behind) == "hi");
}

TEST_CASE("a body is never kept: who does not read is waited for") {
  constexpr std::size_t kBody = 24 << 20, kMost = 4 << 20;
  const std::string piece(1 << 20, 'x');
  RelayBench bench;
  auto client = bench.connect();
  auto pass = [&](local::socket& from, local::socket& to) {
    std::size_t sent = 0, got = 0;
    while (sent < kBody) {
      const std::size_t n = bench.send(from, piece);
      sent += n;
      if (n < piece.size()) break;
    }
    CHECK(sent < kMost);  // the kernel's buffers and ours
    for (;;) {
      const std::size_t n = bench.text(to).size();
      got += n;
      if (sent < kBody) sent += bench.send(from, std::string_view(piece).substr(0, kBody - sent));
      if (n == 0) break;
    }
    CHECK(sent == kBody);
    return got;
  };
  bench.send(client, fmt::format("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n", kBody));
  auto behind = bench.accept();
  const std::size_t head = bench.text(*behind).size();
  CHECK(head > 0);
  CHECK(pass(client, *behind) == kBody);
  bench.send(*behind, fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", kBody));
  CHECK(bench.text(client).ends_with("\r\n\r\n"));
  CHECK(pass(*behind, client) == kBody);
  CHECK(bench.relay.counts().to_server == kBody);
  CHECK(bench.relay.counts().to_client == kBody);
}

TEST_CASE("an answer that does not wait for the body is passed on, and ends the connection") {
  RelayBench bench;
  auto client = bench.connect();
  bench.send(client, "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nabc");
  auto behind = bench.accept();
  bench.send(*behind, "HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno");
  const auto got = bench.receive(client);
  CHECK(got.text.ends_with("\r\n\r\nno"));
  CHECK(got.ended);
}

TEST_CASE("a client that goes ends what it has asked for, though nothing is sent") {
  struct Row {
    const char* what;
    const char* sent;
    const char* answer;
  };
  const Row rows[] = {
      {"before an answer", kHello, ""},
      {"within a stream", kHello, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"},
      {"within its body", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab", ""},
  };
  const Row& row = rows[GENERATE(0, 1, 2)];
  {
    INFO(row.what);
    RelayBench bench;
    auto client = bench.connect();
    bench.send(client, row.sent);
    auto behind = bench.accept();
    bench.send(*behind, row.answer);
    CHECK_FALSE(bench.ended(*behind));
    SECTION("at once") {
      client.close();
      CHECK(bench.ended(*behind));
    }
    SECTION("one half after the other") {
      client.shutdown(local::socket::shutdown_send);
      CHECK(bench.ended(*behind) == (std::string_view(row.what) == "within its body"));
      client.close();
      CHECK(bench.ended(*behind));
    }
    CHECK(bench.server.connections() == 0);
  }
}

TEST_CASE("a client that has said all may end its half and read the answer") {
  RelayBench bench;
  auto client = bench.connect();
  bench.send(client, kHello);
  client.shutdown(local::socket::shutdown_send);
  auto behind = bench.accept();
  bench.send(*behind, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  const auto got = bench.receive(client);
  CHECK(got.text.ends_with("\r\n\r\nok"));
  CHECK(got.ended);
}

TEST_CASE("a body that is cut stays cut") {
  const char* rows[] = {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab",
                        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
                        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\nzz\r\n"};
  for (const char* row : rows) {
    INFO(row);
    RelayBench bench;
    auto client = bench.connect();
    bench.send(client, kHello);
    auto behind = bench.accept();
    const std::string_view answer = row;
    const std::size_t piece = answer.find("ab") + 2;
    bench.send(*behind, answer.substr(0, piece));
    bench.send(*behind, answer.substr(piece));
    behind->close();
    const auto got = bench.receive(client);
    CHECK(got.ended);
    CHECK_FALSE(got.text.ends_with("0\r\n\r\n"));
  }
}

TEST_CASE("a body until the connection's end is one for the client, too") {
  RelayBench bench;
  auto client = bench.connect();
  bench.send(client, kHello);
  auto behind = bench.accept();
  bench.send(*behind, "HTTP/1.1 200 OK\r\nX: 1\r\n\r\nabc");
  CHECK(bench.text(client) == "HTTP/1.1 200 OK\r\nX: 1\r\nConnection: close\r\n\r\nabc");
  // Another request is not the server's to read.
  bench.send(client, kHello);
  CHECK(bench.text(*behind) == kHello);
  behind->close();
  CHECK(bench.ended(client));
}

TEST_CASE("a request that is none is answered with 400, though its head went on") {
  RelayBench bench;
  auto client = bench.connect();
  bench.send(client, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
  auto behind = bench.accept();
  CHECK(bench.ended(*behind));
  const auto got = bench.receive(client);
  CHECK(got.text.starts_with("HTTP/1.1 400 "));
  CHECK(got.ended);
}

TEST_CASE("a server that stops breaks off what it relays") {
  RelayBench bench;
  auto client = bench.connect();
  auto second = bench.connect();
  bench.send(client, kHello);
  auto behind = bench.accept();
  bench.send(*behind, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
  Task<> stopped = bench.server.stop(std::chrono::milliseconds{10});
  test::run_task(bench.loop, std::move(stopped));
  CHECK(bench.ended(client));
  CHECK(bench.ended(second));
  CHECK(bench.ended(*behind));
  CHECK(bench.relay.counts().open == 0);
}

TEST_CASE("when the server is full, who owes a body or does not read goes first") {
  for (const bool reader : {false, true}) {
    RelayBench bench(4);  // of which strangers have three
    auto served = bench.connect();
    bench.send(served, kHello);
    auto stream = bench.accept();
    bench.send(*stream, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
    auto slow = bench.connect();
    bench.send(slow, reader ? kHello : "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nab");
    auto behind = bench.accept();
    if (reader) {
      bench.send(*behind, "HTTP/1.1 400 OK\r\nContent-Length: 9999999\r\n\r\n");
      bench.send(*behind, std::string(4 << 20, 'x'));
    }
    bench.loop.advance(std::chrono::seconds{1});
    auto third = bench.connect(), fourth = bench.connect(), fifth = bench.connect();
    CHECK(bench.ended(*behind));
    bench.text(served);
    bench.send(*stream, "1\r\nb\r\n");
    CHECK(bench.text(served) == "1\r\nb\r\n");
  }
}

}  // namespace
}  // namespace koord::net
