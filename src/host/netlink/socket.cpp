// Netlink sockets: see socket.hpp.
#include "socket.hpp"

#include <fmt/format.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace koord::host {
namespace {

constexpr timeval kPatience{.tv_sec = 5, .tv_usec = 0};
constexpr int kTries = 3;
constexpr int kSendAlways = 64 << 10, kSendSpare = 4096;
constexpr std::size_t kPiece = std::size_t{64} << 10;  // the kernel fills 32 KiB of a listing at most

Code code_of(int errnum) {
  switch (errnum) {
    case EPERM:
    case EACCES: return Code::forbidden;
    case ENOENT:
    case ENODEV: return Code::not_found;
    case EEXIST: return Code::already_exists;
    case EOPNOTSUPP:
    case EPROTONOSUPPORT:
    case ESOCKTNOSUPPORT:
    case EAFNOSUPPORT: return Code::unsupported;
    case EINVAL:
    case ERANGE: return Code::invalid;
    default: return Code::io;
  }
}

Error error_of(int errnum, std::string_view what, std::string_view words = {}) {
  std::string message = fmt::format("{}: {}", what, std::generic_category().message(errnum));
  if (!words.empty()) message += fmt::format(" ({})", words);
  return Error(code_of(errnum), std::move(message));
}

}  // namespace

struct Netlink::Answer {
  nlmsghdr head;
  std::span<const std::byte> payload;

  /// Of an answer that says how it went; nothing: it is none.
  std::optional<int> verdict() const {
    if (head.nlmsg_type != NLMSG_ERROR && head.nlmsg_type != NLMSG_DONE) return std::nullopt;
    int status = 0;
    if (payload.size() >= sizeof status) std::memcpy(&status, payload.data(), sizeof status);
    return -status;
  }
  /// What the kernel adds to an error.
  std::string_view words() const {
    if (head.nlmsg_type != NLMSG_ERROR || (head.nlmsg_flags & NLM_F_ACK_TLVS) == 0) return {};
    const std::size_t after = sizeof(nlmsgerr);  // the question's payload is left out (NETLINK_CAP_ACK)
    if (payload.size() < after) return {};
    return NetlinkAttributes(payload.subspan(after)).text(NLMSGERR_ATTR_MSG);
  }
};

Result<Netlink> Netlink::open(int protocol) {
  Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
  if (!socket) return error_of(errno, "a netlink socket");
  const int on = 1;
  ::setsockopt(socket.get(), SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof on);
  ::setsockopt(socket.get(), SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof on);
  // Kernels before 4.20 list more than they are asked for.
  if (protocol == NETLINK_ROUTE)
    ::setsockopt(socket.get(), SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof on);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  return Netlink(std::move(socket));
}

Result<> Netlink::send(std::span<const std::byte> bytes, std::string_view what) {
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  for (;;) {
    const ssize_t sent = ::sendto(socket_.get(), bytes.data(), bytes.size(), 0,
                                  reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel);
    if (sent == static_cast<ssize_t>(bytes.size())) return {};
    if (sent >= 0) return Error(Code::io, fmt::format("{}: the message was cut off", what));
    if (errno != EINTR) return error_of(errno, what);
  }
}

/// Until `take` says that it has all.
Result<> Netlink::receive(std::string_view what, const std::function<Result<bool>(const Answer&)>& take) {
  buffer_.resize(kPiece);
  for (;;) {
    sockaddr_nl from{};
    socklen_t size = sizeof from;
    const ssize_t got = ::recvfrom(socket_.get(), buffer_.data(), buffer_.size(), 0,
                                   reinterpret_cast<sockaddr*>(&from), &size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return Error(Code::timeout, fmt::format("{}: the kernel does not answer", what));
    if (got < 0) return error_of(errno, what);
    if (from.nl_pid != 0) continue;  // the kernel alone is asked
    std::span<const std::byte> rest(buffer_.data(), static_cast<std::size_t>(got));
    nlmsghdr head;
    while (rest.size() >= sizeof head) {
      std::memcpy(&head, rest.data(), sizeof head);
      if (head.nlmsg_len < sizeof head || head.nlmsg_len > rest.size())
        return Error(Code::parse, fmt::format("{}: the kernel's answer is cut off", what));
      KOORD_TRY(done, take({head, rest.subspan(sizeof head, head.nlmsg_len - sizeof head)}));
      if (done) return {};
      rest = rest.subspan(std::min<std::size_t>(NLMSG_ALIGN(head.nlmsg_len), rest.size()));
    }
  }
}

Result<> Netlink::ask(NetlinkMessage& message, std::string_view what) {
  const std::uint32_t mine = ++sequence_;
  KOORD_CHECK(send(message.finish(mine), what));
  return receive(what, [&](const Answer& answer) -> Result<bool> {
    if (answer.head.nlmsg_seq != mine) return false;
    const auto verdict = answer.verdict();
    if (!verdict) return false;
    if (*verdict != 0) return error_of(*verdict, what, answer.words());
    return true;
  });
}

Result<> Netlink::ask_together(std::span<NetlinkMessage> messages, std::string_view what) {
  nfgenmsg batch{};
  batch.res_id = static_cast<__be16>(__builtin_bswap16(NFNL_SUBSYS_NFTABLES));
  std::vector<std::byte> all;
  const auto add = [&all](std::span<const std::byte> bytes) {
    all.insert(all.end(), bytes.begin(), bytes.end());
  };
  add(NetlinkMessage(NFNL_MSG_BATCH_BEGIN, NLM_F_REQUEST).header(batch).finish(++sequence_));
  const std::uint32_t first = sequence_ + 1;
  for (NetlinkMessage& message : messages) add(message.finish(++sequence_));
  const std::uint32_t last = sequence_;
  add(NetlinkMessage(NFNL_MSG_BATCH_END, NLM_F_REQUEST).header(batch).finish(++sequence_));
  // A transaction is one message: what a socket may send by default holds some thousand addresses.
  if (const int size = static_cast<int>(all.size()) + kSendSpare; size > kSendSpare + kSendAlways)
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size);
  KOORD_CHECK(send(all, what));
  std::uint32_t left = last - first + 1;
  return receive(what, [&](const Answer& answer) -> Result<bool> {
    const std::uint32_t number = answer.head.nlmsg_seq;
    if (number + 1 < first || number > last + 1) return false;  // of an earlier question
    const auto verdict = answer.verdict();
    if (!verdict) return false;
    if (*verdict != 0) return error_of(*verdict, what, answer.words());
    return --left == 0;
  });
}

Result<bool> Netlink::list_once(NetlinkMessage& message, std::string_view what, const Take& take) {
  const std::uint32_t mine = ++sequence_;
  bool whole = true;
  KOORD_CHECK(send(message.finish(mine), what));
  KOORD_CHECK(receive(what, [&](const Answer& answer) -> Result<bool> {
    if (answer.head.nlmsg_seq != mine) return false;
    if ((answer.head.nlmsg_flags & NLM_F_DUMP_INTR) != 0) whole = false;
    if (const auto verdict = answer.verdict()) {
      if (*verdict != 0) return error_of(*verdict, what, answer.words());
      return true;
    }
    take(answer.head.nlmsg_type, answer.payload);
    return false;
  }));
  return whole;
}

Result<> Netlink::list(NetlinkMessage& message, std::string_view what, const std::function<void()>& begin,
                       const Take& take) {
  for (int i = 0; i < kTries; ++i) {
    begin();
    KOORD_TRY(whole, list_once(message, what, take));
    if (whole) return {};
  }
  return Error(Code::unavailable, fmt::format("{}: it changed each time while it was listed", what));
}

}  // namespace koord::host
