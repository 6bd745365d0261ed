// Other agents: whoever does an agent's work on this host without its lock, such as the original koordlet.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/clock.hpp"
#include "koord/base/result.hpp"

namespace koord::koordlet {

/// What an agent of this host holds while it runs; empty: it holds no such thing.
struct AgentPlaces {
  std::string address;      // ADDRESS:PORT that it serves at
  std::string hook_socket;  // at which CRI proxies ask it
  std::string nri_socket, nri_name;
  /// Where processes are looked for, each with a slash at its end: /proc of the host and of this program.
  std::vector<std::string> procs;
};

/// Whether nobody else holds one of them: an agent that listens at the port, of whichever address, or anybody
/// who keeps this one from it; what answers at the socket; an agent that is connected to the runtime under
/// the plugin's name. It opens and closes sockets of its own, sends nothing and writes nothing.
/// Code::already_exists says who, as far as the processes of this host can be seen, and what they hold. One
/// that was killed holds it until the kernel has put it away: `patience` is how long to wait for that,
/// blocking. What cannot be found out counts as free, and is said in the texts that are returned.
Result<std::vector<std::string>> find_alone(const AgentPlaces& places, nanoseconds patience);

/// "pid 12, /koordlet, pod UID" of a process, as its files in `procs` say: another program's text, cleaned
/// and cut for a log.
std::string describe_process(const std::vector<std::string>& procs, int pid);

struct Listener {
  std::uint64_t inode = 0;
  std::string address;  // "127.0.0.1:9316", "[::1]:9316"; ":9316" of all
  friend bool operator==(const Listener&, const Listener&) = default;
};
/// The sockets that listen at the port, of a text like /proc/net/tcp or tcp6.
std::vector<Listener> listeners_at(std::string_view table, std::uint16_t port);

/// The name under which a process with this command line (as /proc/PID/cmdline, its arguments ended by NUL)
/// is a plugin of the container runtime; empty: it is no node agent, neither koordlet's original nor koord's.
std::string plugin_name(std::string_view command_line);

}  // namespace koord::koordlet
