// AsyncLogSink: a bounded queue of lines and the thread that writes them.
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "koord/base/log.hpp"

namespace koord {

struct AsyncLogSink::State {
  int fd;
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
      if (dropped > 0) text = "level=warn msg=\"log lines dropped\" count=" + std::to_string(dropped) + "\n";
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
      const ssize_t n = ::write(fd, text.data(), text.size());
      if (n > 0) {
        text.remove_prefix(static_cast<std::size_t>(n));
      } else if (n < 0 && errno == EAGAIN) {
        pollfd ready{fd, POLLOUT, 0};
        ::poll(&ready, 1, 100);
      } else if (n == 0 || errno != EINTR) {
        return false;
      }
    }
    return true;
  }
};

AsyncLogSink::AsyncLogSink(int fd, std::size_t max_bytes) : state_(std::make_unique<State>()) {
  state_->fd = fd;
  state_->max_bytes = max_bytes;
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

AsyncLogSink::~AsyncLogSink() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    state_->changed.notify_all();
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
  state_->changed.wait(lock, [this] { return state_->waiting.empty() && !state_->writing; });
}

AsyncLogSink::Stats AsyncLogSink::stats() const {
  const std::lock_guard lock(state_->mutex);
  return state_->stats;
}

}  // namespace koord
