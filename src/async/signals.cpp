// Stop signals: counted in the handler, because a loop that hangs counts nothing.
#include "koord/async/signals.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <cerrno>
#include <csignal>

namespace koord {

namespace {

constexpr int kSignals[] = {SIGTERM, SIGINT};

// What the handler knows; it may only use what is lock-free.
std::atomic<int> first{0};  // the signal that came first
std::atomic<int> wakes{-1};
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void on_stop_signal(int number) {
  int none = 0;
  if (!first.compare_exchange_strong(none, number)) ::_exit(128 + number);
  const int saved = errno;
  const std::uint64_t one = 1;
  if (::write(wakes, &one, sizeof one) < 0) ::_exit(128 + number);  // nobody would learn of it
  errno = saved;
}

void install() {
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  for (const int number : kSignals) ::sigaddset(&action.sa_mask, number);
  for (const int number : kSignals) ::sigaction(number, &action, nullptr);
}

int make_event() {
  const int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0)
    throw boost::system::system_error({errno, boost::system::system_category()}, "eventfd for signals");
  return fd;
}

}  // namespace

StopSignals::StopSignals(const asio::any_io_executor& executor) : came_(executor, make_event()) {
  first = 0;
  wakes = came_.native_handle();
  install();
}

// The handler stays: nobody is left to wait, so that any signal ends the process, one with number 1 too.
StopSignals::~StopSignals() { wakes = -1; }

Task<Result<int>> StopSignals::wait() {
  const auto token = asio::as_tuple(asio::use_awaitable);
  const auto [failed] = co_await came_.async_wait(asio::posix::stream_descriptor::wait_read, token);
  if (failed) co_return Error(Code::cancelled, "asked to stop");
  co_return first.load();
}

}  // namespace koord
