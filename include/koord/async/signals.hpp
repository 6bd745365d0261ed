// SIGTERM and SIGINT as something to wait for.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include "koord/async/task.hpp"

namespace koord {

/// From its construction on, the first signal does not end the process but what waits for it; any later one
/// ends it at once with exit code 128 + its number, whatever the event loop's thread is doing. One at a time
/// in a process: the next one begins anew.
class StopSignals {
 public:
  explicit StopSignals(const asio::any_io_executor& executor);
  /// From now on any signal ends the process.
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The number of the first signal.
  Task<Result<int>> wait();
  /// Becomes readable with the first signal and stays so, for a thread that watches the loop's.
  int descriptor() { return came_.native_handle(); }

 private:
  asio::posix::stream_descriptor came_;  // readable as soon as one has come
};

}  // namespace koord
