// Server over loopback sockets: answers, streams, limits, timeouts on the manual clock, the end.
#include "koord/net/server.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <catch2/catch.hpp>

#include "koord/async/event.hpp"
#include "support/run_task.hpp"

namespace koord::net {
namespace {

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

  explicit Bench(std::size_t seats = 3)
      : server(loop.executor(), loop.clock, options(seats),
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

std::string body_of(const std::string& response) { return response.substr(response.find("\r\n\r\n") + 4); }

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
