// Peers of a unix socket, over netlink: see peers.hpp.
#include "framework/keep/peers.hpp"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>

#include <array>
#include <cstring>
#include <optional>

#include "koord/base/file.hpp"

namespace koord::koordlet {

namespace {

constexpr std::uint32_t kEstablished = 1U << 1;  // TCP_ESTABLISHED, which unix sockets share
constexpr std::size_t kBuffer = std::size_t{64} << 10;
/// The kernel answers from its tables; who asks must not hang all the same.
constexpr timeval kPatience = {2, 0};

struct Ask {
  nlmsghdr header;
  unix_diag_req request;
};

template <class T>
T read_as(const rtattr* attribute) {
  T value{};
  if (RTA_PAYLOAD(attribute) >= sizeof value) std::memcpy(&value, RTA_DATA(attribute), sizeof value);
  return value;
}

/// The peer of the socket that a message is about, if the file is the one.
std::optional<std::uint64_t> peer_of(const nlmsghdr* message, const struct stat& file) {
  if (message->nlmsg_len < NLMSG_LENGTH(sizeof(unix_diag_msg))) return std::nullopt;
  const auto* about = static_cast<const unix_diag_msg*>(NLMSG_DATA(message));
  auto left = static_cast<int>(message->nlmsg_len - NLMSG_LENGTH(sizeof(unix_diag_msg)));
  std::optional<std::uint64_t> peer;
  bool ours = false;
  const auto* attribute = reinterpret_cast<const rtattr*>(about + 1);
  for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
    if (attribute->rta_type == UNIX_DIAG_PEER) peer = read_as<std::uint32_t>(attribute);
    if (attribute->rta_type != UNIX_DIAG_VFS) continue;
    const auto vfs = read_as<unix_diag_vfs>(attribute);
    // The kernel's own form of a device's number: 12 bits and 20.
    ours = vfs.udiag_vfs_ino == static_cast<std::uint32_t>(file.st_ino) &&
           vfs.udiag_vfs_dev == ((major(file.st_dev) << 20U) | minor(file.st_dev));
  }
  return ours ? peer : std::nullopt;
}

}  // namespace

std::vector<std::uint64_t> connected_to(const std::string& path) {
  std::vector<std::uint64_t> peers;
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0 || !S_ISSOCK(file.st_mode)) return peers;
  const Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!socket) return peers;
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  Ask ask{};
  ask.header.nlmsg_len = sizeof ask;
  ask.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  ask.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  ask.request.sdiag_family = AF_UNIX;
  ask.request.udiag_states = kEstablished;
  ask.request.udiag_show = UDIAG_SHOW_VFS | UDIAG_SHOW_PEER;
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  if (::sendto(socket.get(), &ask, sizeof ask, 0, reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel) <
      0)
    return peers;
  alignas(nlmsghdr) std::array<char, kBuffer> buffer;
  for (;;) {
    const ssize_t size = ::recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (size <= 0) return peers;
    auto left = static_cast<unsigned>(size);
    for (const auto* message = reinterpret_cast<const nlmsghdr*>(buffer.data()); NLMSG_OK(message, left);
         message = NLMSG_NEXT(message, left)) {
      if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR) return peers;
      if (const auto peer = peer_of(message, file)) peers.push_back(*peer);
    }
  }
}

}  // namespace koord::koordlet
