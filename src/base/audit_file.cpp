// The writing thread: appends, rotates, removes, and survives a full disk.
#include "koord/base/audit_file.hpp"

#include <fcntl.h>
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

namespace koord {
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

/// What a process that ended in the middle of a line has left, or a disk that was full. Whatever else is
/// wrong with the file is said when it is opened for writing.
void cut_torn_line(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat info {};
  if (!fd || fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  char buffer[4096];
  for (off_t end = info.st_size; end > 0;) {
    const auto size = static_cast<std::size_t>(std::min<off_t>(end, sizeof buffer));
    const off_t begin = end - static_cast<off_t>(size);
    if (pread(fd.get(), buffer, size, begin) != static_cast<ssize_t>(size)) return;
    const auto newline = std::string_view(buffer, size).rfind('\n');
    if (newline != std::string_view::npos) {
      const off_t whole = begin + static_cast<off_t>(newline) + 1;
      if (whole != info.st_size) (void)!ftruncate(fd.get(), whole);
      return;
    }
    end = begin;
  }
  (void)!ftruncate(fd.get(), 0);
}

struct Line {
  std::string text;
  AuditFile::Written written;
};

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
      std::deque<Line> lines = std::exchange(waiting, {});
      waiting_bytes = 0;
      busy = true;
      lock.unlock();
      write(lines);
      lock.lock();
      busy = false;
      idle.notify_all();
    }
  }

  void write(std::deque<Line>& lines) {
    std::uint64_t lost = 0;
    for (const Line& line : lines) {
      const bool done = write(line.text);
      if (!done) ++lost;
      if (line.written) line.written(done);
    }
    if (lost == 0) return;
    const std::lock_guard lock(mutex);
    dropped += lost;
  }

  bool write(const std::string& line) {
    if (!file) {
      const Result<> opened = open();
      if (!opened) complain(opened.error());
      if (!file) return false;
    }
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

  Result<> open() {
    std::error_code ignored;
    std::filesystem::create_directories(options.folder, ignored);
    cut_torn_line(path());
    KOORD_TRY(opened, open_for_append(path(), 0640));
    struct stat info {};
    if (fstat(opened.get(), &info) != 0) return errno_error(errno, path());
    file = std::move(opened);
    size = static_cast<std::size_t>(info.st_size);
    return {};
  }

  void rotate() {
    file.reset();
    const std::string prefix = fmt::format("{}/audit-{}-", options.folder, stamp(clock.now()));
    std::string name;
    for (int i = 0; i < kMaxSameSecond; ++i) {
      char number[16];
      std::snprintf(number, sizeof number, "%d.log", i);
      name = prefix + number;
      std::error_code ignored;
      if (!std::filesystem::exists(name, ignored)) break;
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
  std::deque<Line> waiting;
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

Result<> AuditFile::open() { return state_->open(); }

void AuditFile::append(std::string line, Written written) {
  State& state = *state_;
  std::deque<Line> given_up;
  {
    const std::lock_guard lock(state.mutex);
    line += '\n';
    state.waiting_bytes += line.size();
    state.waiting.push_back({std::move(line), std::move(written)});
    while (state.waiting_bytes > state.options.max_waiting_bytes && !state.waiting.empty()) {
      state.waiting_bytes -= state.waiting.front().text.size();
      given_up.push_back(std::move(state.waiting.front()));
      state.waiting.pop_front();
      ++state.dropped;
    }
    if (!state.thread.joinable()) state.thread = std::thread([&state] { state.run(); });
    state.changed.notify_one();
  }
  for (const Line& each : given_up)
    if (each.written) each.written(false);
}

void AuditFile::flush() {
  std::unique_lock lock(state_->mutex);
  state_->idle.wait(lock, [this] { return state_->waiting.empty() && !state_->busy; });
}

std::uint64_t AuditFile::dropped() const {
  const std::lock_guard lock(state_->mutex);
  return state_->dropped;
}

}  // namespace koord
