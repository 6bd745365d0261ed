// Netlink: one socket of a protocol; what is asked is answered before a call returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/file.hpp"
#include "koord/base/result.hpp"
#include "message.hpp"

namespace koord::host {

/// One thread at a time. It is of the network namespace in which it was opened. Errors: EPERM is
/// Code::forbidden, ENOENT and ENODEV Code::not_found, EEXIST Code::already_exists, EOPNOTSUPP and its like
/// Code::unsupported, EINVAL Code::invalid; the message is "WHAT: " and the kernel's words. Code::timeout:
/// the kernel has not answered within five seconds.
class Netlink {
 public:
  /// NETLINK_ROUTE, NETLINK_NETFILTER.
  static Result<Netlink> open(int protocol);

  /// Waits for the kernel's word.
  Result<> ask(NetlinkMessage& message, std::string_view what);
  /// Messages in one transaction of nf_tables, all or none, of any size; begin and end are put around them.
  Result<> ask_together(std::span<NetlinkMessage> messages, std::string_view what);
  using Take = std::function<void(std::uint16_t type, std::span<const std::byte> payload)>;
  /// All objects of a kind, each as it comes; or the one that is asked for, with an acknowledgement. What
  /// changed meanwhile is asked for again, three times at most: at `begin`, the first time, too, nothing that
  /// was taken counts.
  Result<> list(NetlinkMessage& message, std::string_view what, const std::function<void()>& begin,
                const Take& take);

 private:
  explicit Netlink(Fd socket) : socket_(std::move(socket)) {}
  struct Answer;
  Result<> send(std::span<const std::byte> bytes, std::string_view what);
  Result<> receive(std::string_view what, const std::function<Result<bool>(const Answer&)>& take);
  Result<bool> list_once(NetlinkMessage& message, std::string_view what, const Take& take);

  Fd socket_;
  std::uint32_t sequence_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace koord::host
