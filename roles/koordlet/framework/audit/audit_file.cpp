// The writing thread: appends, rotates, removes, and survives a full disk.
#include "framework/audit/audit_file.hpp"

#include <fmt/format.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <ctime>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "koord/base/file.hpp"
#include "koord/host/file.hpp"

namespace koord::koordlet {
namespace {

constexpr nanoseconds kLogAgain = std::chrono::minutes(5);
constexpr std::string_view kName = "audit.log";
constexpr int kMaxSameSecond = 1000;

std::string stamp(WallTime time) {
  const std::time_t seconds =
      std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d-%H-%M-%S", &parts);
  return text;
}

}  // namespace

struct AuditFile::State {
  State(Options with, const Clock& time, Logger logger)
      : options(std::move(with)), clock(time), log(std::move(logger)) {}

  std::string path() const { return fmt::format("{}/{}", options.folder, kName); }

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return stopping || !waiting.empty(); });
      if (waiting.empty()) return;
      std::deque<std::string> lines = std::exchange(waiting, {});
      waiting_bytes = 0;
      busy = true;
      lock.unlock();
      write(lines);
      lock.lock();
      busy = false;
      idle.notify_all();
    }
  }

  void write(std::deque<std::string>& lines) {
    std::uint64_t lost = 0;
    for (const std::string& line : lines)
      if (!write(line)) ++lost;
    if (lost == 0) return;
    const std::lock_guard lock(mutex);
    dropped += lost;
  }

  bool write(const std::string& line) {
    if (!file && !open()) return false;
    std::size_t done = 0;
    while (done < line.size()) {
      const ssize_t n = ::write(file.get(), line.data() + done, line.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        const int failure = errno;
        // Half a line is worse than none; if that fails too, readers skip it.
        if (done > 0 && ftruncate(file.get(), static_cast<off_t>(size)) != 0) size += done;
        complain(errno_error(failure, path()));
        return false;
      }
      done += static_cast<std::size_t>(n);
    }
    size += done;
    if (size >= options.max_file_bytes) rotate();
    return true;
  }

  bool open() {
    std::error_code ignored;
    std::filesystem::create_directories(options.folder, ignored);
    auto opened = open_for_append(path(), 0640);
    struct stat info {};
    if (!opened || fstat(opened->get(), &info) != 0) {
      complain(opened ? errno_error(errno, path()) : opened.error());
      return false;
    }
    file = std::move(*opened);
    size = static_cast<std::size_t>(info.st_size);
    return true;
  }

  void rotate() {
    file.reset();
    const std::string prefix = fmt::format("{}/audit-{}-", options.folder, stamp(clock.now()));
    std::string name;
    for (int i = 0; i < kMaxSameSecond; ++i) {
      char number[16];
      std::snprintf(number, sizeof number, "%d.log", i);
      name = prefix + number;
      if (!host::exists(name)) break;
    }
    if (std::rename(path().c_str(), name.c_str()) != 0) complain(errno_error(errno, name));
    prune();
  }

  void prune() {
    struct Old {
      std::filesystem::file_time_type time;
      std::string path;
      std::uintmax_t bytes;
    };
    std::vector<Old> files;
    std::uintmax_t total = options.max_file_bytes;  // the one that begins now
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(options.folder, failed)) {
      const std::string name = entry.path().filename();
      if (!name.starts_with("audit-") || !name.ends_with(".log")) continue;
      const auto bytes = entry.file_size(failed);
      if (failed) continue;
      files.push_back({entry.last_write_time(failed), entry.path(), bytes});
      total += bytes;
    }
    std::sort(files.begin(), files.end(), [](const Old& a, const Old& b) {
      return a.time != b.time ? a.time < b.time : a.path < b.path;
    });
    for (const Old& old : files) {
      if (total <= options.max_total_bytes) return;
      if (std::filesystem::remove(old.path, failed)) total -= old.bytes;
    }
  }

  void complain(const Error& error) {
    file.reset();
    if (complained && clock.mono() - *complained < kLogAgain) return;
    complained = clock.mono();
    log.warn("cannot write the audit log", kv("error", error));
  }

  const Options options;
  const Clock& clock;
  const Logger log;

  // The thread's own.
  Fd file;
  std::size_t size = 0;
  std::optional<MonoTime> complained;

  std::mutex mutex;
  std::condition_variable changed, idle;
  std::deque<std::string> waiting;
  std::size_t waiting_bytes = 0;
  std::uint64_t dropped = 0;
  bool busy = false, stopping = false;
  std::thread thread;
};

AuditFile::AuditFile(Options options, const Clock& clock, Logger log)
    : state_(std::make_unique<State>(std::move(options), clock, std::move(log))) {}

AuditFile::~AuditFile() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->changed.notify_all();
  if (state_->thread.joinable()) state_->thread.join();
}

std::vector<std::string> AuditFile::tail(std::size_t max_bytes) const {
  std::vector<std::string> lines;
  const auto text = read_file(state_->path(), 2 * state_->options.max_file_bytes, Source::own);
  if (!text) return lines;
  std::string_view rest = *text;
  if (rest.size() > max_bytes) {
    rest.remove_prefix(rest.size() - max_bytes);
    rest.remove_prefix(std::min(rest.size(), rest.find('\n') + 1));
  }
  for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    lines.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  return lines;
}

void AuditFile::append(std::string line) {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  line += '\n';
  state.waiting_bytes += line.size();
  state.waiting.push_back(std::move(line));
  while (state.waiting_bytes > state.options.max_waiting_bytes && !state.waiting.empty()) {
    state.waiting_bytes -= state.waiting.front().size();
    state.waiting.pop_front();
    ++state.dropped;
  }
  if (!state.thread.joinable()) state.thread = std::thread([&state] { state.run(); });
  state.changed.notify_one();
}

void AuditFile::flush() {
  std::unique_lock lock(state_->mutex);
  state_->idle.wait(lock, [this] { return state_->waiting.empty() && !state_->busy; });
}

std::uint64_t AuditFile::dropped() const {
  const std::lock_guard lock(state_->mutex);
  return state_->dropped;
}

}  // namespace koord::koordlet
