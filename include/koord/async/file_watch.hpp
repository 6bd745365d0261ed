// FileWatch: changes below folders, from the kernel (inotify), as something to wait for.
#pragma once

#include <sys/inotify.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <string>
#include <vector>

#include "koord/async/task.hpp"

namespace koord {

struct FileEvent {
  int watch = -1;  // as add() returned it; -1 when the kernel dropped events: anything may have changed
  std::uint32_t mask = 0;  // IN_CREATE, ...; IN_ISDIR; IN_IGNORED: the watch has ended
  std::string name;        // within the folder; empty: the folder itself
};

/// One thread. Works on every file system that changes through this kernel, cgroups included.
class FileWatch {
 public:
  /// Code::io if the kernel has no more room for watchers.
  static Result<FileWatch> open(asio::any_io_executor executor);

  /// Watches a folder or file; a second call for the same one changes its mask and returns the same number.
  /// Code::not_found if it is not there, Code::too_large if the user's watches are used up.
  Result<int> add(const std::string& path, std::uint32_t mask);
  /// Unknown numbers are ignored.
  void remove(int watch);
  /// Waits until something has happened and takes all of it; Error(Code::cancelled) if cancelled.
  Task<Result<std::vector<FileEvent>>> next();

 private:
  FileWatch(const asio::any_io_executor& executor, int fd) : descriptor_(executor, fd) {}
  asio::posix::stream_descriptor descriptor_;
};

}  // namespace koord
