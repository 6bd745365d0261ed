// Connections: whose place a newcomer gets.
#include "connections.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <catch2/catch.hpp>
#include <vector>

#include "rpc_rig.hpp"

namespace koord::rpc {
namespace {

using namespace test_rig;

TEST_CASE(
    "A connection with a call that lasts keeps its place; where all have such calls, a newcomer is refused") {
  Rig rig;
  Connections connections(rig.loop.executor(), 2);
  std::vector<Fd> ends;
  const auto socket = [&] {
    std::array<int, 2> pair{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
    ends.emplace_back(pair[0]);
    ends.emplace_back(pair[1]);
    return pair[0];
  };
  const auto gone = [&](std::size_t which) {
    char byte = 0;
    return ::recv(ends[which * 2 + 1].get(), &byte, 1, MSG_DONTWAIT) == 0;
  };
  REQUIRE(connections.admit(socket()));
  auto lasting = connections.called(fmt::format("fd:{}", ends[0].get()));
  REQUIRE(connections.admit(socket()));
  connections.called(fmt::format("fd:{}", ends[2].get()));
  REQUIRE(connections.admit(socket()));
  CHECK(!gone(0));
  CHECK(gone(1));
  const auto another = connections.called(fmt::format("fd:{}", ends[4].get()));
  CHECK(!connections.admit(socket()));
  lasting = nullptr;
  CHECK(connections.admit(socket()));
  CHECK(gone(0));
}

}  // namespace
}  // namespace koord::rpc
