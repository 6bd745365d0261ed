// Watching by inotify: see write_watch.hpp.
#include "framework/sampler/write_watch.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace koord::koordlet {

namespace {

/// Attributes: the last link to a file that is no cgroup's has gone.
constexpr std::uint32_t kMask = IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF;
/// Somebody who writes without end does not hold up a tick: then all count as written.
constexpr int kMostReads = 64;

}  // namespace

WriteWatch::WriteWatch() : inotify_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

int WriteWatch::watch(const std::string& path) {
  if (!inotify_ || holders_.size() >= kMost) return kNone;
  const int number = ::inotify_add_watch(inotify_.get(), path.c_str(), kMask);
  if (number < 0) return kNone;
  ++holders_[number];
  return number;
}

void WriteWatch::forget(int number) {
  const auto it = holders_.find(number);
  if (it == holders_.end() || --it->second > 0) return;
  holders_.erase(it);
  (void)::inotify_rm_watch(inotify_.get(), number);  // fails where the file has gone
}

void WriteWatch::take() {
  written_.clear();
  all_ = false;
  if (holders_.empty()) return;
  alignas(inotify_event) std::array<char, 4096> buffer;
  for (int reads = 0;; ++reads) {
    const ssize_t size = ::read(inotify_.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    if (reads == kMostReads) {
      all_ = true;
      break;
    }
    for (std::size_t at = 0; at + sizeof(inotify_event) <= static_cast<std::size_t>(size);) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      at += sizeof event + event.len;
      if ((event.mask & IN_Q_OVERFLOW) != 0)
        all_ = true;
      else
        written_.push_back(event.wd);
    }
  }
  std::sort(written_.begin(), written_.end());
}

bool WriteWatch::is_written(int number) const {
  return all_ || std::binary_search(written_.begin(), written_.end(), number);
}

}  // namespace koord::koordlet
