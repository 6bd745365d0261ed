// HostLock: see host_lock.hpp.
#include "framework/keep/host_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

namespace koord::koordlet {

namespace {

constexpr std::string_view kPid = "pid ";

/// Another program's text, for a log.
std::string text_of(int fd) {
  std::array<char, 200> text{};
  const ssize_t size = ::pread(fd, text.data(), text.size(), 0);
  std::string who(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  std::replace_if(
      who.begin(), who.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, ' ');
  while (who.ends_with(' ')) who.pop_back();
  return who.empty() ? std::string("its owner is unknown") : who;
}

bool lock(int fd) { return ::flock(fd, LOCK_EX | LOCK_NB) == 0; }

/// Of the process that a text of ours names; of one in another namespace of processes nothing can be told.
void wait_for_end(std::string_view who, nanoseconds patience) {
  int pid = 0;
  if (!who.starts_with(kPid)) return;
  who.remove_prefix(kPid.size());
  (void)std::from_chars(who.data(), who.data() + who.size(), pid);
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd ended{process.get(), POLLIN, 0};
  if (process) (void)::poll(&ended, 1, static_cast<int>(patience / std::chrono::milliseconds(1)));
}

}  // namespace

Result<HostLock> HostLock::take(const std::string& path, std::string_view who, nanoseconds patience) {
  (void)::mkdir(path.substr(0, path.rfind('/')).c_str(), 0755);  // open() says what is wrong with it
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!fd) return errno_error(errno, path);
  if (!lock(fd.get())) {
    if (errno != EWOULDBLOCK) return errno_error(errno, path);
    const std::string other = text_of(fd.get());
    wait_for_end(other, patience);
    if (!lock(fd.get()))
      return Error(Code::already_exists,
                   fmt::format("another agent runs on this host: {} ({})", other, path));
  }
  const std::string line = fmt::format("{}{}, {}\n", kPid, ::getpid(), who);
  // For people: on a full disk the lock holds without it.
  if (::ftruncate(fd.get(), 0) == 0) (void)!::pwrite(fd.get(), line.data(), line.size(), 0);
  return HostLock(std::move(fd));
}

std::string HostLock::holder(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return text_of(fd.get());
}

}  // namespace koord::koordlet
