// inotify through the event loop.
#include "koord/async/file_watch.hpp"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>

namespace koord {

Result<FileWatch> FileWatch::open(asio::any_io_executor executor) {
  const int fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd < 0) return Error(Code::io, std::string("inotify: ") + std::strerror(errno));
  return FileWatch(executor, fd);
}

Result<int> FileWatch::add(const std::string& path, std::uint32_t mask) {
  const int watch = ::inotify_add_watch(descriptor_.native_handle(), path.c_str(), mask);
  if (watch >= 0) return watch;
  const int error = errno;
  const Code code = error == ENOENT || error == ENOTDIR ? Code::not_found
                    : error == ENOSPC                   ? Code::too_large
                                                        : Code::io;
  const char* const why =
      error == ENOSPC ? "the limit of fs.inotify.max_user_watches is reached" : std::strerror(error);
  return Error(code, fmt::format("{}: {}", path, why));
}

void FileWatch::remove(int watch) { ::inotify_rm_watch(descriptor_.native_handle(), watch); }

Task<Result<std::vector<FileEvent>>> FileWatch::next() {
  alignas(inotify_event) char bytes[16 * 1024];
  const auto token = asio::as_tuple(asio::use_awaitable);
  const auto buffer = asio::buffer(bytes);
  const auto [failed, size] = co_await descriptor_.async_read_some(buffer, token);
  if (failed == asio::error::operation_aborted) co_return Error(Code::cancelled, "asked to stop");
  if (failed) co_return Error(Code::io, fmt::format("inotify: {}", failed.message()));
  std::vector<FileEvent> events;
  for (std::size_t at = 0; at + sizeof(inotify_event) <= size;) {
    inotify_event event{};
    std::memcpy(&event, bytes + at, sizeof event);
    FileEvent out;
    out.watch = (event.mask & IN_Q_OVERFLOW) != 0 ? -1 : event.wd;
    out.mask = event.mask;
    if (event.len > 0) out.name = bytes + at + sizeof event;  // ends in zeros
    events.push_back(std::move(out));
    at += sizeof event + event.len;
  }
  co_return std::move(events);
}

}  // namespace koord
