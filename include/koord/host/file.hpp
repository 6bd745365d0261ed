// Kernel files: small text that is read whole, again and again, through a descriptor that is held.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/base/result.hpp"

namespace koord::host {

/// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

/// The error of a failed system call: ENOENT and ENODEV (the cgroup has gone) are Code::not_found, EACCES,
/// EPERM and EROFS Code::forbidden, EINVAL and ERANGE Code::invalid, the rest Code::io. The message is
/// "path: errno text".
Error errno_error(int errnum, std::string_view path);

/// A text of one read buffer, reused from file to file so that the steady state allocates nothing.
class ReadBuffer {
 public:
  /// Files longer than `limit` bytes are an error, not a truncated text.
  explicit ReadBuffer(std::size_t limit = std::size_t{4} << 20) : limit_(limit) {}
  /// Reads from offset 0 to the end. The text is valid until the next call. EAGAIN and short reads are
  /// handled; an empty file is an empty text.
  Result<std::string_view> read(int fd, std::string_view path);
  std::size_t capacity() const { return data_.size(); }

 private:
  std::size_t limit_;
  std::string data_;
};

/// One kernel file, opened once and read with pread at 0.
class HeldFile {
 public:
  explicit HeldFile(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }
  bool is_open() const { return static_cast<bool>(fd_); }

  /// Opens when needed. A held descriptor of a removed cgroup answers ENODEV for ever, also when a cgroup of
  /// the same name has come back: then the path is opened once more.
  Result<std::string_view> read(ReadBuffer& buffer);
  void close() { fd_.reset(); }

 private:
  std::string path_;
  Fd fd_;
};

/// Reads a file once. For start-up and rare paths.
Result<std::string> read_file(const std::string& path, std::size_t limit = std::size_t{4} << 20);

/// Writes a kernel file with one write(2): the kernel's verdict is that call's errno. Does not create files.
Result<> write_file(const std::string& path, std::string_view text);

/// Puts a file of our own in the place of `path`: written beside it, synced, renamed, so that a reader or a
/// crash sees the old or the new text whole. Mode 0600.
Result<> replace_file(const std::string& path, std::string_view text);

bool exists(const std::string& path);

/// The names in a folder, sorted, without "." and "..".
Result<std::vector<std::string>> list_folder(const std::string& path);
/// The same, folders only.
Result<std::vector<std::string>> list_folders(const std::string& path);

}  // namespace koord::host
