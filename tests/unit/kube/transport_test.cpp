#include "koord/kube/transport.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <catch2/catch.hpp>
#include <fstream>

#include "koord/async/task_group.hpp"
#include "koord/kube/config.hpp"
#include "support/run_task.hpp"
#include "support/stub_server.hpp"

using namespace koord;
using namespace koord::kube;
using namespace std::chrono_literals;
using test::StubServer;

namespace {

net::Request request_for(std::string method, std::string target = "/x", std::string body = "") {
  net::Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.body = std::move(body);
  if (!request.body.empty()) request.headers.add("Content-Type", "application/json");
  return request;
}

struct Fixture {
  test::Loop loop;
  StubServer server;
  std::unique_ptr<Transport> transport;

  explicit Fixture(StubServer::Handler handler, net::PoolOptions options = {}, ClientConfig config = {})
      : server(loop.context, std::move(handler)) {
    config.server = server.url();
    config.user_agent = "koord-test/1";
    auto made = make_transport(loop.executor(), loop.clock, config, options);
    REQUIRE(made.has_value());
    transport = std::move(*made);
  }
  Result<net::Response> send(const net::Request& request) {
    return test::run_task(loop, transport->send(request), true);
  }
};

Task<> send_into(Transport& transport, net::Request request, std::vector<Result<net::Response>>& out) {
  Result<net::Response> got = co_await transport.send(request);
  out.push_back(std::move(got));
}

Task<> read_into(Transport& transport, nanoseconds idle, std::string& all, Result<>& end) {
  net::Request request = request_for("GET", "/watch");
  auto stream = co_await transport.open_stream(std::move(request));
  if (!stream) co_return;
  for (;;) {
    const Result<std::string_view> more = co_await (*stream)->read(idle);
    if (!more) {
      end = more.error();
      co_return;
    }
    all += *more;
  }
}

/// Reads a stream to its end, or to the first error.
Task<Result<std::string>> read_all(Transport& transport, nanoseconds idle) {
  net::Request request = request_for("GET", "/watch");
  KOORD_CO_TRY(stream, co_await transport.open_stream(std::move(request)));
  std::string all;
  for (;;) {
    const Result<std::string_view> more = co_await stream->read(idle);
    if (!more) co_return Error(more.error().code(), all);
    if (more->empty()) co_return all;
    all += *more;
  }
}

}  // namespace

TEST_CASE("requests carry what they must, and share a connection") {
  Fixture f([](const std::string&) { return StubServer::Reply{StubServer::ok("{}")}; }, net::PoolOptions{},
            [] {
              ClientConfig config;
              config.token = "abc";
              return config;
            }());
  for (int i = 0; i < 3; ++i) {
    const auto got = f.send(request_for("POST", "/apis/x?y=z", "{\"a\":1}"));
    REQUIRE(got.has_value());
    CHECK(got->status == 200);
    CHECK(got->body == "{}");
    CHECK(got->content_type == "application/json");
  }
  CHECK(f.server.connections == 1);
  const std::string& sent = f.server.requests[0];
  CHECK_THAT(sent, Catch::StartsWith("POST /apis/x?y=z HTTP/1.1\r\nHost: 127.0.0.1:"));
  CHECK_THAT(sent, Catch::Contains("\r\nUser-Agent: koord-test/1\r\n"));
  CHECK_THAT(sent, Catch::Contains("\r\nAuthorization: Bearer abc\r\n"));
  CHECK_THAT(sent, Catch::Contains("\r\nContent-Length: 7\r\n"));
  CHECK_THAT(sent, Catch::EndsWith("\r\n\r\n{\"a\":1}"));
}

TEST_CASE("a kept connection that the server drops is replaced, without repeating what may not be") {
  for (const auto then : {StubServer::Then::close, StubServer::Then::reset}) {
    // The second request of the first connection is dropped unanswered.
    int count = 0;
    auto handler = [&count, then](const std::string&) {
      ++count;
      if (count == 2) return StubServer::Reply{"", then};
      return StubServer::Reply{StubServer::ok(std::to_string(count))};
    };
    Fixture get(handler);
    REQUIRE(get.send(request_for("GET")).has_value());
    const auto again = get.send(request_for("GET"));
    REQUIRE(again.has_value());
    CHECK(again->body == "3");
    CHECK(get.server.connections == 2);

    count = 0;
    Fixture post(handler);
    REQUIRE(post.send(request_for("POST")).has_value());
    const auto lost = post.send(request_for("POST"));
    REQUIRE(lost.has_error());
    CHECK(lost.error().code() == Code::unavailable);
    CHECK(count == 2);
  }
}

TEST_CASE("a connection that ended while idle is not used for a write") {
  int count = 0;
  Fixture f([&count](const std::string&) {
    return StubServer::Reply{StubServer::ok("{}"),
                             ++count == 1 ? StubServer::Then::close : StubServer::Then::keep};
  });
  REQUIRE(f.send(request_for("POST")).has_value());
  f.loop.settle();
  REQUIRE(f.send(request_for("POST")).has_value());
  CHECK(f.server.connections == 2);
}

TEST_CASE("bodies: chunked, packed, cut, too big") {
  const std::string packed(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\x07\x00\x86\xa6\x10\x36\x05\x00\x00\x00",
      25);
  struct Row {
    std::string reply;
    StubServer::Then then;
    std::string body;
    std::optional<Code> code;
  };
  const Row rows[] = {
      {"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
       StubServer::Then::keep,
       "abc",
       {}},
      {StubServer::ok(packed, "Content-Encoding: gzip\r\n"), StubServer::Then::keep, "hello", {}},
      {StubServer::ok(packed.substr(0, 20), "Content-Encoding: gzip\r\n"), StubServer::Then::keep, "",
       Code::parse},
      {"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc", StubServer::Then::close, "",
       Code::unavailable},
      {"HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\nabc", StubServer::Then::reset, "", Code::unavailable},
      {StubServer::ok(std::string(65, 'x')), StubServer::Then::keep, "", Code::too_large},
      {"HTTP/1.1 200 X\r\nContent-Length: 99999999999\r\n\r\n", StubServer::Then::keep, "", Code::too_large},
      {"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n41\r\n" + std::string(65, 'x'),
       StubServer::Then::keep, "", Code::too_large},
      {StubServer::ok("a") + "more", StubServer::Then::keep, "", Code::parse},
      {"nonsense\r\n\r\n", StubServer::Then::keep, "", Code::parse},
  };
  net::PoolOptions options;
  options.max_body = 64;
  for (const Row& row : rows) {
    INFO(row.reply);
    Fixture f([&row](const std::string&) { return StubServer::Reply{row.reply, row.then}; }, options);
    const auto got = f.send(request_for("POST"));
    REQUIRE(got.has_value() == !row.code.has_value());
    if (got)
      CHECK(got->body == row.body);
    else
      CHECK(got.error().code() == *row.code);
  }
}

TEST_CASE("an answer may be bounded by its request: as it comes, and unpacked") {
  const std::string packed(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\x07\x00\x86\xa6\x10\x36\x05\x00\x00\x00",
      25);
  for (const bool gzip : {false, true}) {
    Fixture f([&](const std::string&) {
      return StubServer::Reply{gzip ? StubServer::ok(packed, "Content-Encoding: gzip\r\n")
                                    : StubServer::ok("hello")};
    });
    net::Request request = request_for("GET");
    request.max_answer = 4;
    CHECK(f.send(request).error().code() == Code::too_large);
    request.max_answer = 25;
    CHECK(f.send(request)->body == "hello");
  }
}

TEST_CASE("a silent server times out, and a refused connection says so") {
  Fixture* self = nullptr;
  Fixture f([&self](const std::string&) {
    asio::post(self->loop.context, [&self] { self->loop.clock.advance(61s); });
    return StubServer::Reply{"", StubServer::Then::hold};
  });
  self = &f;
  const auto got = f.send(request_for("GET"));
  REQUIRE(got.has_error());
  CHECK(got.error().code() == Code::timeout);

  ClientConfig config;
  config.server = "http://127.0.0.1:1";
  auto nobody = make_transport(f.loop.executor(), f.loop.clock, config);
  REQUIRE(nobody.has_value());
  const auto refused = test::run_task(f.loop, (*nobody)->send(request_for("GET")), true);
  REQUIRE(refused.has_error());
  CHECK(refused.error().code() == Code::unavailable);
  CHECK_THAT(refused.error().message(), Catch::Contains("127.0.0.1:1: Connection refused"));
}

// Informers take Code::not_found for a kind that the server does not serve, and forget its objects.
TEST_CASE("a server whose name nobody knows is unavailable, which is no word of the server's") {
  test::Loop loop;
  ClientConfig config;
  config.server = "http://nobody.onion";  // no name server is asked for such names (RFC 7686)
  auto nobody = make_transport(loop.executor(), loop.clock, config);
  REQUIRE(nobody.has_value());
  const auto unknown = test::run_task(loop, (*nobody)->send(request_for("GET")), true);
  REQUIRE(unknown.has_error());
  CHECK(unknown.error().code() == Code::unavailable);
  CHECK_THAT(unknown.error().message(), Catch::Contains("resolving \"nobody.onion\": Domain name not found"));
}

TEST_CASE("no more connections than allowed; cancelled requests free theirs") {
  net::PoolOptions options;
  options.max_connections = 2;
  bool answer = false;
  Fixture f(
      [&answer](const std::string&) {
        return answer ? StubServer::Reply{StubServer::ok("{}")}
                      : StubServer::Reply{"", StubServer::Then::hold};
      },
      options);
  std::vector<Result<net::Response>> out;
  TaskGroup held(f.loop.executor());
  for (int i = 0; i < 5; ++i) held.spawn("held", send_into(*f.transport, request_for("GET"), out));
  while (f.server.requests.size() < 2) f.loop.context.run_one();
  f.loop.settle();
  CHECK(f.server.connections == 2);
  test::run_task(f.loop, held.stop(f.loop.clock, 1s), true);
  for (const auto& got : out) CHECK(got.error().code() == Code::cancelled);

  answer = true;
  out.clear();
  TaskGroup group(f.loop.executor());
  for (int i = 0; i < 20; ++i) group.spawn("send", send_into(*f.transport, request_for("GET"), out));
  REQUIRE(test::run_task(f.loop, group.join(), true).has_value());
  REQUIRE(out.size() == 20);
  for (const auto& got : out) CHECK(got.has_value());
  CHECK(f.server.connections == 4);
}

TEST_CASE("answers under way are bounded together; a small one beside them has room") {
  net::PoolOptions options;
  options.answer_budget = 150'000;
  Fixture f(
      [](const std::string& asked) {
        if (asked.starts_with("GET /small")) return StubServer::Reply{StubServer::ok("{}")};
        return StubServer::Reply{"HTTP/1.1 200 X\r\nContent-Length: 99999\r\n\r\n" + std::string(60'000, 'x'),
                                 StubServer::Then::hold};
      },
      options);
  std::vector<Result<net::Response>> out;
  TaskGroup group(f.loop.executor());
  for (int i = 0; i < 3; ++i) group.spawn("large", send_into(*f.transport, request_for("GET"), out));
  // One of them has room, two have not.
  while (out.size() < 2) f.loop.context.run_one();
  for (const auto& answer : out) CHECK(answer.error().code() == Code::too_large);
  CHECK(f.send(request_for("GET", "/small")).has_value());
  CHECK(out.size() == 2);
  test::run_task(f.loop, group.stop(f.loop.clock, 1s), true);
}

TEST_CASE("a request whose sender loses his leave while it waits for a connection is not sent") {
  net::PoolOptions options;
  options.max_connections = 1;
  bool may_go = true;
  Fixture f([](const std::string&) { return StubServer::Reply{StubServer::ok("{}")}; }, options);
  net::Request first = request_for("POST", "/first", "{}"), second = request_for("POST", "/second", "{}");
  first.may_go = second.may_go = [&] { return std::exchange(may_go, false); };
  std::vector<Result<net::Response>> out;
  TaskGroup group(f.loop.executor());
  group.spawn("first", send_into(*f.transport, first, out));
  group.spawn("second", send_into(*f.transport, second, out));
  REQUIRE(test::run_task(f.loop, group.join(), true).has_value());
  REQUIRE(out.size() == 2);
  CHECK(out[0].has_value());
  REQUIRE_FALSE(out[1].has_value());
  CHECK(out[1].error().code() == Code::unavailable);
  CHECK(f.server.requests.size() == 1);
}

TEST_CASE("a stream gives what comes, its end, and its being cut") {
  struct Row {
    std::string reply;
    StubServer::Then then;
    std::optional<Code> code;
  };
  const std::string head = "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n";
  const Row rows[] = {
      {head + "4\r\ntwo\n\r\n0\r\n\r\n", StubServer::Then::keep, {}},
      {head + "4\r\ntwo\n\r\n", StubServer::Then::close, Code::unavailable},
      {head + "9\r\ntwo\n", StubServer::Then::close, Code::unavailable},
      {head + "4\r\ntwo\n\r\n", StubServer::Then::reset, Code::unavailable},
  };
  for (const Row& row : rows) {
    INFO(row.reply);
    Fixture f([&row](const std::string&) { return StubServer::Reply{row.reply, row.then}; });
    const auto got = test::run_task(f.loop, read_all(*f.transport, 0s), true);
    REQUIRE(got.has_value() == !row.code.has_value());
    if (got) {
      CHECK(*got == "one\ntwo\n");
    } else {
      CHECK(got.error().code() == *row.code);
      // A reset may overtake what was sent before it.
      if (row.then == StubServer::Then::close) CHECK(got.error().message() == "one\ntwo\n");
    }
  }
}

TEST_CASE("a stream that falls silent times out where an idle limit is given") {
  Fixture f([](const std::string&) {
    return StubServer::Reply{"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none\n\r\n",
                             StubServer::Then::hold};
  });
  std::string all;
  Result<> got;
  TaskGroup group(f.loop.executor());
  group.spawn("read", read_into(*f.transport, 30s, all, got));
  while (all.empty()) f.loop.context.run_one();
  f.loop.advance(29s);
  CHECK(group.size() == 1);
  f.loop.advance(1s);
  CHECK(group.size() == 0);
  REQUIRE(got.has_error());
  CHECK(got.error().code() == Code::timeout);
}

TEST_CASE("an expired token is read again from its file, and the request tried once more") {
  char name[] = "/tmp/koord-token-XXXXXX";
  const int fd = mkstemp(name);
  REQUIRE(fd >= 0);
  close(fd);
  std::ofstream(name) << "old\n";
  ClientConfig config;
  config.token_file = name;
  std::string valid = "old";
  Fixture f(
      [&valid](const std::string& request) {
        const bool good = request.find("Authorization: Bearer " + valid + "\r\n") != std::string::npos;
        return StubServer::Reply{StubServer::ok("{}", "", good ? 200 : 401)};
      },
      {}, config);
  CHECK(f.send(request_for("POST"))->status == 200);
  valid = "new";
  CHECK(f.send(request_for("POST"))->status == 401);  // the file has not changed: no second try
  CHECK(f.server.requests.size() == 2);
  std::ofstream(name) << "new\n";
  CHECK(f.send(request_for("POST"))->status == 200);
  CHECK(f.server.requests.size() == 4);
  valid = "newer";
  std::ofstream(name) << "newer\n";
  f.loop.clock.advance(61s);  // without a 401, a minute does it
  CHECK(f.send(request_for("POST"))->status == 200);
  CHECK(f.server.requests.size() == 5);
  valid = "newest";
  std::ofstream(name) << "newest\n";
  const auto streamed = test::run_task(f.loop, read_all(*f.transport, 0s), true);
  REQUIRE(streamed.has_value());
  CHECK(*streamed == "{}");
  CHECK(f.server.requests.size() == 7);
  std::remove(name);
}

TEST_CASE("bad servers are refused before anything is sent") {
  test::Loop loop;
  for (const char* server :
       {"", "10.0.0.1", "ftp://x", "https://", "https://h:0", "https://h:x", "https://[::1", "http://a b"}) {
    ClientConfig config;
    config.server = server;
    INFO(server);
    const auto made = make_transport(loop.executor(), loop.clock, config);
    REQUIRE(made.has_error());
    CHECK(made.error().code() == Code::invalid);
  }
  ClientConfig config;
  config.server = "https://h";
  config.ca_pem = "no certificate";
  CHECK(make_transport(loop.executor(), loop.clock, config).error().code() == Code::invalid);
}
