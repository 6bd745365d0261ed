#include "koord/base/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace koord {

namespace {
constexpr std::size_t kFirstSize = 4096;  // most kernel files fit

Code code_of(int errnum) {
  switch (errnum) {
    case ENOENT:
    case ENODEV:
    case ESRCH:  // of a process
    case ENOTDIR: return Code::not_found;
    case EACCES:
    case EPERM:
    case EROFS: return Code::forbidden;
    case EINVAL:
    case ERANGE: return Code::invalid;
    case EOPNOTSUPP: return Code::unsupported;
    default: return Code::io;
  }
}

Error too_long(std::string_view path, std::size_t limit) {
  return Error(Code::too_large, fmt::format("{}: longer than {} bytes", path, limit));
}

Error not_regular(std::string_view path, mode_t mode) {
  const char* what = S_ISDIR(mode)    ? "a folder"
                     : S_ISLNK(mode)  ? "a symbolic link"
                     : S_ISFIFO(mode) ? "a pipe"
                     : S_ISSOCK(mode) ? "a socket"
                                      : "a device";
  return Error(Code::invalid, fmt::format("{}: {}, expected a regular file", path, what));
}

/// Of what can be read only once, from the front to the end.
Result<std::string> read_stream(int fd, const std::string& path, std::size_t limit) {
  std::string text(kFirstSize, '\0');
  std::size_t used = 0;
  for (;;) {
    if (used == text.size()) text.resize(std::min(text.size() * 2, limit + 1));
    const ssize_t n = read(fd, text.data() + used, text.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error(errno, path);
    used += static_cast<std::size_t>(n);
    if (used > limit) return too_long(path, limit);
    if (n == 0) break;
  }
  text.resize(used);
  return text;
}

Result<> write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno_error(errno, path);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

/// The new name is on the disk once its folder is.
void sync_folder_of(const std::string& path) {
  const std::string folder = path.substr(0, path.find_last_of('/') + 1);
  const Fd fd(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd) fsync(fd.get());
}
}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Error errno_error(int errnum, std::string_view path) {
  return Error(code_of(errnum), fmt::format("{}: {}", path, std::generic_category().message(errnum)));
}

Result<std::size_t> read_whole(int fd, std::string_view path, std::string& buffer, std::size_t limit) {
  if (buffer.empty()) buffer.resize(kFirstSize);
  std::size_t used = 0;
  for (;;) {
    if (used == buffer.size()) {
      buffer.resize(std::min(buffer.size() * 2, limit + 1));
      // seq_files may answer from another moment when read on from the middle: start again, one read.
      used = 0;
    }
    const ssize_t n = pread(fd, buffer.data() + used, buffer.size() - used, static_cast<off_t>(used));
    if (n < 0) {
      if (errno == EINTR) continue;
      return errno_error(errno, path);
    }
    used += static_cast<std::size_t>(n);
    if (used > limit) return too_long(path, limit);
    if (n == 0) return used;
  }
}

Result<std::string> read_file(const std::string& path, std::size_t limit, Source source) {
  // Without O_NONBLOCK, to open a FIFO is to wait.
  const int waits = source == Source::stream ? 0 : O_NONBLOCK;
  const int links = source == Source::own ? O_NOFOLLOW : 0;
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | waits | links));
  if (!fd) return errno == ELOOP && links != 0 ? not_regular(path, S_IFLNK) : errno_error(errno, path);
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return errno_error(errno, path);
  if (!S_ISREG(info.st_mode)) {
    if (source != Source::stream || S_ISDIR(info.st_mode)) return not_regular(path, info.st_mode);
    return read_stream(fd.get(), path, limit);
  }
  // One byte more than it has, so that the end is seen; kernel files say 0.
  const auto size = static_cast<std::size_t>(std::max<off_t>(info.st_size, 0));
  if (size > limit) return too_long(path, limit);
  std::string text(std::max(size + 1, kFirstSize), '\0');
  KOORD_TRY(used, read_whole(fd.get(), path, text, limit));
  text.resize(used);
  return text;
}

Result<> replace_file(const std::string& path, std::string_view text, const ReplaceOptions& options) {
  struct stat info {};
  if (lstat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) return not_regular(path, info.st_mode);
  const std::string fresh = fmt::format("{}.new", path);
  unlink(fresh.c_str());  // of a crash, or set as a trap: a link is removed, not followed
  Fd fd(open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, options.mode));
  if (!fd) return errno_error(errno, fresh);
  const auto fail = [&](Error error) {
    unlink(fresh.c_str());
    return error;
  };
  if (auto written = write_all(fd.get(), text, fresh); !written) return fail(written.error());
  if (options.sync && fsync(fd.get()) != 0) return fail(errno_error(errno, fresh));
  fd.reset();
  if (rename(fresh.c_str(), path.c_str()) != 0) return fail(errno_error(errno, path));
  if (options.sync) sync_folder_of(path);
  return {};
}

Result<Fd> open_for_append(const std::string& path, unsigned mode) {
  // Without O_NONBLOCK, to open a FIFO is to wait; on a regular file it means nothing.
  Fd fd(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
             mode));
  struct stat info {};
  if (!fd) {
    const int errnum = errno;
    const bool seen = lstat(path.c_str(), &info) == 0;
    return seen && !S_ISREG(info.st_mode) ? not_regular(path, info.st_mode) : errno_error(errnum, path);
  }
  if (fstat(fd.get(), &info) != 0) return errno_error(errno, path);
  if (!S_ISREG(info.st_mode)) return not_regular(path, info.st_mode);
  return fd;
}

}  // namespace koord
