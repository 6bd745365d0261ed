// CommandRunner: the child's life, from posix_spawn to waitpid.
#include "koord/host/command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <csignal>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "koord/async/timer.hpp"
#include "koord/base/file.hpp"

namespace koord::host {

namespace {

using Descriptor = asio::posix::stream_descriptor;

/// Of standard error; what is beyond is read and dropped.
constexpr std::size_t kMostErrors = 4096;
constexpr int kReadsAtOnce = 16;
constexpr std::size_t kLongestLine = 256;  // of it, in a message

struct PipeEnds {
  Fd reading, writing;
};

Result<PipeEnds> open_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error(errno, "pipe");
  return PipeEnds{Fd(ends[0]), Fd(ends[1])};
}

/// What the child may find: see CommandRunner::run().
class SpawnSettings {
 public:
  SpawnSettings(int in, int out, int errors) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_adddup2(&actions_, in, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, out, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, errors, STDERR_FILENO);
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
    ::posix_spawn_file_actions_addchdir_np(&actions_, "/");
    ::posix_spawnattr_init(&attributes_);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setpgroup(&attributes_, 0);  // one of its own, with its number
    ::posix_spawnattr_setflags(&attributes_,
                               POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

/// From a thread of its own, whose root alone is another: posix_spawn knows no chroot, and what is between
/// fork and exec of a program with threads may do little.
int spawn_below(const std::string& root, const std::function<int()>& spawn) {
  int failed = 0;
  std::thread([&] {
    failed = ::unshare(CLONE_FS) == 0 && ::chroot(root.c_str()) == 0 ? spawn() : errno;
  }).join();
  return failed;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

/// One of its two pipes, read as it fills. Shared with the reading under way, which may end after the child.
struct Stream : std::enable_shared_from_this<Stream> {
  Stream(const asio::any_io_executor& executor, Fd fd, std::size_t bound)
      : pipe(executor, ::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)), most(bound) {
    ::fcntl(pipe.native_handle(), F_SETFL, O_NONBLOCK);
  }

  void read_on() {
    pipe.async_wait(Descriptor::wait_read, [self = shared_from_this()](auto failed) {
      if (failed || self->ended) return;
      // A few at once: who floods is not to hold up the others on the loop.
      for (int reads = 0; reads < kReadsAtOnce && self->read_some();) ++reads;
      if (!self->ended) self->read_on();
    });
  }
  /// What is in the pipe now, so far as it counts; nothing that comes later.
  void drain() {
    while (!ended && !is_over && read_some()) {
    }
    ended = true;
    pipe.cancel();
  }
  /// False: there is no more now, or nobody will ever write any.
  bool read_some() {
    const ssize_t size = ::read(pipe.native_handle(), bytes.data(), bytes.size());
    if (size <= 0) {
      ended = size == 0 || (errno != EAGAIN && errno != EINTR);
      return false;
    }
    const auto got = static_cast<std::size_t>(size), room = most - text.size();
    text.append(bytes.data(), std::min(got, room));
    if (got > room && !is_over) {
      is_over = true;
      if (on_over) on_over();
    }
    return true;
  }

  Descriptor pipe;
  std::size_t most;
  std::string text;
  bool is_over = false, ended = false;
  std::function<void()> on_over;
  std::array<char, 4096> bytes{};
};

/// A child that runs: killed, with its group, where it is forgotten.
class Child {
 public:
  static Result<std::unique_ptr<Child>> start(const asio::any_io_executor& executor, const Command& command);
  ~Child() {
    stop_reading();
    if (reaped_) return;
    kill_group(SIGKILL);
    (void)reap();
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// It has ended; its number is its own until reap().
  Task<Result<>> ended() {
    const auto token = asio::as_tuple(asio::use_awaitable);
    const auto [failed] = co_await process_.async_wait(Descriptor::wait_read, token);
    if (failed) co_return Error(Code::cancelled, "asked to stop");
    co_return Result<>();
  }
  void kill_group(int signal) const { ::kill(-pid_, signal); }
  void stop_reading() {
    for (const auto& stream : {out_, errors_}) {
      stream->on_over = nullptr;
      stream->drain();
    }
  }
  /// How it ended; nothing: it has not.
  std::optional<int> reap(int options = WNOHANG) {
    int status = 0;
    if (::waitpid(pid_, &status, options) != pid_) return std::nullopt;
    reaped_ = true;
    return status;
  }
  pid_t pid() const { return pid_; }
  Stream& out() { return *out_; }
  Stream& errors() { return *errors_; }

 private:
  Child(const asio::any_io_executor& executor, pid_t pid, Fd out, Fd errors, std::size_t most_output)
      : pid_(pid),
        process_(executor),
        out_(std::make_shared<Stream>(executor, std::move(out), most_output)),
        errors_(std::make_shared<Stream>(executor, std::move(errors), kMostErrors)) {
    out_->on_over = [this] { kill_group(SIGKILL); };
    out_->read_on();
    errors_->read_on();
  }

  pid_t pid_;
  bool reaped_ = false;
  Descriptor process_;  // readable when it has ended
  std::shared_ptr<Stream> out_, errors_;
};

Result<std::unique_ptr<Child>> Child::start(const asio::any_io_executor& executor, const Command& command) {
  const std::string& program = command.arguments.front();
  KOORD_TRY(out, open_pipe());
  KOORD_TRY(errors, open_pipe());
  const Fd in(::open("/dev/null", O_RDONLY | O_CLOEXEC));  // here: another root may have none
  if (!in) return errno_error(errno, "/dev/null");
  const SpawnSettings settings(in.get(), out.writing.get(), errors.writing.get());
  const auto arguments = pointers(command.arguments), environment = pointers(command.environment);
  pid_t pid = 0;
  const auto spawn = [&] {
    return ::posix_spawn(&pid, program.c_str(), settings.actions(), settings.attributes(), arguments.data(),
                         environment.data());
  };
  const int failed = command.root.empty() ? spawn() : spawn_below(command.root, spawn);
  if (failed != 0) return errno_error(failed, fmt::format("{}{}", command.root, program));
  std::unique_ptr<Child> child(
      new Child(executor, pid, std::move(out.reading), std::move(errors.reading), command.most_output));
  const int process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (process < 0) {
    const int why = errno;
    child->kill_group(SIGKILL);
    (void)child->reap(0);
    return errno_error(why, "pidfd_open");
  }
  child->process_.assign(process);
  return child;
}

/// "exit status 3: no such device".
Result<> judge(int status, std::string_view errors) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  std::string why = WIFSIGNALED(status) ? fmt::format("killed by signal {}", WTERMSIG(status))
                                        : fmt::format("exit status {}", WEXITSTATUS(status));
  const std::string_view line = errors.substr(0, std::min(errors.find('\n'), kLongestLine));
  if (!line.empty()) why += fmt::format(": {}", line);
  return Error(Code::io, why);
}

}  // namespace

std::optional<MonoTime> Breaker::paused_until(MonoTime now) const {
  return until_ && now < *until_ ? until_ : std::nullopt;
}

void Breaker::succeeded() {
  failures_ = 0;
  until_.reset();
  pauses_.reset();
}

void Breaker::failed(MonoTime now) {
  if (++failures_ >= policy_.failures) until_ = now + pauses_.next();
}

CommandRunner::CommandRunner(Clock& clock, Command command, BreakerPolicy breaker)
    : clock_(clock), command_(std::move(command)), breaker_(breaker) {}

Result<> CommandRunner::may_run() {
  if (command_.arguments.empty() || !command_.arguments.front().starts_with('/'))
    return Error(Code::invalid, "a command is named by its absolute path");
  if (unreaped_) {
    if (::waitpid(*unreaped_, nullptr, WNOHANG) == 0)
      return Error(Code::unavailable,
                   fmt::format("{}: process {} of an earlier run was killed and does not go",
                               command_.arguments.front(), *unreaped_));
    unreaped_.reset();
  }
  if (const auto until = breaker_.paused_until(clock_.mono()))
    return Error(
        Code::unavailable,
        fmt::format("{}: not run for another {} s, because it keeps failing: {}", command_.arguments.front(),
                    std::chrono::duration_cast<std::chrono::seconds>(*until - clock_.mono()).count(),
                    last_error_));
  return {};
}

Task<Result<std::string>> CommandRunner::run() {
  KOORD_CO_CHECK(may_run());
  Result<std::string> output = co_await run_once();
  if (output) {
    breaker_.succeeded();
  } else {
    last_error_ = output.error().message();
    breaker_.failed(clock_.mono());
  }
  co_return output;
}

Task<Result<std::string>> CommandRunner::run_once() {
  const std::string& program = command_.arguments.front();
  KOORD_CO_TRY(child, Child::start(co_await asio::this_coro::executor, command_));
  const Result<> in_time = co_await with_timeout(clock_, command_.limit, child->ended());
  Result<> gone = in_time;
  if (!in_time) {
    co_await begin_cleanup();  // what follows is short, and not to be left undone
    child->kill_group(SIGTERM);
    gone = co_await with_timeout(clock_, command_.grace, child->ended());
  }
  // Who is left of its group holds its pipes open, and its number is nobody else's yet.
  child->kill_group(SIGKILL);
  if (!gone) gone = co_await with_timeout(clock_, command_.grace, child->ended());
  child->stop_reading();
  const std::optional<int> status = child->reap();
  if (!status) {
    unreaped_ = child->pid();
    co_return Error(Code::timeout,
                    fmt::format("{}: process {} was killed and does not go", program, child->pid()));
  }
  // As any wait does that was cancelled: the caller's loops end.
  if (!in_time && in_time.error().code() == Code::cancelled)
    throw boost::system::system_error(asio::error::operation_aborted);
  if (!in_time)
    co_return Error(
        Code::timeout,
        fmt::format("{}: not done after {} ms", program,
                    std::chrono::duration_cast<std::chrono::milliseconds>(command_.limit).count()));
  if (child->out().is_over)
    co_return Error(Code::too_large,
                    fmt::format("{}: it prints more than {} bytes", program, command_.most_output));
  if (const auto judged = judge(*status, child->errors().text); !judged)
    co_return Error(judged.error().code(), fmt::format("{}: {}", program, judged.error().message()));
  co_return std::move(child->out().text);
}

}  // namespace koord::host
