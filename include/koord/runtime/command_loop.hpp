// The event loop of a command that goes on until it is interrupted.
#pragma once

#include <boost/asio/io_context.hpp>

#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"

namespace koord::runtime {

/// Runs `loop` until the task has ended; SIGINT or SIGTERM asks it to, and gives it a second. Whether it
/// ended by itself.
bool run_until_stopped(asio::io_context& loop, Clock& clock, Task<> task);

}  // namespace koord::runtime
