// HostLock: see host_lock.hpp.
#include "framework/keep/host_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace koord::koordlet {

namespace {

/// Another program's text, for a log.
std::string holder(int fd) {
  std::array<char, 200> text{};
  const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
  std::string who(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  std::replace_if(
      who.begin(), who.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, ' ');
  while (who.ends_with(' ')) who.pop_back();
  return who.empty() ? std::string("it has not said who it is") : who;
}

}  // namespace

Result<HostLock> HostLock::take(const std::string& path, std::string_view who) {
  (void)::mkdir(path.substr(0, path.rfind('/')).c_str(), 0755);  // open() says what is wrong with it
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!fd) return errno_error(errno, path);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return errno_error(errno, path);
    return Error(Code::already_exists,
                 fmt::format("another agent runs on this host: {} ({})", holder(fd.get()), path));
  }
  const std::string line = fmt::format("{}\n", who);
  // For people: on a full disk the lock holds without it.
  if (::ftruncate(fd.get(), 0) == 0) (void)!::pwrite(fd.get(), line.data(), line.size(), 0);
  return HostLock(std::move(fd));
}

}  // namespace koord::koordlet
