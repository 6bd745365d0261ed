// SIGTERM and SIGINT as something to wait for.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/signal_set.hpp>

#include "koord/async/task.hpp"

namespace koord {

/// From its construction on, the signals no longer end the process.
class StopSignals {
 public:
  explicit StopSignals(const asio::any_io_executor& executor);
  /// The number of the signal that came.
  Task<Result<int>> wait();

 private:
  asio::signal_set signals_;
};

}  // namespace koord
