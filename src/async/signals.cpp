// Stop signals through the event loop.
#include "koord/async/signals.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <utility>

namespace koord {

StopSignals::StopSignals(asio::any_io_executor executor) : signals_(std::move(executor), SIGTERM, SIGINT) {}

Task<Result<int>> StopSignals::wait() {
  const auto token = asio::as_tuple(asio::use_awaitable);
  const auto [failed, number] = co_await signals_.async_wait(token);
  if (failed) co_return Error(Code::cancelled, "asked to stop");
  co_return number;
}

}  // namespace koord
