// EventLoop: what there is one of in a process (loop, clock, log, workers, stop signals), and its frame from
// the start to the exit code. `koord --role` and the sandbox stand on it alike.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>

#include "koord/async/event.hpp"
#include "koord/async/offload.hpp"
#include "koord/async/signals.hpp"
#include "koord/async/system_clock.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/log.hpp"

namespace koord::runtime {

class EventLoop {
 public:
  /// From the first stop signal, or from end(), the process lives so long at most: a loop, a worker or a
  /// destructor that hangs is left behind with exit code 1 (or, if all had ended, the code that there was).
  /// More than the 10 s that roles have to stop, less than the 30 s that Kubernetes gives a pod.
  static constexpr std::chrono::seconds kStopWithin{20};

  /// Declare it before everything that runs on it. `verbosity` is --v; the log goes to stderr.
  explicit EventLoop(int verbosity, std::chrono::milliseconds stop_within = kStopWithin);
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  asio::any_io_executor executor() { return loop_.get_executor(); }
  Clock& clock() { return clock_; }
  const Logger& log() const { return log_; }
  const AsyncLogSink& sink() const { return sink_; }
  WorkerPool& workers() { return workers_; }
  /// What belongs to the process itself; stopped last.
  TaskGroup& tasks() { return tasks_; }

  /// What it may live longer than that: roles that answer others while they end. Before run().
  void allow_longer(std::chrono::milliseconds time);

  /// Ends run(). The first code that is not 0 counts.
  void end(int code);
  /// Something cannot be stopped and still uses what it was given: run() ends the process, nothing is
  /// destroyed.
  void leave_behind() { left_behind_ = true; }

  /// Runs `begin`, waits for a stop signal or for end(), runs `stop`, and returns the exit code. Once.
  int run(std::function<Task<>()> begin, std::function<Task<>()> stop);

 private:
  class ExitBound;

  Task<> live(std::function<Task<>()> begin, std::function<Task<>()> stop);
  Task<> signal();

  std::unique_ptr<ExitBound> bound_;  // the first member: destructors, too, must end in time
  asio::io_context loop_{1};
  AsyncLogSink sink_;
  SystemClock clock_;
  Logger log_;
  WorkerPool workers_{2};
  StopSignals signals_;
  Event ended_;
  TaskGroup tasks_;
  int code_ = 0;
  bool left_behind_ = false;
};

}  // namespace koord::runtime
