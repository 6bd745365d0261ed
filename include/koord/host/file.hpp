// Kernel files: small text that is read whole, again and again, through a descriptor that is held.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/file.hpp"
#include "koord/base/result.hpp"

namespace koord::host {

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

/// Writes a kernel file with one write(2): the kernel's verdict is that call's errno. Does not create files.
Result<> write_file(const std::string& path, std::string_view text);

bool exists(const std::string& path);

/// The names in a folder, sorted, without "." and "..".
Result<std::vector<std::string>> list_folder(const std::string& path);
/// The same, folders only.
Result<std::vector<std::string>> list_folders(const std::string& path);
/// Whether there is no folder in it, links aside: one call tells where the file system counts them, as
/// cgroups do. False: look.
bool is_leaf_folder(const std::string& path);

}  // namespace koord::host
