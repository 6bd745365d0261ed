// Files: read whole with a bound, replaced whole, opened for appending. The kernel's own are in
// host/file.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "koord/base/result.hpp"

namespace koord {

/// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  /// Whoever calls it owns the descriptor from then on.
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

/// The error of a failed system call: ENOENT and ENODEV (the cgroup has gone) are Code::not_found, EACCES,
/// EPERM and EROFS Code::forbidden, EINVAL and ERANGE Code::invalid, the rest Code::io. The message is
/// "path: errno text".
Error errno_error(int errnum, std::string_view path);

/// What read_file() takes. A FIFO without a writer must not hold up a program that runs.
enum class Source : std::uint8_t {
  file,    // a regular file, or a link to one: what is mounted (ConfigMaps, Secrets) is a link
  own,     // a regular file and no link: what koord has written itself
  stream,  // also a pipe or a terminal, waiting for its writer: what an operator names on the command line
};

/// Reads a file whole. Longer than `limit` bytes is Code::too_large, not a truncated text; what is not what
/// `source` says is Code::invalid. Errors name the path.
Result<std::string> read_file(const std::string& path, std::size_t limit = std::size_t{4} << 20,
                              Source source = Source::file);

/// Reads a seekable `fd` from offset 0 to its end into `buffer`, which grows to what is needed, and returns
/// how much of it is the text. EINTR and short reads are handled. For what reads the same file again and
/// again.
Result<std::size_t> read_whole(int fd, std::string_view path, std::string& buffer, std::size_t limit);

struct ReplaceOptions {
  unsigned mode = 0600;  // less what the umask takes
  /// On the disk when it returns. Without it a crash of the machine may leave an empty file; a crash of the
  /// program never does.
  bool sync = true;
};

/// Puts a regular file in the place of `path`: written beside it as PATH.new, renamed, so that a reader or a
/// crash sees the old or the new text whole. What stands there already must be a regular file: a link, a FIFO
/// or a folder is Code::invalid and stays. A PATH.new that was left behind, of whatever kind, is removed and
/// never written through. One writer a path.
Result<> replace_file(const std::string& path, std::string_view text, const ReplaceOptions& options = {});

/// Opens a regular file for appending, made with `mode` if it is not there. Links are not followed; what is
/// no regular file is Code::invalid.
Result<Fd> open_for_append(const std::string& path, unsigned mode);

}  // namespace koord
