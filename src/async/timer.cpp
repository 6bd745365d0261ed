// Sleeping: a timer of the clock that wakes a suspension.
#include "koord/async/timer.hpp"

#include <fmt/format.h>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include "koord/async/suspension.hpp"

namespace koord {

namespace {

struct Timer {
  Clock& clock;
  TimerId id;
  ~Timer() { clock.cancel(id); }
};

}  // namespace

Task<Result<>> sleep_until(Clock& clock, MonoTime at) {
  Suspension suspension;
  const Timer timer{clock, clock.call_at(at, [&suspension] { suspension.resume(); })};
  co_return co_await suspension.wait();
}

Task<Result<>> sleep(Clock& clock, nanoseconds duration) {
  return sleep_until(clock, clock.mono() + duration);
}

namespace detail {

namespace {
constexpr auto kAll =
    asio::cancellation_type::terminal | asio::cancellation_type::partial | asio::cancellation_type::total;
}

Deadline::Deadline(Clock& clock, nanoseconds after, asio::cancellation_signal& signal,
                   asio::cancellation_slot parent)
    : clock_(clock), after_(after), parent_(parent) {
  timer_ = clock.call_at(clock.mono() + after, [this, &signal] {
    timer_ = 0;
    signal.emit(kAll);
  });
  if (parent_.is_connected()) {
    parent_.assign([this, &signal](asio::cancellation_type type) {
      cancelled_ = true;
      signal.emit(type);
    });
  }
}

Deadline::~Deadline() {
  if (timer_ != 0) clock_.cancel(timer_);
  if (parent_.is_connected()) parent_.clear();
}

Error Deadline::error() const {
  if (cancelled_ || timer_ != 0) return Error(Code::cancelled, "asked to stop");
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(after_).count();
  return Error(Code::timeout, fmt::format("no answer within {} ms", ms));
}

bool is_abort(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const boost::system::system_error& e) {
    return e.code() == asio::error::operation_aborted;
  } catch (...) {
    return false;
  }
}

}  // namespace detail
}  // namespace koord
