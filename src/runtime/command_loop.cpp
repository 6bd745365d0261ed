// A task, the signals that end it, and who waits for both: see command_loop.hpp.
#include "koord/runtime/command_loop.hpp"

#include <chrono>

#include "koord/async/event.hpp"
#include "koord/async/signals.hpp"
#include "koord/async/task_group.hpp"

namespace koord::runtime {

namespace {

Task<> until_signal(StopSignals& signals, Event& ended, bool& stopped) {
  const Result<int> number = co_await signals.wait();
  if (!number) co_return;
  stopped = true;
  ended.set();
}

Task<> until_done(Task<> task, Event& ended) {
  co_await std::move(task);
  ended.set();
}

Task<> until_ended(TaskGroup& tasks, Clock& clock, Event& ended) {
  const Result<> waited = co_await ended.wait();
  (void)waited;  // nobody cancels this task
  co_await tasks.stop(clock, std::chrono::seconds(1));
}

}  // namespace

bool run_until_stopped(asio::io_context& loop, Clock& clock, Task<> task) {
  StopSignals signals(loop.get_executor());
  TaskGroup tasks(loop.get_executor()), main(loop.get_executor());
  Event ended;
  bool stopped = false;
  tasks.spawn("command", until_done(std::move(task), ended));
  tasks.spawn("signal", until_signal(signals, ended, stopped));
  main.spawn("main", until_ended(tasks, clock, ended));
  while (main.size() > 0) loop.run_one();
  return !stopped;
}

}  // namespace koord::runtime
