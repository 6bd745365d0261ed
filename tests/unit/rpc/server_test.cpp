// Server and Channel: calls with one message, what ends them, and what does not hurt the others.
#include "koord/rpc/server.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <catch2/catch.hpp>

#include <cstring>

#include "rpc_rig.hpp"

namespace koord::rpc {
namespace {

using namespace test_rig;

TEST_CASE("A call has its method, message, metadata; the reply its headers and trailers") {
  Rig rig;
  Server& server = rig.server(rig.options("a.sock"));
  server.handle(std::string(kEcho), echo);
  REQUIRE(server.listen().has_value());
  const std::string big(5 << 20, 'x');
  for (const std::string& text : {std::string(), std::string("hello"), big}) {
    const Reply reply = rig.call(rig.channel("a.sock"), std::string(kEcho), text,
                                 {{"koord-test", "yes"}, {"koord-bin", std::string("\0\xff", 2)}});
    CHECK(reply.status.ok());
    CHECK(reply.message == fmt::format("{} {}", kEcho, text));
    CHECK(reply.headers == Metadata{{"a-header", "h"}});
    CHECK(reply.trailers == Metadata{{"koord-bin", std::string("\0\xff", 2)}, {"koord-test", "yes"}});
  }
}

TEST_CASE("Metadata that HTTP/2 does not have is left out, it ends nothing") {
  Rig rig;
  Server& server = rig.server(rig.options("a.sock"));
  server.handle(std::string(kEcho), echo);
  REQUIRE(server.listen().has_value());
  const Metadata odd{{"Upper", "1"},         {"", "2"},    {":path", "3"}, {"line", "a\nb"},
                     {"grpc-timeout", "1S"}, {"good", "6"}};
  const Reply reply = rig.call(rig.channel("a.sock"), std::string(kEcho), "x", odd);
  CHECK(reply.trailers == Metadata{{"good", "6"}});
}

TEST_CASE("An error has its code, message and details; an exception is Internal") {
  Rig rig;
  Server& server = rig.server(rig.options("a.sock"));
  server.handle("/test.Service/Fail", [](Request) -> Task<Reply> {
    Reply reply = Reply::failed(StatusCode::not_found, "no such thing: \xc3\xa4");
    reply.status.details = std::string("\x08\x05", 2);
    co_return reply;
  });
  server.handle("/test.Service/Throw", [](Request) -> Task<Reply> {
    throw std::runtime_error("broken");
    co_return Reply{};
  });
  REQUIRE(server.listen().has_value());
  Channel& channel = rig.channel("a.sock");
  const Reply failed = rig.call(channel, "/test.Service/Fail", "");
  CHECK(failed.status.code == StatusCode::not_found);
  CHECK(failed.status.message == "no such thing: \xc3\xa4");
  CHECK(failed.status.details == std::string("\x08\x05", 2));
  CHECK(rig.call(channel, "/test.Service/Throw", "").status.code == StatusCode::internal);
  const Reply unknown = rig.call(channel, "/test.Service/Nothing", "");
  CHECK(unknown.status.code == StatusCode::unimplemented);
  CHECK(unknown.status.message.find("/test.Service/Nothing") != std::string::npos);
}

TEST_CASE("Nobody listens: an error at once; somebody comes: the next call arrives") {
  Rig rig;
  Channel& channel = rig.channel("late.sock");
  CHECK(rig.call(channel, std::string(kEcho), "x").status.code == StatusCode::unavailable);
  Server& server = rig.server(rig.options("late.sock"));
  server.handle(std::string(kEcho), echo);
  REQUIRE(server.listen().has_value());
  Reply reply;
  rig.until([&] { return (reply = rig.call(channel, std::string(kEcho), "x")).status.ok(); });
  CHECK(reply.message == fmt::format("{} x", kEcho));
}

/// Answers when it is told to, and notes what it saw.
struct Slow {
  Suspension go;
  bool begun = false, cancelled = false;
  std::optional<nanoseconds> time_left;

  Handler handler() {
    return [this](Request request) -> Task<Reply> {
      begun = true;
      time_left = request.time_left;
      const auto waited = co_await go.wait();
      cancelled = !waited;
      co_return Reply{.status = {}, .message = "late"};
    };
  }
};

TEST_CASE("The caller's time goes with the call; when it is over both sides know") {
  Rig rig;
  Slow slow;
  Server& server = rig.server(rig.options("a.sock"));
  server.handle("/test.Service/Slow", slow.handler());
  REQUIRE(server.listen().has_value());
  const Reply reply = rig.call(rig.channel("a.sock"), "/test.Service/Slow", "", {}, 300ms);
  CHECK(reply.status.code == StatusCode::deadline_exceeded);
  REQUIRE(slow.begun);
  REQUIRE(slow.time_left);
  CHECK(*slow.time_left <= 310ms);
  rig.until([&] { return slow.cancelled; });
}

TEST_CASE("Who gives up is not waited for, and the server is told") {
  Rig rig;
  Slow slow;
  Server& server = rig.server(rig.options("a.sock"));
  server.handle("/test.Service/Slow", slow.handler());
  REQUIRE(server.listen().has_value());
  Channel& channel = rig.channel("a.sock");
  TaskGroup tasks(rig.loop.executor());
  tasks.spawn("caller", [](Channel& by) -> Task<> {
    (void)co_await by.call({.method = "/test.Service/Slow", .message = ""});
  }(channel));
  rig.until([&] { return slow.begun; });
  CHECK_FALSE(slow.time_left);
  rig.run(tasks.stop(rig.clock, 5s));
  rig.until([&] { return slow.cancelled; });
}

TEST_CASE("A server that stops lets calls end, and cancels those that do not") {
  for (const bool ends : {true, false}) {
    CAPTURE(ends);
    Rig rig;
    Slow slow;
    Server& server = rig.server(rig.options("a.sock"));
    server.handle("/test.Service/Slow", slow.handler());
    REQUIRE(server.listen().has_value());
    Channel& channel = rig.channel("a.sock");
    Reply reply;
    bool replied = false;
    TaskGroup tasks(rig.loop.executor());
    tasks.spawn("caller", [](Channel& by, Reply& to, bool& done) -> Task<> {
      to = co_await by.call({.method = "/test.Service/Slow", .message = ""});
      done = true;
    }(channel, reply, replied));
    rig.until([&] { return slow.begun; });
    TaskGroup stops(rig.loop.executor());
    bool stopped = false;
    stops.spawn("stop", [](Server& one, nanoseconds grace, bool& done) -> Task<> {
      co_await one.stop(grace);
      done = true;
    }(server, ends ? 20s : 100ms, stopped));
    if (ends) {
      rig.until([&] { return ::access(rig.path("a.sock").c_str(), F_OK) != 0; });
      slow.go.resume();
    }
    rig.until([&] { return stopped && replied; });
    CHECK(reply.status.code == (ends ? StatusCode::ok : StatusCode::unavailable));
    CHECK(slow.cancelled == !ends);
    rig.until([&] { return tasks.size() + stops.size() == 0; });
    rig.forget(server);
  }
}

TEST_CASE("Silent connections take nobody's place; who has called keeps his") {
  Rig rig;
  auto options = rig.options("a.sock");
  options.max_connections = 3;
  Server& server = rig.server(options);
  server.handle(std::string(kEcho), echo);
  REQUIRE(server.listen().has_value());
  Channel& first = rig.channel("a.sock");
  REQUIRE(rig.call(first, std::string(kEcho), "1").status.ok());
  std::vector<Fd> silent;
  for (int i = 0; i < 10; ++i) {
    Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, rig.path("a.sock").c_str());
    REQUIRE(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    silent.push_back(std::move(fd));
  }
  REQUIRE(rig.call(rig.channel("a.sock"), std::string(kEcho), "2").status.ok());
  CHECK(rig.call(first, std::string(kEcho), "3").status.ok());
  // The oldest were broken off.
  char bytes[64];
  rig.until([&] { return ::recv(silent[0].get(), bytes, sizeof bytes, 0) == 0; });
}

TEST_CASE("Of connections that have called, a newcomer takes the place of who was answered longest ago") {
  Rig rig;
  auto options = rig.options("a.sock");
  options.max_connections = 3;
  Server& server = rig.server(options);
  server.handle(std::string(kEcho), echo);
  REQUIRE(server.listen().has_value());
  // Each is a connection of its own that stays open, as of who asks once and goes on living.
  for (int i = 0; i < 12; ++i) REQUIRE(rig.call(rig.channel("a.sock"), std::string(kEcho), "x").status.ok());
}

TEST_CASE("A message beyond the limit is refused, the connection lives on") {
  Rig rig;
  auto options = rig.options("a.sock");
  options.max_message = 1000;
  Server& server = rig.server(options);
  server.handle(std::string(kEcho), echo);
  REQUIRE(server.listen().has_value());
  Channel& channel = rig.channel("a.sock");
  CHECK(rig.call(channel, std::string(kEcho), std::string(2000, 'x')).status.code ==
        StatusCode::resource_exhausted);
  CHECK(rig.call(channel, std::string(kEcho), "x").status.ok());
}

}  // namespace
}  // namespace koord::rpc
