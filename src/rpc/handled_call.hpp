// HandledCall: one call that koord answers itself: from the queue's thread to the executor's and back.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>

#include "incoming.hpp"
#include "koord/rpc/call.hpp"

namespace koord::rpc {

class HandledCall final : public Held {
 public:
  /// `serve` gets the call on the executor when its message is there, with a hold; it answers it once.
  static void begin(Incoming& incoming, boost::asio::any_io_executor executor,
                    std::function<void(HandledCall&)> serve);

  // On the executor's thread.
  Request take_request();
  void answer(Reply reply);
  bool gone() const { return gone_; }
  /// Called once when the caller has gone; at once if it has already.
  void when_gone(std::function<void()> told);

 private:
  HandledCall(Incoming& incoming, boost::asio::any_io_executor executor,
              std::function<void(HandledCall&)> serve)
      : incoming_(incoming), executor_(std::move(executor)), serve_(std::move(serve)) {}
  ~HandledCall() override { incoming_.release(); }

  void asked(bool ok);
  void finished(bool) { release(); }

  Incoming& incoming_;
  boost::asio::any_io_executor executor_;
  std::function<void(HandledCall&)> serve_;
  grpc::ByteBuffer message_, reply_;
  bool gone_ = false;           // the executor's
  std::function<void()> told_;  // the executor's

  Step<HandledCall> on_asked_{*this, &HandledCall::asked}, on_finished_{*this, &HandledCall::finished};
};

/// Whoever has it answers the call; where he does not, the caller is told that it was given up.
class Taken {
 public:
  explicit Taken(HandledCall& call) : call_(&call) { call.hold(); }
  Taken(Taken&& other) noexcept : call_(std::exchange(other.call_, nullptr)), answered_(other.answered_) {}
  Taken& operator=(Taken&&) = delete;
  ~Taken() {
    if (call_ == nullptr) return;
    if (!answered_) call_->answer(Reply::failed(StatusCode::cancelled, "the server stops"));
    call_->release();
  }
  HandledCall* operator->() const { return call_; }
  void answer(Reply reply) {
    answered_ = true;
    call_->answer(std::move(reply));
  }

 private:
  HandledCall* call_;
  bool answered_ = false;
};

}  // namespace koord::rpc
