// The frames of a wait: one for the caller's view, one inside Asio that holds the handler.
#include "koord/async/suspension.hpp"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/post.hpp>
#include <utility>

namespace koord {

Task<> Suspension::park() {
  auto initiate = [this](Handler handler) {
    handler_.emplace(std::move(handler));
    if (auto slot = asio::get_associated_cancellation_slot(*handler_); slot.is_connected()) {
      slot.assign([this](asio::cancellation_type type) {
        if (type == asio::cancellation_type::none || (stoppable_ && !stoppable_())) return;
        cancelled_ = true;
        resume();
      });
    }
  };
  return asio::async_initiate<const asio::use_awaitable_t<>, void()>(std::move(initiate),
                                                                     asio::use_awaitable);
}

Task<Result<>> Suspension::wait() {
  if (!ready_) {
    cancelled_ = false;
    co_await park();
  }
  ready_ = false;
  if (std::exchange(cancelled_, false)) co_return Error(Code::cancelled, "asked to stop");
  co_return Result<>();
}

Task<Result<>> Suspension::wait(std::function<bool()> stoppable) {
  stoppable_ = std::move(stoppable);
  return wait();
}

void Suspension::resume() {
  ready_ = true;
  if (!handler_) return;
  Handler handler = std::move(*handler_);
  handler_.reset();
  // The slot outlives this wait: a later signal must not find us.
  if (auto slot = asio::get_associated_cancellation_slot(handler); slot.is_connected()) slot.clear();
  asio::post(std::move(handler));
}

}  // namespace koord
