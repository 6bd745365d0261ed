// SystemClock: the real time, and all timers of a process behind one timer of the event loop.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "koord/base/clock.hpp"

namespace koord {

/// An indexed heap: making and cancelling a timer costs O(log n) and no allocation beyond the
/// function's own, so that thousands of idle timers are free. Functions run on the executor.
class SystemClock final : public Clock {
 public:
  explicit SystemClock(const boost::asio::any_io_executor& executor);
  /// Functions that are still pending are destroyed, not called.
  ~SystemClock() override;

  WallTime now() const override;
  MonoTime mono() const override;
  TimerId call_at(MonoTime at, std::function<void()> fn) override;
  /// With its last timer gone the clock keeps no event loop running.
  void cancel(TimerId id) override;
  std::size_t pending() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;  // shared with the wait in progress, which may end after the clock
};

}  // namespace koord
