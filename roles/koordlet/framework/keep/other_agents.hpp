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

/// Whether nobody else holds one of them: what listens at the port, what answers at the socket, an agent that
/// is connected to the runtime under the plugin's name. It opens and closes sockets of its own, sends nothing
/// and writes nothing. Code::already_exists says who, as far as the processes of this host can be seen, and
/// what they hold. One that was killed holds it until the kernel has put it away: `patience` is how long to
/// wait for that, blocking. What cannot be found out counts as free.
Result<> find_alone(const AgentPlaces& places, nanoseconds patience);

/// "pid 12, /koordlet, pod UID" of a process, as its files in `procs` say: another program's text, cleaned
/// and cut for a log.
std::string describe_process(const std::vector<std::string>& procs, int pid);

/// The inode of a socket that listens at the port, of a text like /proc/net/tcp or tcp6; nothing if none
/// does.
std::optional<std::uint64_t> listening_inode(std::string_view table, std::uint16_t port);

/// The name under which a process with this command line (as /proc/PID/cmdline, its arguments ended by NUL)
/// is a plugin of the container runtime; empty: it is no node agent, neither koordlet's original nor koord's.
std::string plugin_name(std::string_view command_line);

}  // namespace koord::koordlet
