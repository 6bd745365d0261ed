// Who else holds what an agent holds: the port, the hook socket, the runtime's plugin name.
#include "framework/keep/other_agents.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <optional>

#include "framework/keep/peers.hpp"
#include "koord/base/file.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using koord::testing::Tree;
using namespace std::string_literals;

TEST_CASE("A table of the kernel's names who listens at a port", "[koordlet][keep]") {
  constexpr std::string_view kTable =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
      "   0: 00000000:2464 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 f "
      "100\n"
      "   1: 0100007F:2465 0100007F:2464 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 f "
      "20\n"
      "   2: 0100007F:2466 00000000:0000 06 00000000:00000000 03:000017A0 00000000     0        0 0 3 f\n"
      "   3: 00000000000000000000000000000000:2467 00000000000000000000000000000000:0000 0A "
      "00000000:00000000 "
      "00:00000000 00000000     0        0 99999999999 1 f 100 0 0 10 0\n"
      "   5: 0100007F:2469 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 5 1 f\n"
      "   6: 00000000000000000000000001000000:2469 00000000000000000000000000000000:0000 0A "
      "00000000:00000000 00:00000000 00000000     0        0 6 1 f\n"
      "   7: nonsense:246A 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 7 1 f\n"
      "garbage\n   4: :";
  struct Row {
    std::uint16_t port;
    std::vector<Listener> listeners;
  };
  const Row row = GENERATE(values<Row>({{0x2464, {{4711, ":9316"}}},         // it listens
                                        {0x2465, {}},                        // a connection
                                        {0x2466, {}},                        // what is left of one
                                        {0x2467, {{99999999999, ":9319"}}},  // IPv6
                                        {0x2468, {}},
                                        {0x2469, {{5, "127.0.0.1:9321"}, {6, "[::1]:9321"}}},
                                        {0x246A, {{7, ""}}}}));
  CAPTURE(row.port);
  CHECK(listeners_at(kTable, row.port) == row.listeners);
}

TEST_CASE("A command line says whether a process is a node agent, and the plugin's name",
          "[koordlet][keep]") {
  struct Row {
    std::string line;
    const char* name;
  };
  const Row row = GENERATE(values<Row>(
      {{"/koordlet\0-v=4\0"s, "koordlet_nri"},
       {"koordlet\0"s, "koordlet_nri"},
       {"/koordlet\0-runtime-hooks-nri-plugin-name=mine\0"s, "mine"},
       {"/koordlet\0--runtime-hooks-nri-plugin-name\0mine\0-v=4\0"s, "mine"},
       {"/usr/bin/koord\0--role=koordlet\0"s, "koordlet_nri"},
       {"koord\0--role=scheduler,koordlet\0--koordlet.runtime-hooks-nri-plugin-name=mine\0"s, "mine"},
       {"koord\0--role=manager\0--runtime-hooks-nri-plugin-name=mine\0"s, ""},
       {"/usr/bin/python3\0/koordlet\0"s, ""},
       {"/koordlet-tool\0"s, ""},
       {""s, ""},
       {"\0\0"s, ""}}));
  CAPTURE(row.line);
  CHECK(plugin_name(row.line) == row.name);
}

TEST_CASE("A process is described by its program and its pod", "[koordlet][keep]") {
  Tree tree;
  const std::string uid = "0a1b2c3d-0000-4000-8000-0123456789ab";
  tree.write("proc/7/cmdline", "/koordlet\0-v=4\0"s);
  tree.write("proc/7/cgroup",
             "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a1b2c3d_0000_4000_"
             "8000_0123456789ab.slice/cri-containerd-00.scope\n");
  tree.write("proc/8/cmdline", "/koordlet\0"s);
  tree.write("proc/8/cgroup", fmt::format("9:cpu:/kubepods/burstable/pod{}/00\n", uid));
  tree.write("proc/9/cmdline", "/usr/bin/\x1b[31mkoord\0"s);
  tree.write("proc/9/cgroup", "0::/system.slice/koordlet.service\n");
  tree.write("proc/10/cmdline", std::string(4000, 'x'));
  const std::vector<std::string> procs = {tree / "proc/"};
  CHECK(describe_process(procs, 7) == fmt::format("pid 7, /koordlet, pod {}", uid));
  CHECK(describe_process(procs, 8) == fmt::format("pid 8, /koordlet, pod {}", uid));
  CHECK(describe_process(procs, 9) == "pid 9, /usr/bin/ [31mkoord");
  CHECK(describe_process(procs, 10).size() < 200);
  CHECK(describe_process(procs, 11) == "pid 11");
}

/// A process of the test's own that holds what it made before, until it is killed.
class Holder {
 public:
  Holder() : pid_(::fork()) {
    if (pid_ == 0)
      for (;;) ::pause();
  }
  ~Holder() { end(); }
  void end() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

Fd listen_at_port(std::uint16_t& port) {
  Fd socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(socket.get(), 1) == 0);
  socklen_t size = sizeof address;
  REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port = ntohs(address.sin_port);
  return socket;
}

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

Fd listen_at(const std::string& path) {
  Fd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  const sockaddr_un address = unix_address(path);
  REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(socket.get(), 4) == 0);
  return socket;
}

TEST_CASE("Who listens at the port is found, and waited for", "[koordlet][keep]") {
  std::uint16_t port = 0;
  Fd socket = listen_at_port(port);
  Holder holder;
  socket.reset();  // the other process has it still
  AgentPlaces places;
  places.procs = {"/proc/"};
  places.address = fmt::format("{}:{}", GENERATE("127.0.0.1", ""), port);
  const auto found = find_alone(places, nanoseconds(0));
  REQUIRE_FALSE(found.has_value());
  CHECK(found.error().code() == Code::already_exists);
  CHECK_THAT(found.error().message(), Catch::Contains(fmt::format("pid {}, ", holder.pid())) &&
                                          Catch::Contains(fmt::format(" listens at 127.0.0.1:{}", port)) &&
                                          Catch::StartsWith("this agent's port is taken: ") &&
                                          Catch::Contains("Nothing was written"));
  places.procs.clear();
  CHECK_THAT(find_alone(places, nanoseconds(0)).error().message(), Catch::Contains("cannot be seen"));
  places.address = "0";
  CHECK(find_alone(places, nanoseconds(0)).has_value());
  places.address = fmt::format("127.0.0.1:{}", port);
  holder.end();
  CHECK(find_alone(places, std::chrono::seconds(3)).has_value());
}

TEST_CASE("At another address of the port an agent is one too many, and anybody else is not",
          "[koordlet][keep]") {
  std::uint16_t port = 0;
  const Fd socket = listen_at_port(port);
  struct stat status {};
  REQUIRE(::fstat(socket.get(), &status) == 0);
  Tree tree;
  tree.write("proc/71/cmdline", GENERATE("/koordlet\0"s, "/usr/bin/other\0"s));
  REQUIRE(::mkdir((tree / "proc/71/fd").c_str(), 0755) == 0);
  REQUIRE(::symlink(fmt::format("socket:[{}]", status.st_ino).c_str(), (tree / "proc/71/fd/3").c_str()) == 0);
  AgentPlaces places;
  places.procs = {tree / "proc/"};
  places.address = fmt::format("127.0.0.2:{}", port);
  const auto found = find_alone(places, nanoseconds(0));
  const bool agent = koord::read_file(tree / "proc/71/cmdline")->starts_with("/koordlet");
  CHECK(found.has_value() != agent);
  if (!agent) return;
  CHECK_THAT(found.error().message(),
             Catch::StartsWith(fmt::format(
                 "another agent runs on this host: pid 71, /koordlet listens at 127.0.0.1:{}. ", port)));
}

TEST_CASE("Who answers at the hook socket is found", "[koordlet][keep]") {
  Tree tree;
  AgentPlaces places;
  places.procs = {"/proc/"};
  places.hook_socket = tree / "koordlet.sock";
  CHECK(find_alone(places, nanoseconds(0)).has_value());
  Fd socket = listen_at(places.hook_socket);
  const auto found = find_alone(places, nanoseconds(0));
  REQUIRE_FALSE(found.has_value());
  // Who called listen() is who the kernel names.
  CHECK_THAT(found.error().message(),
             Catch::Contains(fmt::format("pid {}, ", ::getpid())) && Catch::Contains(places.hook_socket));
  socket.reset();
  CHECK(find_alone(places, nanoseconds(0)).has_value());  // the file alone is nobody
}

TEST_CASE("Who is the runtime's plugin of that name is found", "[koordlet][keep]") {
  Tree tree;
  AgentPlaces places;
  places.nri_socket = tree / "nri.sock";
  places.nri_name = "koordlet_nri";
  places.procs = {tree / "proc/"};
  const Fd runtime = listen_at(places.nri_socket), other = listen_at(tree / "other.sock");
  const auto connect_to = [&](const Fd& listener, const std::string& path) {
    Fd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
    const sockaddr_un address = unix_address(path);
    REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    return std::pair(std::move(socket), Fd(::accept(listener.get(), nullptr, nullptr)));
  };
  const auto plugin = connect_to(runtime, places.nri_socket);
  const auto elsewhere = connect_to(other, tree / "other.sock");
  const auto add = [&](int pid, const std::string& line, const Fd& held) {
    struct stat status {};
    REQUIRE(::fstat(held.get(), &status) == 0);
    tree.write(fmt::format("proc/{}/cmdline", pid), line);
    REQUIRE(::mkdir((tree / fmt::format("proc/{}/fd", pid)).c_str(), 0755) == 0);
    REQUIRE(::symlink(fmt::format("socket:[{}]", status.st_ino).c_str(),
                      (tree / fmt::format("proc/{}/fd/3", pid)).c_str()) == 0);
  };
  const auto peers = connected_to(places.nri_socket);
  if (peers.empty()) SUCCEED("this kernel has no diagnosis of unix sockets");
  if (peers.empty()) return;
  CHECK(peers.size() == 1);
  add(71, "/koordlet\0"s, elsewhere.first);                                     // another runtime's
  add(72, "/other-plugin\0"s, plugin.first);                                    // no agent
  add(73, "/koordlet\0--runtime-hooks-nri-plugin-name=mine\0"s, plugin.first);  // by another name
  const auto alone = find_alone(places, nanoseconds(0));
  REQUIRE(alone.has_value());
  CHECK(alone->empty());
  // Whose files cannot be looked at may be one.
  tree.remove("proc/72");
  tree.remove("proc/73");
  const auto unseen = find_alone(places, nanoseconds(0));
  REQUIRE(unseen.has_value());
  REQUIRE(unseen->size() == 1);
  CHECK_THAT(unseen->front(), Catch::Contains("CAP_SYS_PTRACE") && Catch::Contains("plugin koordlet_nri"));
  add(74, "/koordlet\0-v=4\0"s, plugin.first);
  const auto found = find_alone(places, nanoseconds(0));
  REQUIRE_FALSE(found.has_value());
  CHECK_THAT(found.error().message(),
             Catch::Contains("pid 74, /koordlet is the container runtime's plugin koordlet_nri"));
}

}  // namespace
}  // namespace koord::koordlet
