#include "koord/runtime/event_loop.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

#include "koord/base/file.hpp"

namespace koord::runtime {
namespace {

constexpr std::chrono::seconds kTasksGrace{1};
constexpr int kLeft = 1;  // the exit code of a process that something hangs in

Fd checked(int fd, const char* what) {
  if (fd < 0) throw boost::system::system_error({errno, boost::system::system_category()}, what);
  return Fd(fd);
}

void mark(const Fd& event) {
  const std::uint64_t one = 1;
  (void)!::write(event.get(), &one, sizeof one);
}

/// Whether one of them became readable in time; negative: no limit. Signals do not count as time.
bool wait_for(std::initializer_list<int> fds, std::chrono::steady_clock::time_point until, bool for_ever) {
  pollfd polls[2] = {};
  nfds_t count = 0;
  for (const int fd : fds) polls[count++] = {.fd = fd, .events = POLLIN, .revents = 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    const int wait = for_ever ? -1 : static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    const int ready = ::poll(polls, count, wait);
    if (ready < 0 && errno == EINTR) continue;
    return ready != 0;
  }
}

}  // namespace

/// A thread of its own that ends the process if it does not end itself. It needs nothing of the others', so
/// that it may be destroyed last.
class EventLoop::ExitBound {
 public:
  /// `signals` is readable once a stop signal has come.
  ExitBound(int signals, std::chrono::milliseconds bound)
      : signals_(checked(::fcntl(signals, F_DUPFD_CLOEXEC, 0), "stop signals")),
        begun_(checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")),
        done_(checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")),
        bound_(bound),
        thread_([this] { watch(); }) {}
  ~ExitBound() {
    finished_ = true;
    mark(begun_);
    mark(done_);
    thread_.join();
  }
  ExitBound(const ExitBound&) = delete;
  ExitBound& operator=(const ExitBound&) = delete;

  void begin() { mark(begun_); }
  void allow_longer(std::chrono::milliseconds time) { bound_ = bound_.load() + time; }
  /// All has ended but destructors.
  void settle(int code) { code_ = code; }

 private:
  void watch() const {
    wait_for({signals_.get(), begun_.get()}, {}, true);
    if (finished_) return;
    const std::chrono::milliseconds bound = bound_;
    if (wait_for({done_.get()}, std::chrono::steady_clock::now() + bound, false)) return;
    const std::string line = fmt::format("koord: has not stopped within {} s: ends with what hangs\n",
                                         std::chrono::duration_cast<std::chrono::seconds>(bound).count());
    // Who reads the log may hang, too.
    pollfd out{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    if (::poll(&out, 1, 0) == 1 && (out.revents & POLLOUT) != 0)
      (void)!::write(out.fd, line.data(), line.size());
    std::_Exit(code_);
  }

  const Fd signals_, begun_, done_;
  std::atomic<std::chrono::milliseconds> bound_;
  std::atomic<int> code_{kLeft};
  std::atomic<bool> finished_{false};
  std::thread thread_;  // the last member: it sees the others
};

EventLoop::EventLoop(int verbosity, std::chrono::milliseconds stop_within)
    : sink_(STDERR_FILENO),
      clock_(loop_.get_executor()),
      log_(sink_, clock_, verbosity),
      signals_(loop_.get_executor()),
      tasks_(loop_.get_executor(), log_failures(log_)) {
  bound_ = std::make_unique<ExitBound>(signals_.descriptor(), stop_within);
}

EventLoop::~EventLoop() = default;

void EventLoop::allow_longer(std::chrono::milliseconds time) { bound_->allow_longer(time); }

void EventLoop::end(int code) {
  if (code_ == 0) code_ = code;
  ended_.set();
}

int EventLoop::run(std::function<Task<>()> begin, std::function<Task<>()> stop) {
  TaskGroup main(loop_.get_executor(), log_failures(log_));
  main.spawn("main", live(std::move(begin), std::move(stop)));
  // Not loop_.run(): idle connections of the clients would keep the loop for their time-out.
  while (main.size() > 0) loop_.run_one();
  sink_.flush();
  if (left_behind_) std::_Exit(code_);
  bound_->settle(code_);
  return code_;
}

Task<> EventLoop::live(std::function<Task<>()> begin, std::function<Task<>()> stop) {
  tasks_.spawn("signals", signal());
  co_await begin();
  const Result<> waited = co_await ended_.wait();
  (void)waited;  // nobody cancels this task
  bound_->begin();
  co_await stop();
  co_await tasks_.stop(clock_, kTasksGrace);
}

Task<> EventLoop::signal() {
  const Result<int> number = co_await signals_.wait();
  if (!number) co_return;
  log_.info("stopping", kv("signal", *number));
  end(0);
}

}  // namespace koord::runtime
