// Connections of ttrpc: two ends of a real socket.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>

#include "koord/async/event.hpp"
#include "koord/async/task_group.hpp"
#include "koord/rpc/ttrpc.hpp"
#include "support/run_task.hpp"
#include "support/tree.hpp"

namespace koord::rpc::ttrpc {
namespace {

struct Rig {
  Rig() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    auto first = Connection::adopt(loop.executor(), ends[0], {.session = {.serves_on = 1, .calls_on = 2}});
    REQUIRE(first.has_value());
    plugin = std::move(*first);
    peer = ends[1];
  }
  ~Rig() {
    if (peer >= 0) ::close(peer);
  }

  void adopt_peer() {
    auto second = Connection::adopt(loop.executor(), peer, {.session = {.serves_on = 2, .calls_on = 1}});
    REQUIRE(second.has_value());
    runtime = std::move(*second);
    peer = -1;
  }
  /// Until serve() has ended.
  Task<Result<>> served(Connection& connection, Connection::Handler handler) {
    ended = co_await connection.serve(std::move(handler));
    has_ended.set();
    co_return Result<>();
  }

  test::Loop loop;
  std::unique_ptr<Connection> plugin, runtime;
  int peer = -1;
  Result<> ended;
  Event has_ended;
};

Response echo(const Request& request) { return {{}, request.method + ":" + request.payload}; }

Task<Result<>> call_both_ways(Rig& rig, std::vector<std::string>& answers) {
  TaskGroup tasks(rig.loop.executor());
  tasks.spawn("plugin", rig.served(*rig.plugin, echo));
  tasks.spawn("runtime", [](Rig& all) -> Task<Result<>> {
    (void)co_await all.runtime->serve(echo);
    co_return Result<>();
  }(rig));
  const std::string big(3'000'000, 'x');
  for (Connection* side : {rig.plugin.get(), rig.runtime.get()}) {
    answers.push_back((co_await side->call({"s", "a", "1", {}})).payload);
    const Response large = co_await side->call({"s", "b", big, {}});
    answers.push_back(large.payload == "b:" + big ? "whole" : "not whole");
  }
  rig.runtime->close();
  KOORD_CO_CHECK(co_await rig.has_ended.wait());
  const Response late = co_await rig.plugin->call({"s", "late", "", {}});
  answers.emplace_back(late.status.code == StatusCode::unavailable ? "unavailable" : late.status.message);
  co_await tasks.stop(rig.loop.clock, std::chrono::seconds(1));
  co_return Result<>();
}

TEST_CASE("Both ends call each other; when one goes the other is told") {
  Rig rig;
  rig.adopt_peer();
  std::vector<std::string> answers;
  REQUIRE(test::run_task(rig.loop, call_both_ways(rig, answers), true).has_value());
  CHECK(answers == std::vector<std::string>{"a:1", "whole", "a:1", "whole", "unavailable"});
  CHECK(rig.ended.error().message() == "the peer has closed the connection");
}

Task<Result<Code>> serve_bytes(Rig& rig, std::string bytes) {
  REQUIRE(::write(rig.peer, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  REQUIRE(::shutdown(rig.peer, SHUT_WR) == 0);
  const Result<> ended = co_await rig.plugin->serve(echo);
  co_return ended.error().code();
}

TEST_CASE("Garbage, or half a message and nothing more, ends the connection") {
  {
    Rig rig;
    CHECK(test::run_task(rig.loop, serve_bytes(rig, "garbage that is no frame at all"), true).value() ==
          Code::parse);
  }
  {
    Rig rig;
    CHECK(test::run_task(rig.loop, serve_bytes(rig, std::string("\0\0\0\1\0\0\0\7half", 12)), true).value() ==
          Code::unavailable);
  }
}

Task<Result<Code>> serve_one_who_does_not_read(Rig& rig) {
  // Each call is answered with a megabyte, which nobody takes.
  const auto handler = [](const Request&) { return Response{{}, std::string(1 << 20, 'x')}; };
  std::string bytes;
  for (std::uint32_t i = 0; i < 64; ++i) {
    std::string message;
    append_message(message, 2 * i + 1, MessageType::request, encode(Request{"s", "m", "", {}}));
    append_frames(bytes, 1, message);
  }
  REQUIRE(::write(rig.peer, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  const Result<> ended = co_await rig.plugin->serve(handler);
  co_return ended.error().code();
}

TEST_CASE("A peer that does not read its answers is given up") {
  Rig rig;
  CHECK(test::run_task(rig.loop, serve_one_who_does_not_read(rig), true).value() == Code::unavailable);
}

TEST_CASE("Connecting says what is wrong with the socket") {
  testing::Tree tree{{}};
  test::Loop loop;
  const auto code = [&](const std::string& path) {
    return test::run_task(loop, Connection::connect(path), true).error().code();
  };
  CHECK(code(tree / "none.sock") == Code::not_found);
  CHECK(code("/" + std::string(200, 'x')) == Code::invalid);
  tree.write("file", "");
  CHECK(code(tree / "file") == Code::unavailable);
}

}  // namespace
}  // namespace koord::rpc::ttrpc
