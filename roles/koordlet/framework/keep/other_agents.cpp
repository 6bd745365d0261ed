// Other agents, found by what they hold: see other_agents.hpp.
#include "framework/keep/other_agents.hpp"

#include <arpa/inet.h>
#include <dirent.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "framework/keep/peers.hpp"
#include "koord/base/file.hpp"

namespace koord::koordlet {

namespace {

/// What is read of another program's files.
constexpr std::size_t kMostText = std::size_t{64} << 10, kMostTable = std::size_t{16} << 20;
constexpr std::size_t kMostShown = 120;
constexpr int kRetryMs = 50;
constexpr std::string_view kDefaultName = "koordlet_nri", kNameFlag = "runtime-hooks-nri-plugin-name";
constexpr int kListens = 0x0A;  // TCP_LISTEN

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

/// Calls `visit` with the names in a folder until it says false.
void each_name(const std::string& path, const std::function<bool(std::string_view)>& visit) {
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir(path.c_str()));
  if (!folder) return;
  while (const dirent* entry = ::readdir(folder.get()))
    if (!visit(entry->d_name)) return;
}

std::optional<int> number_of(std::string_view name) {
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

std::string cleaned(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, ' ');
  while (text.ends_with(' ')) text.pop_back();
  if (text.size() > kMostShown) text = fmt::format("{}...", text.substr(0, kMostShown));
  return text;
}

/// Of "kubepods-burstable-pod0a1b..._..." or "kubepods/burstable/pod0a1b...-..."; empty: there is none.
std::string pod_uid(std::string_view groups) {
  constexpr std::size_t kSize = 36;
  for (auto at = groups.find("pod"); at != std::string_view::npos; at = groups.find("pod", at + 1)) {
    std::string uid(groups.substr(at + 3, kSize));
    std::ranges::replace(uid, '_', '-');
    if (uid.size() == kSize && uid.find_first_not_of("0123456789abcdef-") == std::string::npos) return uid;
  }
  return "";
}

/// Whether the process has a socket of one of the inodes open.
bool has_socket(const std::string& proc, int pid, const std::vector<std::uint64_t>& inodes) {
  const std::string folder = fmt::format("{}{}/fd", proc, pid);
  bool found = false;
  each_name(folder, [&](std::string_view name) {
    std::array<char, 64> link{};
    const ssize_t size = ::readlink(fmt::format("{}/{}", folder, name).c_str(), link.data(), link.size());
    std::string_view target(link.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    constexpr std::string_view kSocket = "socket:[";
    if (!target.starts_with(kSocket)) return true;
    target.remove_prefix(kSocket.size());
    std::uint64_t inode = 0;
    (void)std::from_chars(target.data(), target.data() + target.size(), inode);
    found = std::ranges::find(inodes, inode) != inodes.end();
    return !found;
  });
  return found;
}

/// The first process but this one that `wanted` takes.
std::optional<int> find_process(const std::vector<std::string>& procs,
                                const std::function<bool(const std::string& proc, int pid)>& wanted) {
  std::optional<int> found;
  for (const std::string& proc : procs) {
    each_name(proc, [&](std::string_view name) {
      const auto pid = number_of(name);
      if (pid && *pid != ::getpid() && wanted(proc, *pid)) found = pid;
      return !found;
    });
    if (found) break;
  }
  return found;
}

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  std::uint16_t port = 0;
};

/// Nothing for what serves nothing ("0") and for names, which the role's own ports look up and refuse.
std::optional<Address> address_of(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = number_of(text.substr(colon + 1));
  if (!port || *port <= 0 || *port > 65535) return std::nullopt;
  std::string host(text.substr(0, colon));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  Address address;
  address.port = static_cast<std::uint16_t>(*port);
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (host.empty()) host = "0.0.0.0";
  if (::inet_pton(AF_INET, host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(address.port);
    address.size = sizeof *v4;
  } else if (::inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(address.port);
    address.size = sizeof *v6;
  } else {
    return std::nullopt;
  }
  return address;
}

/// Who holds something; empty: nobody does.
struct Holder {
  std::string who;    // "X listens at :9316"
  bool agent = true;  // or whoever else it is that this one cannot go on beside
};

bool is_agent(const std::vector<std::string>& procs, int pid) {
  return std::ranges::any_of(procs, [pid](const std::string& proc) {
    const auto line = read_file(fmt::format("{}{}/cmdline", proc, pid), kMostText);
    return line && !plugin_name(*line).empty();
  });
}

bool is_taken(const Address& address) {
  const Fd socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;  // as whoever serves there has it: what lingers of closed connections is nobody
  if (!socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0) return false;
  return ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.size) != 0 &&
         errno == EADDRINUSE;
}

/// An agent at another address of the same port writes the same files; anybody else there may stay.
Holder at_port(const AgentPlaces& places) {
  const auto address = address_of(places.address);
  if (!address) return {};
  const bool taken = is_taken(*address);
  bool hidden = false;
  Holder stranger;
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    const auto text = read_file(table, kMostTable);
    if (!text) continue;
    for (const Listener& one : listeners_at(*text, address->port)) {
      const auto pid = find_process(places.procs, [&](const std::string& proc, int candidate) {
        return has_socket(proc, candidate, {one.inode});
      });
      hidden = hidden || !pid;
      if (!pid) continue;
      Holder found{fmt::format("{} listens at {}", describe_process(places.procs, *pid), one.address),
                   is_agent(places.procs, *pid)};
      if (found.agent) return found;
      if (stranger.who.empty()) stranger = std::move(found);
    }
  }
  if (!taken) return {};
  if (stranger.who.empty() || hidden)
    return {fmt::format("a process that cannot be seen listens at {}{}{}", places.address,
                        stranger.who.empty() ? "" : ", or ", stranger.who),
            false};
  return stranger;
}

std::string at_hook_socket(const AgentPlaces& places) {
  sockaddr_un address{};
  if (places.hook_socket.empty() || places.hook_socket.size() >= sizeof address.sun_path) return "";
  address.sun_family = AF_UNIX;
  places.hook_socket.copy(address.sun_path, sizeof address.sun_path - 1);
  const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe) return "";
  if (::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (errno != EAGAIN) return "";
    return fmt::format("a process whose queue is full answers at {}", places.hook_socket);
  }
  ucred who{};
  socklen_t size = sizeof who;
  const bool known = ::getsockopt(probe.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.pid > 0;
  return fmt::format("{} answers at {}",
                     known ? describe_process(places.procs, who.pid) : "a process that cannot be seen",
                     places.hook_socket);
}

std::string at_runtime(const AgentPlaces& places, const std::vector<std::uint64_t>& peers) {
  if (peers.empty()) return "";
  const auto pid = find_process(places.procs, [&](const std::string& proc, int candidate) {
    const auto line = read_file(fmt::format("{}{}/cmdline", proc, candidate), kMostText);
    return line && plugin_name(*line) == places.nri_name && has_socket(proc, candidate, peers);
  });
  if (!pid) return "";
  return fmt::format("{} is the container runtime's plugin {}", describe_process(places.procs, *pid),
                     places.nri_name);
}

/// Whether somebody is the runtime's plugin whose files this process may not look at: without CAP_SYS_PTRACE,
/// where /proc hides processes (hidepid), or in a pod without the host's.
bool has_hidden(const AgentPlaces& places, const std::vector<std::uint64_t>& peers) {
  return std::ranges::any_of(peers, [&](std::uint64_t peer) {
    return !find_process(places.procs, [&](const std::string& proc, int candidate) {
      return has_socket(proc, candidate, {peer});
    });
  });
}

Error refusal(const Holder& holder) {
  std::string text = holder.agent
                         ? fmt::format(
                               "another agent runs on this host: {}. Two would write the same files, "
                               "one over the other: end it first; nothing was written",
                               holder.who)
                         : fmt::format(
                               "this agent's port is taken: {}. If that is another agent, end it "
                               "first; else give this one another --addr. Nothing was written",
                               holder.who);
  return Error(Code::already_exists, std::move(text));
}

/// Of "0100007F:2464", the address's words as the machine has them: "127.0.0.1:9316". Empty: it is none.
std::string address_text(std::string_view hex, std::uint16_t port) {
  std::array<std::uint32_t, 4> words{};
  constexpr std::size_t kDigits = 8;
  const std::size_t count = hex.size() / kDigits;
  if (hex.size() % kDigits != 0 || (count != 1 && count != words.size())) return "";
  bool all = true;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view word = hex.substr(i * kDigits, kDigits);
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), words.at(i), 16);
    if (error != std::errc() || end != word.data() + word.size()) return "";
    all = all && words.at(i) == 0;
  }
  if (all) return fmt::format(":{}", port);
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = count == 1 ? AF_INET : AF_INET6;
  if (::inet_ntop(family, words.data(), text.data(), text.size()) == nullptr) return "";
  if (family == AF_INET) return fmt::format("{}:{}", text.data(), port);
  return fmt::format("[{}]:{}", text.data(), port);
}

}  // namespace

std::vector<Listener> listeners_at(std::string_view table, std::uint16_t port) {
  std::vector<Listener> all;
  while (!table.empty()) {
    const auto end = std::min(table.find('\n'), table.size());
    std::string_view line = table.substr(0, end);
    table.remove_prefix(std::min(end + 1, table.size()));
    // sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode
    std::array<std::string_view, 10> fields;
    std::size_t count = 0;
    while (count < fields.size()) {
      const auto begin = line.find_first_not_of(" \t");
      if (begin == std::string_view::npos) break;
      line.remove_prefix(begin);
      const auto stop = std::min(line.find_first_of(" \t"), line.size());
      fields[count++] = line.substr(0, stop);
      line.remove_prefix(stop);
    }
    if (count < fields.size()) continue;
    const std::size_t colon = std::min(fields[1].rfind(':'), fields[1].size() - 1);
    const std::string_view local = fields[1].substr(colon + 1);
    unsigned number = 0, state = 0;
    std::uint64_t inode = 0;
    (void)std::from_chars(local.data(), local.data() + local.size(), number, 16);
    (void)std::from_chars(fields[3].data(), fields[3].data() + fields[3].size(), state, 16);
    (void)std::from_chars(fields[9].data(), fields[9].data() + fields[9].size(), inode);
    if (number == port && state == kListens && inode != 0)
      all.push_back({inode, address_text(fields[1].substr(0, colon), port)});
  }
  return all;
}

std::string plugin_name(std::string_view command_line) {
  bool agent = false, first = true, named = false;
  std::string name(kDefaultName);
  while (!command_line.empty()) {
    const auto end = std::min(command_line.find('\0'), command_line.size());
    std::string_view argument = command_line.substr(0, end);
    command_line.remove_prefix(std::min(end + 1, command_line.size()));
    if (std::exchange(named, false)) name = argument;
    if (std::exchange(first, false)) {
      agent = argument.substr(argument.rfind('/') + 1) == "koordlet";
      continue;
    }
    while (argument.starts_with('-')) argument.remove_prefix(1);
    if (argument.starts_with("role=")) agent |= argument.find("koordlet") != std::string_view::npos;
    if (argument.starts_with("koordlet.")) argument.remove_prefix(9);
    if (!argument.starts_with(kNameFlag)) continue;
    argument.remove_prefix(kNameFlag.size());
    if (argument.empty())
      named = true;
    else if (argument.starts_with('='))
      name = argument.substr(1);
  }
  return agent ? name : "";
}

std::string describe_process(const std::vector<std::string>& procs, int pid) {
  for (const std::string& proc : procs) {
    const auto line = read_file(fmt::format("{}{}/cmdline", proc, pid), kMostText);
    if (!line || line->empty()) continue;
    std::string text = fmt::format("pid {}, {}", pid, cleaned(line->substr(0, line->find('\0'))));
    const auto groups = read_file(fmt::format("{}{}/cgroup", proc, pid), kMostText);
    if (!groups) return text;
    const std::string uid = pod_uid(*groups);
    return uid.empty() ? text : fmt::format("{}, pod {}", text, uid);
  }
  return fmt::format("pid {}", pid);
}

Result<std::vector<std::string>> find_alone(const AgentPlaces& places, nanoseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    Holder holder = at_port(places);
    if (holder.who.empty()) holder = {at_hook_socket(places)};
    const auto peers =
        places.nri_socket.empty() ? std::vector<std::uint64_t>() : connected_to(places.nri_socket);
    if (holder.who.empty()) holder = {at_runtime(places, peers)};
    if (holder.who.empty()) {
      std::vector<std::string> unseen;
      if (has_hidden(places, peers))
        unseen.push_back(fmt::format(
            "who is connected to {} cannot be seen (without CAP_SYS_PTRACE, with hidepid, or in a "
            "pod without hostPID): another agent may be the container runtime's plugin {}",
            places.nri_socket, places.nri_name));
      return unseen;
    }
    if (std::chrono::steady_clock::now() >= deadline) return refusal(holder);
    (void)::poll(nullptr, 0, kRetryMs);
  }
}

}  // namespace koord::koordlet
