// AsyncLogSink: a bounded queue of lines and the thread that writes them.
#include <fmt/format.h>

#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "koord/base/log.hpp"

namespace koord {

namespace {

/// How long the end of the process waits for a reader that does not read.
constexpr std::chrono::seconds kPatience{1};

/// Pipes, sockets and terminals, on which a write may wait for ever.
bool may_block(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && !S_ISREG(info.st_mode);
}

}  // namespace

struct AsyncLogSink::State {
  int fd;
  bool careful;  // the descriptor may block
  std::atomic<bool> give_up{false};
  std::size_t max_bytes;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::string> waiting;
  std::size_t bytes = 0;
  bool writing = false;
  bool stopping = false;
  Stats stats;
  std::uint64_t reported = 0;  // of stats.dropped, those that a line has told of
  std::thread thread;

  void run() {
    // A closed pipe must end in EPIPE, not in the end of the process.
    sigset_t pipe_signal;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);

    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return stopping || !waiting.empty(); });
      if (waiting.empty()) return;
      std::deque<std::string> batch;
      batch.swap(waiting);
      bytes = 0;
      const std::uint64_t dropped = stats.dropped - std::exchange(reported, stats.dropped);
      writing = true;
      lock.unlock();
      std::string text;
      if (dropped > 0) text = fmt::format("level=warn msg=\"log lines dropped\" count={}\n", dropped);
      std::uint64_t failed = 0;
      std::uint64_t lines = 0;
      constexpr std::size_t kChunk = 64 << 10;
      for (const std::string& line : batch) {
        text += line;
        text += '\n';
        ++lines;
        if (text.size() < kChunk) continue;
        if (!write_all(text)) failed += lines;
        text.clear();
        lines = 0;
      }
      if (!text.empty() && !write_all(text)) failed += lines;
      lock.lock();
      stats.failed += failed;
      writing = false;
      changed.notify_all();
    }
  }

  bool write_all(std::string_view text) const {
    while (!text.empty()) {
      if (careful) {
        pollfd ready{fd, POLLOUT, 0};
        const int n = ::poll(&ready, 1, 100);
        if (n == 0 && give_up) return false;
        if (n == 0) continue;
      }
      // A pipe that is ready takes PIPE_BUF bytes without waiting.
      const ssize_t n =
          ::write(fd, text.data(), careful ? std::min<std::size_t>(text.size(), PIPE_BUF) : text.size());
      if (n > 0) {
        text.remove_prefix(static_cast<std::size_t>(n));
      } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
        return false;
      }
    }
    return true;
  }

  bool idle() const { return waiting.empty() && !writing; }
};

AsyncLogSink::AsyncLogSink(int fd, std::size_t max_bytes) : state_(std::make_unique<State>()) {
  state_->fd = fd;
  state_->careful = may_block(fd);
  state_->max_bytes = max_bytes;
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

AsyncLogSink::~AsyncLogSink() {
  {
    std::unique_lock lock(state_->mutex);
    state_->stopping = true;
    state_->changed.notify_all();
    if (!state_->changed.wait_for(lock, kPatience, [this] { return state_->idle(); })) state_->give_up = true;
  }
  state_->thread.join();
}

void AsyncLogSink::write(LogLevel, std::string line) {
  const std::lock_guard lock(state_->mutex);
  state_->bytes += line.size();
  state_->waiting.push_back(std::move(line));
  while (state_->bytes > state_->max_bytes && state_->waiting.size() > 1) {
    state_->bytes -= state_->waiting.front().size();
    state_->waiting.pop_front();
    ++state_->stats.dropped;
  }
  state_->changed.notify_all();
}

void AsyncLogSink::flush() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_for(lock, kPatience, [this] { return state_->idle(); });
}

AsyncLogSink::Stats AsyncLogSink::stats() const {
  const std::lock_guard lock(state_->mutex);
  return state_->stats;
}

}  // namespace koord
