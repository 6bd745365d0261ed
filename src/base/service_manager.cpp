// sd_notify in a few lines: libsystemd has no static archive.
#include "koord/base/service_manager.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "koord/base/file.hpp"

namespace koord {

namespace {

std::optional<std::int64_t> number(const std::optional<std::string>& text) {
  std::int64_t value = 0;
  if (!text) return std::nullopt;
  const auto [end, wrong] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (wrong != std::errc() || end != text->data() + text->size() || value <= 0) return std::nullopt;
  return value;
}

}  // namespace

ServiceManager::ServiceManager(const GetEnv& env) : address_(env("NOTIFY_SOCKET").value_or(std::string())) {
  const auto microseconds = number(env("WATCHDOG_USEC"));
  const auto pid = env("WATCHDOG_PID");
  if (address_.empty() || !microseconds || (pid && number(pid) != std::int64_t{::getpid()})) return;
  // A century is as good as never, and its nanoseconds are a number.
  constexpr std::int64_t kMost = std::int64_t{100} * 365 * 86'400 * 1'000'000;
  watchdog_ = std::chrono::microseconds(std::min(*microseconds, kMost));
}

Result<> ServiceManager::tell(std::string_view state) const {
  if (address_.empty()) return {};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if ((address_.front() != '/' && address_.front() != '@') || address_.size() >= sizeof address.sun_path)
    return Error(Code::unsupported, "NOTIFY_SOCKET is neither a path nor an abstract socket");
  std::memcpy(address.sun_path, address_.data(), address_.size());
  if (address_.front() == '@') address.sun_path[0] = '\0';
  const Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return errno_error(errno, "a socket for NOTIFY_SOCKET");
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  if (::sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL,
               reinterpret_cast<const sockaddr*>(&address), length) < 0)
    return errno_error(errno, "NOTIFY_SOCKET");
  return {};
}

}  // namespace koord
