// What systemd is told, on sockets of the test's own.
#include "koord/base/service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstring>
#include <map>

#include "koord/base/file.hpp"
#include "support/tree.hpp"

namespace koord {
namespace {

using Environment = std::map<std::string, std::string>;

ServiceManager manager(const Environment& environment) {
  return ServiceManager([&](const char* name) {
    const auto it = environment.find(name);
    return it == environment.end() ? std::nullopt : std::optional<std::string>(it->second);
  });
}

/// A socket that listens at `address` as systemd's does.
Fd listening(const std::string& address) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, address.data(), address.size());
  if (address.front() == '@') name.sun_path[0] = '\0';
  Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
  REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&name), length) == 0);
  return fd;
}

std::string heard(const Fd& fd) {
  std::array<char, 100> text{};
  const ssize_t size = ::recv(fd.get(), text.data(), text.size(), 0);
  return {text.data(), size < 0 ? 0 : static_cast<std::size_t>(size)};
}

TEST_CASE("systemd is told, by a path or an abstract socket") {
  const testing::Tree tree;
  const std::string address =
      GENERATE(true, false) ? tree / "notify" : "@koord-test-" + std::to_string(::getpid());
  const Fd fd = listening(address);
  const ServiceManager service = manager({{"NOTIFY_SOCKET", address}});
  REQUIRE(service.tell("READY=1").has_value());
  REQUIRE(service.tell("STOPPING=1").has_value());
  CHECK(heard(fd) == "READY=1");
  CHECK(heard(fd) == "STOPPING=1");
  CHECK(heard(fd).empty());
}

TEST_CASE("Where nobody listens nobody is told, and nothing waits") {
  CHECK(manager({}).tell("READY=1").has_value());
  const testing::Tree tree;
  CHECK_FALSE(manager({{"NOTIFY_SOCKET", tree / "nobody"}}).tell("READY=1").has_value());
  for (const std::string& bad :
       {std::string("vsock:2:1"), std::string("relative"), "/" + std::string(200, 'x')})
    CHECK(manager({{"NOTIFY_SOCKET", bad}}).tell("READY=1").error().code() == Code::unsupported);
  // Nobody takes what was sent: it is an error some time, not a wait.
  const std::string path = tree / "full";
  const Fd fd = listening(path);
  bool refused = false;
  for (int i = 0; i < 10'000 && !refused; ++i)
    refused = !manager({{"NOTIFY_SOCKET", path}}).tell("WATCHDOG=1").has_value();
  CHECK(refused);
}

TEST_CASE("The watchdog's time is this process' alone") {
  using std::chrono::seconds;
  const std::string own = std::to_string(::getpid());
  struct Row {
    Environment environment;
    std::optional<nanoseconds> watchdog;
  };
  for (const Row& row : {
           Row{{{"NOTIFY_SOCKET", "/n"}, {"WATCHDOG_USEC", "30000000"}}, seconds(30)},
           {{{"NOTIFY_SOCKET", "/n"}, {"WATCHDOG_USEC", "30000000"}, {"WATCHDOG_PID", own}}, seconds(30)},
           {{{"NOTIFY_SOCKET", "/n"}, {"WATCHDOG_USEC", "30000000"}, {"WATCHDOG_PID", "1"}}, {}},
           {{{"WATCHDOG_USEC", "30000000"}}, {}},
           {{{"NOTIFY_SOCKET", "/n"}}, {}},
           {{{"NOTIFY_SOCKET", "/n"}, {"WATCHDOG_USEC", "0"}}, {}},
           {{{"NOTIFY_SOCKET", "/n"}, {"WATCHDOG_USEC", "30s"}}, {}},
           {{{"NOTIFY_SOCKET", "/n"}, {"WATCHDOG_USEC", "9223372036854775807"}}, seconds(3'153'600'000)},
       })
    CHECK(manager(row.environment).watchdog() == row.watchdog);
}

}  // namespace
}  // namespace koord
