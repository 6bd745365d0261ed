// Server and Pool over a unix socket, and how one is written as a URL.
#include <unistd.h>

#include <catch2/catch.hpp>

#include "koord/net/pool.hpp"
#include "koord/net/server.hpp"
#include "support/run_task.hpp"
#include "support/tree.hpp"

namespace koord::net {
namespace {

TEST_CASE("unix_url: a path, with and without the scheme") {
  struct Row {
    std::string given, path;  // path empty: refused
  };
  const std::string longest = "/" + std::string(106, 'a');
  const Row rows[] = {{"/run/docker.sock", "/run/docker.sock"},
                      {"unix:///run/docker.sock", "/run/docker.sock"},
                      {longest, longest},
                      {longest + "a", ""},
                      {"unix://run/docker.sock", ""},
                      {"run/docker.sock", ""},
                      {"", ""},
                      {std::string("/a\0b", 4), ""},
                      {"unix://", ""}};
  for (const Row& row : rows) {
    INFO(row.given);
    const Result<Url> url = unix_url(row.given);
    REQUIRE(url.has_value() == !row.path.empty());
    if (!url) {
      CHECK(url.error().code() == Code::invalid);
      continue;
    }
    CHECK(url->unix_path == row.path);
    CHECK_FALSE(url->tls);
    CHECK(url->authority == "localhost");
  }
  CHECK(unix_url("/a", "docker")->authority == "docker");
  CHECK_FALSE(parse_url("unix:///run/docker.sock").has_value());
}

struct Bench {
  testing::Tree tree;
  test::Loop loop;
  Server server;
  Pool pool;

  Bench()
      : server(loop.executor(), loop.clock, {.max_body_bytes = 1 << 20},
               {.handle = [](Request r) -> Task<Response> {
                 co_return Response::text(200, r.peer->address + " " + r.path + " " + r.body);
               }}),
        pool(loop.executor(), loop.clock, *unix_url(tree / "s"), nullptr, {.max_body = 2 << 20}) {}
  ~Bench() {
    Task<> stopped = server.stop(std::chrono::milliseconds{10});
    test::run_task(loop, std::move(stopped));
  }
  Result<> listen() { return server.listen({.path = tree / "s", .users = {::getuid()}}); }
  Result<Response> send(Request request) { return test::run_task(loop, pool.send(request), true); }
};

TEST_CASE("a server and a client over a unix socket") {
  Bench bench;
  REQUIRE(bench.listen().has_value());
  const auto first = bench.send({.method = "POST", .target = "/one", .body = "hello"});
  REQUIRE(first.has_value());
  const std::string who = fmt::format("pid {} of user {}", ::getpid(), ::getuid());
  CHECK(first->body == who + " /one hello");
  // Kept alive, and with the limits of any server.
  CHECK(bench.server.connections() == 1);
  CHECK(bench.send({.method = "GET", .target = "/two"})->body == who + " /two ");
  CHECK(bench.server.connections() == 1);
  CHECK(bench.send({.method = "POST", .target = "/big", .body = std::string(1 << 20, 'x')})->status == 200);
  CHECK(bench.send({.method = "POST", .target = "/big", .body = std::string((1 << 20) + 1, 'x')})->status ==
        413);
  // A second server is told that somebody answers there.
  Server other(bench.loop.executor(), bench.loop.clock, {}, {});
  const Result<> taken = other.listen({.path = bench.tree / "s"});
  REQUIRE_FALSE(taken.has_value());
  CHECK(taken.error().code() == Code::already_exists);
}

TEST_CASE("nobody listens on the socket") {
  Bench bench;
  const auto none = bench.send({.method = "GET", .target = "/"});
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().code() == Code::unavailable);
  CHECK(none.error().message().find(bench.tree / "s") != std::string::npos);
}

TEST_CASE("the socket goes with the server") {
  Bench bench;
  REQUIRE(bench.listen().has_value());
  CHECK(std::filesystem::exists(bench.tree / "s"));
  Task<> stopped = bench.server.stop(std::chrono::milliseconds{10});
  test::run_task(bench.loop, std::move(stopped));
  CHECK_FALSE(std::filesystem::exists(bench.tree / "s"));
}

}  // namespace
}  // namespace koord::net
