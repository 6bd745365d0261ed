// What the host sends, shaped by the agent's own code in network namespaces of the test's own: best-effort
// work is held to its ceiling while latency-sensitive work gets the rest, pods with a network of their own
// behind a masquerade and pods of the host's network; a foreign qdisc stays; all goes again. Rates are
// measured, and compared with one another. Exit status 77 where a need is missing (root, ip, HTB, veth).
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "framework/model/inventory.hpp"
#include "koord/api/koordinator/pod_io.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/base/file.hpp"
#include "koord/host/file.hpp"
#include "plugins/tc_network/tc_network.hpp"

namespace koord::koordlet::tc_network {
namespace {

constexpr int kSkipped = 77, kTries = 3;
constexpr double kTotal = 160e6 / 8;  // bytes a second
constexpr auto kWarmUp = std::chrono::milliseconds(500), kMeasured = std::chrono::milliseconds(1500);
constexpr std::uint16_t kPorts[] = {5001, 5002};

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what); }
void expect(bool holds, const std::string& what) {
  if (!holds) fail(what);
}
struct Skip {
  std::string why;
};

int sh(const std::string& command) {
  const int status = std::system(fmt::format("{} >/dev/null 2>&1", command).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
/// Once all that the test needs is there what is refused is its fault.
bool is_staged = false;
void need(const std::string& command) {
  if (sh(command) == 0) return;
  if (is_staged) fail(fmt::format("refused: {}", command));
  throw Skip{fmt::format("this machine refuses: {}", command)};
}

/// A process that keeps a network namespace; it dies with the test.
class Namespace {
 public:
  Namespace() {
    int ready[2];
    if (pipe(ready) != 0) fail("pipe");
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const char well = unshare(CLONE_NEWNET) == 0 ? 1 : 0;
      if (write(ready[1], &well, 1) != 1) _exit(1);
      for (;;) pause();
    }
    char well = 0;
    const bool heard = read(ready[0], &well, 1) == 1;
    close(ready[0]);
    close(ready[1]);
    if (!heard || well == 0) throw Skip{"no network namespaces (root is needed)"};
  }
  ~Namespace() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Namespace(const Namespace&) = delete;
  Namespace& operator=(const Namespace&) = delete;
  pid_t pid() const { return pid_; }
  void run(const std::string& command) const { need(fmt::format("nsenter -t {} -n {}", pid_, command)); }
  void enter() const {
    const int file = open(fmt::format("/proc/{}/ns/net", pid_).c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0 || setns(file, CLONE_NEWNET) != 0) _exit(9);
    close(file);
  }

 private:
  pid_t pid_ = -1;
};

/// IPv4 as IPv6 writes it.
sockaddr_in6 at(const std::string& address, std::uint16_t port) {
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(port);
  const std::string text = address.find(':') == std::string::npos ? "::ffff:" + address : address;
  inet_pton(AF_INET6, text.c_str(), &to.sin6_addr);
  return to;
}

/// Counts what comes for each port, in a process of the peer's.
class Sink {
 public:
  explicit Sink(const Namespace& peer) {
    counts_ = static_cast<std::atomic<std::uint64_t>*>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    int ready[2];
    if (pipe(ready) != 0) fail("pipe");
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      peer.enter();
      std::vector<std::thread> threads;
      for (int i = 0; i < 2; ++i) {
        const int server = socket(AF_INET6, SOCK_STREAM, 0);
        const sockaddr_in6 here = at("::", kPorts[i]);
        if (bind(server, reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0 ||
            listen(server, 9) != 0)
          _exit(1);
        threads.emplace_back([this, i, server] { serve(server, counts_[i]); });
      }
      if (write(ready[1], "x", 1) != 1) _exit(1);
      for (;;) pause();
    }
    char byte = 0;
    if (read(ready[0], &byte, 1) != 1) fail("no sink");
    close(ready[0]);
    close(ready[1]);
  }
  ~Sink() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  std::uint64_t count(int i) const { return counts_[i].load(); }

 private:
  static void serve(int server, std::atomic<std::uint64_t>& count) {
    for (;;) std::thread(&Sink::take, accept(server, nullptr, nullptr), std::ref(count)).detach();
  }
  static void take(int client, std::atomic<std::uint64_t>& count) {
    std::vector<char> buffer(1 << 16);
    for (ssize_t got = 0; (got = recv(client, buffer.data(), buffer.size(), 0)) > 0;)
      count += static_cast<std::uint64_t>(got);
    close(client);
  }
  std::atomic<std::uint64_t>* counts_;
  pid_t pid_ = -1;
};

/// Where a sender is, and what it sends to.
struct Way {
  const Namespace* from = nullptr;  // null: the host's
  std::string group = {};           // empty: none
  const char* to = "10.99.0.2";
  std::uint32_t priority = 0;  // SO_PRIORITY, if it is not 0
};

/// Sends to a port as fast as it may.
class Sender {
 public:
  Sender(const Way& way, int port) {
    pid_ = fork();
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (way.from != nullptr) way.from->enter();
    if (!way.group.empty() && !host::write_file(way.group + "/cgroup.procs", std::to_string(getpid())))
      _exit(2);
    const sockaddr_in6 to = at(way.to, kPorts[port]);
    const int client = socket(AF_INET6, SOCK_STREAM, 0);
    // One that was killed sends nothing more.
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    if (way.priority != 0 &&
        setsockopt(client, SOL_SOCKET, SO_PRIORITY, &way.priority, sizeof way.priority) != 0)
      _exit(4);
    if (connect(client, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) _exit(3);
    static char buffer[1 << 16];
    while (send(client, buffer, sizeof buffer, MSG_NOSIGNAL) > 0) {
    }
    _exit(0);
  }
  ~Sender() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

 private:
  pid_t pid_;
};

void pass(std::chrono::milliseconds time) { poll(nullptr, 0, static_cast<int>(time.count())); }

struct Rates {
  double best_effort = 0, latency_sensitive = 0;  // bytes a second
};

struct Stage {
  Stage() {
    if (getuid() != 0) throw Skip{"root is needed"};
    need("ip -V");
    need("nsenter -V");
    if (unshare(CLONE_NEWNET) != 0) throw Skip{"no network namespaces"};
    peer = std::make_unique<Namespace>();
    be = std::make_unique<Namespace>();
    ls = std::make_unique<Namespace>();
    need("ip link set lo up");
    need(fmt::format("ip link add eth0 type veth peer name eth0 netns {}", peer->pid()));
    need("ip addr add 10.99.0.1/24 dev eth0");
    need("ip link set eth0 up");
    peer->run("ip addr add 10.99.0.2/24 dev eth0");
    peer->run("ip link set eth0 up");
    need("ip route add default via 10.99.0.2");
    pod(*be, "vbe", 1);
    pod(*ls, "vls", 2);
    if (!host::write_file("/proc/sys/net/ipv4/ip_forward", "1")) throw Skip{"no forwarding"};
    has_v6 = sh("ip addr add fd99::1/64 dev eth0 nodad") == 0 &&
             host::write_file("/proc/sys/net/ipv6/conf/all/forwarding", "1");
    if (has_v6) {
      peer->run("ip addr add fd99::2/64 dev eth0 nodad");
      peer->run("ip route add fd98::/16 via fd99::1");
      add_v6(*be, "vbe", 1);
      add_v6(*ls, "vls", 2);
    }
    const std::string tunnel = "ip link add vx0 type vxlan id 7 dstport 4789 dev eth0";
    has_tunnel = sh(tunnel + " local 10.99.0.1 remote 10.99.0.2") == 0;
    if (has_tunnel) {
      need("ip addr add 10.97.0.1/24 dev vx0");
      need("ip link set vx0 up");
      peer->run(tunnel + " local 10.99.0.2 remote 10.99.0.1");
      peer->run("ip addr add 10.97.0.2/24 dev vx0");
      peer->run("ip link set vx0 up");
      for (const int number : {1, 2})
        peer->run(fmt::format("ip route add 10.98.{}.0/24 via 10.97.0.1", number));
    }
    // The peer does not know the pods: their addresses are translated, as on most nodes.
    peer->run("ip route add blackhole 10.98.0.0/16");
    sink = std::make_unique<Sink>(*peer);
  }
  static void pod(const Namespace& of, const std::string& name, int number) {
    need(fmt::format("ip link add {} type veth peer name eth0 netns {}", name, of.pid()));
    need(fmt::format("ip addr add 10.98.{}.1/24 dev {}", number, name));
    need(fmt::format("ip link set {} up", name));
    of.run(fmt::format("ip addr add 10.98.{}.2/24 dev eth0", number));
    of.run("ip link set eth0 up");
    of.run(fmt::format("ip route add default via 10.98.{}.1", number));
  }

  static void add_v6(const Namespace& of, const std::string& name, int number) {
    need(fmt::format("ip addr add fd98:{}::1/64 dev {} nodad", number, name));
    of.run(fmt::format("ip addr add fd98:{}::2/64 dev eth0 nodad", number));
    of.run(fmt::format("ip route add default via fd98:{}::1", number));
  }

  Rates measure(const Way& best_effort, const Way& latency_sensitive) const {
    const Sender first(best_effort, 0), second(latency_sensitive, 1);
    return count();
  }
  /// Bytes a second of one who has the network for himself.
  double alone(const Namespace& from) const {
    const Sender sender({&from}, 0);
    return count().best_effort;
  }
  Rates count() const {
    pass(kWarmUp);
    const std::uint64_t before[] = {sink->count(0), sink->count(1)};
    const auto begun = std::chrono::steady_clock::now();
    pass(kMeasured);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    return {static_cast<double>(sink->count(0) - before[0]) / took.count(),
            static_cast<double>(sink->count(1) - before[1]) / took.count()};
  }

  std::unique_ptr<Namespace> peer, be, ls;
  std::unique_ptr<Sink> sink;
  bool has_v6 = false, has_tunnel = false;
};

std::shared_ptr<const PodInfo> pod_of(const std::string& uid, std::string_view qos, std::string_view address,
                                      const std::string& group, std::string_view annotation = {},
                                      std::string_view second = {}) {
  auto object = std::make_shared<api::Pod>();
  object->metadata.labels["koordinator.sh/qosClass"] = Symbol(qos);
  if (!annotation.empty()) object->metadata.annotations[api::PodNetworkQos::kAnnotation] = Symbol(annotation);
  object->spec.host_network = address.empty();
  object->status.host_ip = Symbol("10.99.0.1");
  object->status.pod_ip = Symbol(address.empty() ? std::string_view("10.99.0.1") : address);
  if (!second.empty()) {
    api::PodIp ip;
    ip.ip = Symbol(second);
    object->status.pod_ips.push_back(std::move(ip));
  }
  auto pod = std::make_shared<PodInfo>();
  pod->uid = pod->name = uid;
  pod->ns = "default";
  pod->group = group;
  pod->object = std::move(object);
  return pod;
}

Inventory node(std::string_view policy) {
  Inventory inventory;
  inventory.slo_known = inventory.pods_known = true;
  auto slo = api::decode<api::NodeSloSpec>(fmt::format(
      R"({{"resourceQOSStrategy":{{"policies":{{"netQOSPolicy":"{}"}},
        "lsClass":{{"networkQOS":{{"enable":true,"egressRequest":60,"egressLimit":100}}}},
        "beClass":{{"networkQOS":{{"enable":true,"egressRequest":5,"egressLimit":"16M"}}}}}},
        "systemStrategy":{{"totalNetworkBandwidth":"160M"}}}})",
      policy));
  if (!slo) fail(slo.error().message());
  inventory.slo = std::make_shared<const api::NodeSloSpec>(std::move(*slo));
  return inventory;
}

Round follow(Network& network, const Inventory& inventory, const std::string& mark) {
  std::string error;
  const auto wanted = wanted_of(inventory, error);
  expect(wanted.has_value() && wanted->warnings.empty(), "nothing is wanted: " + error);
  return keep(network, *wanted, {.path = mark, .boot_id = "boot"});
}

void show(const char* what, const Rates& rates) {
  std::printf("  %-52s best-effort %7.1f Mbit/s, latency-sensitive %7.1f\n", what,
              rates.best_effort * 8 / 1e6, rates.latency_sensitive * 8 / 1e6);
}

/// Best-effort work has 16 of 160 Mbit/s at most, the others what is left. Empty: so it is.
std::string what_is_wrong(const Rates& rates) {
  if (rates.best_effort <= 0) return "best-effort work sends nothing";
  if (rates.best_effort > 0.16 * kTotal) return "best-effort work is not held to its ceiling";
  if (rates.latency_sensitive < 4 * rates.best_effort) return "latency-sensitive work does not get the rest";
  return rates.latency_sensitive < 1.15 * kTotal ? "" : "the whole is more than it may be";
}
Rates expect_shaped(const char* who, const std::function<Rates()>& measure) {
  std::string wrong;
  for (int i = 0; i < kTries; ++i) {
    const Rates rates = measure();
    show(who, rates);
    wrong = what_is_wrong(rates);
    if (wrong.empty()) return rates;
  }
  fail(fmt::format("{}: {}", who, wrong));
}

/// What one sends who has the network for himself, within bounds; the last of the tries counts.
double expect_between(const char* what, double least, double most, const std::function<double()>& measure) {
  for (int i = 0;; ++i) {
    const double rate = measure();
    show(what, {rate, 0});
    if (rate > least && rate < most) return rate;
    if (i + 1 == kTries)
      fail(fmt::format("{}: {:.0f} bytes a second, expected {:.0f} to {:.0f}", what, rate, least, most));
  }
}

/// The hierarchy net_cls of cgroup v1, mounted for this test alone.
class NetCls {
 public:
  explicit NetCls(const std::string& group) {
    char name[] = "koord-test-netcls-XXXXXX";
    if (mkdtemp(name) == nullptr) fail("mkdtemp");
    folder_ = fmt::format("{}/", name);
    mkdir(mount_point().c_str(), 0755);
    if (mount("none", mount_point().c_str(), "cgroup", 0, "net_cls") != 0) return;
    group_ = fmt::format("{}/{}", mount_point(), group);
    there_ = mkdir(group_.c_str(), 0755) == 0;
  }
  ~NetCls() {
    if (there_) rmdir(group_.c_str());
    umount(mount_point().c_str());
    rmdir(mount_point().c_str());
    rmdir(folder_.c_str());
  }
  NetCls(const NetCls&) = delete;
  NetCls& operator=(const NetCls&) = delete;
  bool there() const { return there_; }
  const std::string& folder() const { return folder_; }
  const std::string& group() const { return group_; }

 private:
  std::string mount_point() const { return folder_ + "net_cls"; }
  std::string folder_, group_;
  bool there_ = false;
};

void try_v1(const Stage& stage, const std::string& proc, const std::string& mark) {
  const std::string name = fmt::format("koord-test-net-{}", getpid());
  const NetCls hierarchy(name);
  if (!hierarchy.there()) {
    std::printf("  net_cls cannot be mounted: cgroup v1 is not tried\n");
    return;
  }
  host::Root root;
  root.proc = proc;
  root.cgroup = hierarchy.folder();
  HostNetwork network(root, host::CgroupVersion::v1);
  Inventory inventory = node("tc");
  inventory.all_pods = {pod_of("host", "BE", "", name)};
  const Round round = follow(network, inventory, mark);
  expect(round.wrong.empty() && round.shaped, "not shaped: " + round.wrong);
  expect(*read_file(hierarchy.group() + "/net_cls.classid") == fmt::format("{}\n", class_of(0x14)),
         "no classid");
  expect_shaped("the same by net_cls of cgroup v1", [&] {
    return stage.measure({nullptr, hierarchy.group()}, {});
  });
  expect(*withdraw(network, {.path = mark, .boot_id = "boot"}), "nothing was taken back");
  expect(*read_file(hierarchy.group() + "/net_cls.classid") == "0\n", "the classid is left");
}

/// A /proc whose first process is in a network.
class FirstProcess {
 public:
  explicit FirstProcess(const std::string& network) {
    char name[] = "koord-test-proc-XXXXXX";
    if (mkdtemp(name) == nullptr) fail("mkdtemp");
    folder_ = fmt::format("{}/", name);
    mkdir((folder_ + "1").c_str(), 0755);
    mkdir((folder_ + "1/ns").c_str(), 0755);
    if (symlink(network.c_str(), (folder_ + "1/ns/net").c_str()) != 0) fail("symlink");
  }
  ~FirstProcess() {
    unlink((folder_ + "1/ns/net").c_str());
    for (const char* name : {"1/ns", "1", ""}) rmdir((folder_ + name).c_str());
  }
  FirstProcess(const FirstProcess&) = delete;
  FirstProcess& operator=(const FirstProcess&) = delete;
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

/// With two hundred pods, a round that changes something and one that does not.
void time_rounds(const host::Root& root, const std::string& mark) {
  HostNetwork network(root, host::CgroupVersion::v2);
  Inventory inventory = node("tc");
  for (int i = 0; i < 200; ++i)
    inventory.all_pods.push_back(pod_of(fmt::format("pod-{}", i), i % 2 == 0 ? "BE" : "LS",
                                        fmt::format("10.96.0.{}", i + 1), "none",
                                        i % 4 == 0 ? R"({"egressLimit":"1M"})" : ""));
  for (const char* what : {"the first round", "a round that changes nothing"}) {
    const auto begun = std::chrono::steady_clock::now();
    const Round round = follow(network, inventory, mark);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begun;
    expect(round.shaped, round.wrong);
    std::printf("  200 pods, 50 of them limited: %s, %zu steps, %.2f ms\n", what, round.done.size(),
                took.count());
  }
  expect(*withdraw(network, {.path = mark, .boot_id = "boot"}), "nothing was taken back");
}

int run() {
  Stage stage;
  is_staged = true;
  const std::string mark = fmt::format("koord-test-network-{}.mark", getpid());
  const std::string group_name = fmt::format("koord-test-net-{}", getpid());
  // Cgroup v2, wherever this machine has it.
  host::Root root;
  if (!host::exists(root.cgroup + "cgroup.controllers")) root.cgroup += "unified/";
  const bool has_groups = host::exists(root.cgroup + "cgroup.controllers") &&
                          mkdir((root.cgroup + group_name).c_str(), 0755) == 0;
  struct Removal {
    std::string path;
    ~Removal() { rmdir(path.c_str()); }
  } removal{root.cgroup + group_name};
  for (const std::string& network :
       {fmt::format("/proc/{}/ns/net", stage.peer->pid()), std::string("none")}) {
    const FirstProcess other(network);
    root.proc = other.folder();
    expect(!HostNetwork(root, host::CgroupVersion::v2).has_any(),
           "another network than the host's is shaped");
  }
  const FirstProcess first("/proc/self/ns/net");
  root.proc = first.folder();
  const host::Root where = root;

  auto network = std::make_unique<HostNetwork>(where, host::CgroupVersion::v2);
  Inventory inventory = node("tc");
  const Rates free = stage.measure({}, {});
  show("nobody is held", free);

  inventory.all_pods = {pod_of("be", "BE", "10.98.1.2", "no-such-group", {}, "fd98:1::2"),
                        pod_of("ls", "LS", "10.98.2.2", "no-such-group-either", {}, "fd98:2::2")};
  if (has_groups) inventory.all_pods.push_back(pod_of("host", "BE", "", group_name));
  Round round = follow(*network, inventory, mark);
  expect(round.wrong.empty() && round.shaped, "not shaped: " + round.wrong);
  expect(host::exists(mark), "no mark");
  round = follow(*network, inventory, mark);
  expect(round.done.empty() && round.shaped, "what is as it should be is written again");

  // The peer answers the host alone, so that pods have to be translated.
  const auto masquerade =
      sh("iptables -t nat -A POSTROUTING -s 10.98.0.0/16 -o eth0 -j MASQUERADE") == 0 ||
      sh("nft 'add table ip t; add chain ip t c { type nat hook postrouting priority 100; }; "
         "add rule ip t c ip saddr 10.98.0.0/16 masquerade'") == 0;
  if (!masquerade) {
    std::printf("  neither iptables nor nft: pods' addresses are not translated\n");
    stage.peer->run("ip route replace 10.98.0.0/16 via 10.99.0.1");
  }
  const Rates pods = expect_shaped("pods with a network of their own",
                                   [&] { return stage.measure({stage.be.get()}, {stage.ls.get()}); });
  // No more than its class' ceiling, and what nobody else uses.
  const double alone = expect_between("a best-effort pod alone", 0.8 * pods.best_effort, 0.16 * kTotal,
                                      [&] { return stage.alone(*stage.be); });
  if (stage.has_v6)
    expect_shaped("the same by IPv6", [&] {
      return stage.measure({stage.be.get(), {}, "fd99::2"}, {stage.ls.get(), {}, "fd99::2"});
    });
  else
    std::printf("  no IPv6 here\n");
  if (stage.has_tunnel)
    expect_shaped("the same through a tunnel (VXLAN)", [&] {
      return stage.measure({stage.be.get(), {}, "10.97.0.2"}, {stage.ls.get(), {}, "10.97.0.2"});
    });
  else
    std::printf("  no VXLAN here\n");
  const Way in_group{nullptr, root.cgroup + group_name};
  if (has_groups) {
    expect_shaped("a best-effort pod of the host's network, and the host",
                  [&] { return stage.measure(in_group, {}); });
    Way lies = in_group;
    lies.priority = class_of(kDefaultMinor);
    expect_shaped("one that calls itself the system's (SO_PRIORITY)",
                  [&] { return stage.measure(lies, {}); });
  } else {
    std::printf("  no cgroup v2 here: pods of the host's network are not tried\n");
  }

  // Another agent: the filter is its own, nobody goes free meanwhile; a pod asks for less.
  network = std::make_unique<HostNetwork>(where, host::CgroupVersion::v2);
  inventory.all_pods[0] = pod_of("be", "BE", "10.98.1.2", "no-such-group", R"({"egressLimit":"4M"})");
  round = follow(*network, inventory, mark);
  expect(round.wrong.empty() && round.shaped, "not shaped again: " + round.wrong);
  expect_between("the same with a quarter of that as a limit of its own", 0, 0.5 * alone,
                 [&] { return stage.alone(*stage.be); });
  if (has_groups)
    expect_shaped("the host's network after a restart", [&] { return stage.measure(in_group, {}); });

  // All goes, twice.
  expect(*withdraw(*network, {.path = mark, .boot_id = "boot"}), "nothing was taken back");
  expect(!*withdraw(*network, {.path = mark, .boot_id = "boot"}), "it was taken back twice");
  expect(!host::exists(mark), "the mark is left");
  expect(sh("tc qdisc show dev eth0 | grep -q 6b6f") != 0, "the qdisc is left");
  auto marks = host::AddressMarks::open(std::string(kTable));
  expect(marks && !marks->read()->exists, "the table is left");
  expect_between("taken back", 0.3 * kTotal, 1e12, [&] { return stage.measure({}, {}).best_effort; });

  // A qdisc that somebody else has set.
  need("tc qdisc add dev eth0 root handle 1: htb default 2");
  round = follow(*network, inventory, mark);
  expect(!round.shaped && round.wrong.find("eth0: its root qdisc htb 1: is somebody else's") == 0,
         round.wrong);
  expect(sh("tc qdisc show dev eth0 | grep -q 'htb 1: root'") == 0, "somebody else's qdisc has gone");
  expect(!marks->read()->exists, "addresses are marked for nobody");
  round = follow(*network, node("terway-qos"), mark);
  expect(round.wrong.empty() && !host::exists(mark), "the mark is left");
  expect(sh("tc qdisc show dev eth0 | grep -q 'htb 1: root'") == 0,
         "somebody else's qdisc has gone in the end");
  need("tc qdisc del dev eth0 root");
  time_rounds(where, mark);
  try_v1(stage, root.proc, mark);
  unlink(mark.c_str());
  return 0;
}

}  // namespace
}  // namespace koord::koordlet::tc_network

int main() {
  try {
    return koord::koordlet::tc_network::run();
  } catch (const koord::koordlet::tc_network::Skip& skip) {
    std::printf("skipped: %s\n", skip.why.c_str());
    return koord::koordlet::tc_network::kSkipped;
  } catch (const std::exception& error) {
    std::printf("failed: %s\n", error.what());
    return 1;
  }
}
