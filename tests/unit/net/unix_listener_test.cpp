// UnixListener: what it finds in its folder, whom it lets in, what it leaves.
#include "koord/net/unix_listener.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <cstring>

#include "koord/async/task_group.hpp"
#include "support/run_task.hpp"
#include "support/tree.hpp"

namespace koord::net {
namespace {

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Fd connect_to(const std::string& path) {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_of(path);
  return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? std::move(fd)
                                                                                               : Fd();
}

unsigned mode_of(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

struct Rig {
  test::Loop loop;
  testing::Tree tree{{}};
  UnixListenerOptions options{.path = tree / "run/a/b.sock", .users = {::geteuid()}};

  Result<std::unique_ptr<UnixListener>> open() {
    return UnixListener::open(loop.executor(), loop.clock, options);
  }
  Code refusal() {
    const auto opened = open();
    REQUIRE(opened.has_error());
    CHECK(opened.error().message().find(tree / "run") != std::string::npos);
    return opened.error().code();
  }
};

TEST_CASE("A socket has its mode, its folders theirs, whatever the umask; it goes with its listener") {
  Rig rig;
  const mode_t before = ::umask(0077);
  rig.options.mode = 0660;
  auto listener = rig.open();
  ::umask(before);
  REQUIRE(listener.has_value());
  CHECK(mode_of(rig.options.path) == 0660);
  CHECK(mode_of(rig.tree / "run/a") == 0755);
  const Fd peer = connect_to(rig.options.path);
  REQUIRE(peer);
  const auto accepted = test::run_task(rig.loop, (*listener)->accept(), true);
  REQUIRE(accepted.has_value());
  CHECK(::write(accepted->get(), "x", 1) == 1);
  listener->reset();
  CHECK(::access(rig.options.path.c_str(), F_OK) != 0);
}

TEST_CASE("A stale socket is replaced, a served one and another file are left alone") {
  Rig rig;
  rig.tree.write("run/a/", "");
  {
    const Fd stale(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_un address = address_of(rig.options.path);
    REQUIRE(::bind(stale.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  auto first = rig.open();
  REQUIRE(first.has_value());
  CHECK(rig.refusal() == Code::already_exists);
  CHECK(connect_to(rig.options.path));  // the first still answers
  first->reset();
  rig.tree.write("run/a/b.sock", "somebody's notes");
  CHECK(rig.refusal() == Code::invalid);
  CHECK(::access(rig.options.path.c_str(), F_OK) == 0);
}

TEST_CASE("A listener takes away no socket but its own") {
  Rig rig;
  auto first = rig.open();
  REQUIRE(first.has_value());
  REQUIRE(::unlink(rig.options.path.c_str()) == 0);
  auto second = rig.open();
  REQUIRE(second.has_value());
  first->reset();
  CHECK(connect_to(rig.options.path));
}

TEST_CASE("A folder that others may write to is refused, but for a sticky one") {
  Rig rig;
  rig.tree.write("run/a/", "");
  REQUIRE(::chmod((rig.tree / "run/a").c_str(), 0777) == 0);
  CHECK(rig.refusal() == Code::forbidden);
  REQUIRE(::chmod((rig.tree / "run/a").c_str(), 01777) == 0);
  CHECK(rig.open().has_value());
}

TEST_CASE("A path that the kernel cannot have is refused with its length") {
  Rig rig;
  rig.options.path = rig.tree / ("run/" + std::string(120, 'x'));
  CHECK(rig.refusal() == Code::invalid);
  rig.options.path = "relative.sock";
  CHECK(rig.open().error().code() == Code::invalid);
}

TEST_CASE("Who is not among the users is closed at once and counted; the next one is not kept waiting") {
  Rig rig;
  rig.options.users = {::geteuid() + 1};
  auto listener = rig.open();
  REQUIRE(listener.has_value());
  const Fd peer = connect_to(rig.options.path);
  REQUIRE(peer);
  Code ended{};
  TaskGroup tasks(rig.loop.executor());
  tasks.spawn("accept", [](UnixListener& from, Code& end) -> Task<> {
    const auto accepted = co_await from.accept();
    end = accepted ? Code::internal : accepted.error().code();
  }(**listener, ended));
  rig.loop.settle();
  CHECK((*listener)->refused() == 1);
  test::run_task(rig.loop, tasks.stop(rig.loop.clock, std::chrono::seconds(1)), true);
  CHECK(ended == Code::cancelled);
  char byte = 0;
  CHECK(::read(peer.get(), &byte, 1) == 0);
}

TEST_CASE("A flood of strangers leaves the thread to others between any two of them") {
  Rig rig;
  rig.options.users = {::geteuid() + 1};
  auto listener = rig.open();
  REQUIRE(listener.has_value());
  std::vector<Fd> strangers;
  for (int i = 0; i < 50; ++i) strangers.push_back(connect_to(rig.options.path));
  TaskGroup tasks(rig.loop.executor());
  tasks.spawn("accept", [](UnixListener& from) -> Task<> { (void)co_await from.accept(); }(**listener));
  std::size_t turns = 0;
  while ((*listener)->refused() < 50) turns += rig.loop.context.run_one();
  CHECK(turns >= 50);
  test::run_task(rig.loop, tasks.stop(rig.loop.clock, std::chrono::seconds(1)), true);
}

}  // namespace
}  // namespace koord::net
