// NvmlProcess: the life of the process that asks NVIDIA's library. It is executed from memory: nothing is
// written to a disk, and the host's root, in which it runs, need not have it.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "koord/base/file.hpp"
#include "koord/host/command.hpp"
#include "koord/host/nvml.hpp"
#include "program_bytes.hpp"

namespace koord::host {

namespace {

constexpr std::size_t kMostText = std::size_t{1} << 20;
constexpr BreakerPolicy kPatience = {
    .failures = 3,
    .pauses = {.initial = std::chrono::seconds(10), .factor = 2, .cap = std::chrono::minutes(5)}};
constexpr int kProgram = 3;                // the descriptor of it in the child
constexpr unsigned kMayBeExecuted = 0x10;  // MFD_EXEC, Linux 6.3; where vm.memfd_noexec asks for it

/// Its own program, sealed.
Result<Fd> program() {
  Fd fd(::memfd_create("koord-nvml", MFD_CLOEXEC | MFD_ALLOW_SEALING | kMayBeExecuted));
  if (!fd && errno == EINVAL) fd = Fd(::memfd_create("koord-nvml", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return errno_error(errno, "memfd_create");
  for (std::size_t done = 0; done < sizeof kNvmlProgram;) {
    const ssize_t size = ::write(fd.get(), kNvmlProgram + done, sizeof kNvmlProgram - done);
    if (size < 0) return errno_error(errno, "memfd");
    done += static_cast<std::size_t>(size);
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0)
    return errno_error(errno, "memfd");
  return fd;
}

struct Pipe {
  Fd reading, writing;
  static Result<Pipe> make() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return errno_error(errno, "pipe");
    return Pipe{Fd(ends[0]), Fd(ends[1])};
  }
  /// A socket: writing to it after its reader has ended is an error, and no signal that ends this process.
  static Result<Pipe> make_socket() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      return errno_error(errno, "socketpair");
    return Pipe{Fd(ends[0]), Fd(ends[1])};
  }
};

/// What stands between fork and exec: system calls alone, for another thread may have held any lock. Returns
/// the error.
int become_helper(const char* root, int in, int out, int image, char* const* arguments) {
  (void)::setpgid(0, 0);
  // Above what is put in place, so that nothing is overwritten before it was copied.
  const int high_in = ::fcntl(in, F_DUPFD_CLOEXEC, 10), high_out = ::fcntl(out, F_DUPFD_CLOEXEC, 10),
            high_image = ::fcntl(image, F_DUPFD_CLOEXEC, 10);
  const int nothing = ::open("/dev/null", O_WRONLY);
  if (high_in < 0 || high_out < 0 || high_image < 0) return errno;
  if (nothing >= 0) ::dup2(nothing, STDERR_FILENO);
  if (::dup2(high_in, STDIN_FILENO) < 0 || ::dup2(high_out, STDOUT_FILENO) < 0 ||
      ::dup2(high_image, kProgram) < 0)
    return errno;
  sigset_t none;
  ::sigemptyset(&none);
  (void)::sigprocmask(SIG_SETMASK, &none, nullptr);
  (void)::signal(SIGPIPE, SIG_DFL);
  if (*root != 0 && ::chroot(root) != 0) return errno;
  if (::chdir("/") != 0) return errno;
  char* const environment[] = {nullptr};
  (void)::fcntl(kProgram, F_SETFD, FD_CLOEXEC);
  ::syscall(SYS_execveat, kProgram, "", arguments, environment, 0x1000 /* AT_EMPTY_PATH */);
  return errno;
}

}  // namespace

class NvmlProcess::Child {
 public:
  static Result<std::unique_ptr<Child>> start(const Options& options) {
    KOORD_TRY(image, program());
    KOORD_TRY(in, Pipe::make_socket());
    KOORD_TRY(out, Pipe::make());
    KOORD_TRY(verdict, Pipe::make());
    std::string name = "koord-nvml", library = options.library;
    char* const arguments[] = {name.data(), library.empty() ? nullptr : library.data(), nullptr};
    const pid_t pid = ::fork();
    if (pid < 0) return errno_error(errno, "fork");
    if (pid == 0) {
      const int high = ::fcntl(verdict.writing.get(), F_DUPFD_CLOEXEC, 20);
      const int failed =
          become_helper(options.root.c_str(), in.reading.get(), out.writing.get(), image.get(), arguments);
      (void)!::write(high, &failed, sizeof failed);
      ::_exit(127);
    }
    std::unique_ptr<Child> child(new Child(pid, std::move(in.writing), std::move(out.reading)));
    verdict.writing.reset();
    int failed = 0;
    if (::read(verdict.reading.get(), &failed, sizeof failed) == sizeof failed)
      return errno_error(failed,
                         fmt::format("NVML's helper in {}", options.root.empty() ? "/" : options.root));
    return child;
  }
  ~Child() {
    in_.reset();
    ::kill(-pid_, SIGKILL);
    // One that a driver holds does not go: whoever comes next finds it, and starts no other.
    reaped_ = ::waitpid(pid_, nullptr, WNOHANG) != 0;
    for (int i = 0; i < 50 && !reaped_; ++i) {
      ::poll(nullptr, 0, 10);
      reaped_ = ::waitpid(pid_, nullptr, WNOHANG) != 0;
    }
    if (!reaped_ && left_ != nullptr) *left_ = pid_;
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Where the number of one is put that does not go.
  void leave_to(pid_t& left) { left_ = &left; }
  pid_t pid() const { return pid_; }

  Result<std::string> ask(Clock& clock, nanoseconds limit) {
    const MonoTime until = clock.mono() + limit;
    if (::send(in_.get(), "q", 1, MSG_NOSIGNAL) != 1) return Error(Code::io, "NVML's helper has ended");
    std::string text;
    // The last line: what a driver calls a card may end alike.
    while (text != "end\n" && !text.ends_with("\nend\n")) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - clock.mono()).count();
      pollfd one{.fd = out_.get(), .events = POLLIN, .revents = 0};
      if (left <= 0 || ::poll(&one, 1, static_cast<int>(std::clamp<long>(left, 1, 60'000))) == 0)
        return Error(Code::timeout,
                     fmt::format("NVML's helper does not answer within {} ms",
                                 std::chrono::duration_cast<std::chrono::milliseconds>(limit).count()));
      std::array<char, 16384> bytes{};
      const ssize_t size = ::read(out_.get(), bytes.data(), bytes.size());
      if (size == 0) return Error(Code::io, "NVML's helper has ended");
      if (size < 0 && errno != EINTR) return errno_error(errno, "NVML's helper");
      if (size > 0) text.append(bytes.data(), static_cast<std::size_t>(size));
      if (text.size() > kMostText) return Error(Code::too_large, "NVML's helper says more than a megabyte");
    }
    return text;
  }

 private:
  Child(pid_t pid, Fd in, Fd out) : pid_(pid), in_(std::move(in)), out_(std::move(out)) {}

  pid_t pid_;
  Fd in_, out_;
  bool reaped_ = false;
  pid_t* left_ = nullptr;
};

struct NvmlProcess::Rest {
  Breaker breaker{kPatience};
  std::string last_error;
  Code last_code = Code::unavailable;
  pid_t left = 0;  // killed, and not gone
};

NvmlProcess::NvmlProcess(Clock& clock, Options options)
    : clock_(clock), options_(std::move(options)), rest_(std::make_unique<Rest>()) {}
NvmlProcess::~NvmlProcess() { child_.reset(); }
pid_t NvmlProcess::pid() const { return child_ ? child_->pid() : 0; }

Result<std::string> NvmlProcess::ask_once() {
  if (rest_->left != 0) {
    if (::waitpid(rest_->left, nullptr, WNOHANG) == 0)
      return Error(Code::unavailable,
                   fmt::format("NVML's helper {} was killed and does not go: the driver hangs", rest_->left));
    rest_->left = 0;
  }
  if (!child_) {
    KOORD_TRY(child, Child::start(options_));
    child_ = std::move(child);
    child_->leave_to(rest_->left);
  }
  return child_->ask(clock_, options_.limit);
}

Result<GpuAnswer> NvmlProcess::ask() {
  if (const auto until = rest_->breaker.paused_until(clock_.mono()))
    return Error(rest_->last_code, rest_->last_error);
  Result<GpuAnswer> answer = [&]() -> Result<GpuAnswer> {
    KOORD_TRY(text, ask_once());
    return parse_gpu_answer(text);
  }();
  if (answer) {
    rest_->breaker.succeeded();
    return answer;
  }
  child_.reset();
  rest_->last_error = answer.error().message();
  rest_->last_code = answer.error().code();
  rest_->breaker.failed(clock_.mono());
  return answer;
}

}  // namespace koord::host
