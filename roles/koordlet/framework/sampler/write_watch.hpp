// WriteWatch: which files somebody has written, so that what follows from them is not read each time.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "koord/base/file.hpp"

namespace koord::koordlet {

/// Writes to a cgroup's file are seen whoever makes them: through other mounts of its hierarchy and other
/// namespaces, too. On one thread.
class WriteWatch {
 public:
  static constexpr int kNone = -1;
  /// Root's other programs, the kubelet among them, share what the kernel has: 8,192 before Linux 5.11.
  static constexpr std::size_t kMost = 1024;

  WriteWatch();

  /// From now on writes to the file are noticed. kNone: there is no such file, or the kernel has no watch
  /// left. Whoever watches the same file gets the same number, and gives it back by itself.
  int watch(const std::string& path);
  void forget(int number);

  /// Takes what was written since the last call.
  void take();
  /// Whether the file was written between the last two calls of take(), or that is not known.
  bool is_written(int number) const;

 private:
  Fd inotify_;
  std::unordered_map<int, int> holders_;  // by number: how many
  std::vector<int> written_;              // of the last take(), ascending
  bool all_ = false;                      // the kernel has left some out
};

}  // namespace koord::koordlet
