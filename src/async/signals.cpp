// Stop signals through the event loop.
#include "koord/async/signals.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>

namespace koord {

StopSignals::StopSignals(const asio::any_io_executor& executor) : signals_(executor, SIGTERM, SIGINT) {}

Task<Result<int>> StopSignals::wait() {
  const auto token = asio::as_tuple(asio::use_awaitable);
  const auto [failed, number] = co_await signals_.async_wait(token);
  if (failed) co_return Error(Code::cancelled, "asked to stop");
  co_return number;
}

}  // namespace koord
