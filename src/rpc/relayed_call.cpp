// A call that is passed on. What comes together leaves together: a request with its end, a reply with headers
// and status, in one write each; what has nothing to wait for leaves as soon as nothing else is ready.
#include "relayed_call.hpp"

#include <utility>

#include "wire.hpp"

namespace koord::rpc {

/// A stream that ends after a while: or its caller has gone, which gRPC says a moment later. What is cut
/// short must not reach the back end as complete.
constexpr auto kSettled = std::chrono::milliseconds(50);

void RelayedCall::begin(Incoming& incoming, grpc::GenericStub& backend, Queue& queue, Counters& counters) {
  auto* const call = new RelayedCall(incoming, backend, queue, counters);
  call->hold();  // gone()'s; the maker's is finished()'s
  incoming.when_gone = [call] { call->gone(); };
  call->ask();
}

RelayedCall::RelayedCall(Incoming& incoming, grpc::GenericStub& backend, Queue& queue, Counters& counters)
    : incoming_(incoming), queue_(queue), counters_(counters) {
  ++counters_.calls;
  ++counters_.open;
  for (const auto& [name, value] : incoming.context.client_metadata()) {
    if (!is_own(name)) continue;
    const std::string key(name.data(), name.size()), text(value.data(), value.size());
    if (may_be_sent(key, text)) context_.AddMetadata(key, text);
  }
  context_.set_deadline(incoming.context.deadline());
  backend_ = backend.PrepareCall(&context_, incoming.context.method(), &queue.get());
}

RelayedCall::~RelayedCall() {
  --counters_.open;
  backend_.reset();
  incoming_.release();
}

void RelayedCall::wait_for_more() {
  if (std::exchange(waiting_, true)) return;
  queue_.flush_later(*this);
}

void RelayedCall::flush() {
  waiting_ = false;
  if (has_request_ && !sending_ && !over_ && !finished_) send_request();
  if (replying_ || finished_) return;
  if (has_reply_) {
    send_reply();
  } else if (has_headers_) {
    has_headers_ = false;
    replying_ = true;
    incoming_.stream.SendInitialMetadata(on_replied_.start());
  }
}

void RelayedCall::count(const grpc::ByteBuffer& message) {
  ++counters_.messages;
  counters_.bytes += message.Length();
}

void RelayedCall::ask() { incoming_.stream.Read(&next_request_, on_asked_.start()); }

void RelayedCall::asked(bool ok) {
  if (over_ || finished_) return;  // nobody wants it any more
  if (!ok) {
    asked_all_ = true;
    if (has_request_ && !started_) {  // one request and its end, in one frame
      send_request();
    } else {
      alarm_.Set(&queue_.get(), std::chrono::system_clock::now() + kSettled, on_settled_.start());
    }
    return;
  }
  count(next_request_);
  has_next_request_ = true;
  if (has_request_ || sending_) {
    if (!sending_) send_request();
    return;  // sent() goes on
  }
  request_.Swap(&next_request_);
  has_next_request_ = false;
  has_request_ = true;
  wait_for_more();
  ask();
}

void RelayedCall::send_request() {
  has_request_ = false;
  sending_ = true;
  grpc::WriteOptions options;
  if (asked_all_ && !has_next_request_ && (settled_ || !started_)) {
    options.set_last_message();
    closed_ = true;
  }
  const bool first = !std::exchange(started_, true);
  if (first) {
    context_.set_initial_metadata_corked(true);
    backend_->StartCall(nullptr);
  }
  backend_->Write(request_, options, on_sent_.start());
  if (first) backend_->ReadInitialMetadata(on_headed_.start());
}

void RelayedCall::close_requests() {
  closed_ = sending_ = true;
  if (!std::exchange(started_, true)) {
    backend_->StartCall(on_started_.start());
    backend_->ReadInitialMetadata(on_headed_.start());
  } else {
    backend_->WritesDone(on_sent_.start());
  }
}

void RelayedCall::started(bool ok) {
  if (ok) {
    backend_->WritesDone(on_sent_.start());
  } else {
    sending_ = false;
  }
}

void RelayedCall::sent(bool ok) {
  sending_ = false;
  request_.Clear();
  if (!ok || over_ || finished_) return;  // the status says why
  if (has_next_request_) {
    request_.Swap(&next_request_);
    has_next_request_ = false;
    has_request_ = true;
    wait_for_more();
    ask();
  } else if (settled_ && !closed_) {
    close_requests();
  }
}

void RelayedCall::settled(bool) {
  settled_ = true;
  if (over_ || finished_ || closed_ || sending_ || has_request_ || has_next_request_) return;
  close_requests();
}

void RelayedCall::headed(bool) {
  for (const auto& [name, value] : context_.GetServerInitialMetadata()) {
    const std::string key(name.data(), name.size()), text(value.data(), value.size());
    if (is_own(name) && may_be_sent(key, text)) incoming_.context.AddInitialMetadata(key, text);
  }
  has_headers_ = true;
  wait_for_more();
  read_reply();
}

void RelayedCall::read_reply() { backend_->Read(&next_reply_, on_answered_.start()); }

void RelayedCall::answered(bool ok) {
  if (!ok) {
    backend_->Finish(&status_, on_ended_.start());
    return;
  }
  count(next_reply_);
  has_next_reply_ = true;
  if (has_reply_ || replying_) {
    if (!replying_) send_reply();
    return;  // replied() goes on
  }
  reply_.Swap(&next_reply_);
  has_next_reply_ = false;
  has_reply_ = true;
  wait_for_more();
  read_reply();
}

void RelayedCall::send_reply() {
  has_reply_ = has_headers_ = false;
  replying_ = true;
  incoming_.stream.Write(reply_, on_replied_.start());
}

void RelayedCall::replied(bool ok) {
  replying_ = false;
  if (!ok) context_.TryCancel();  // nobody listens any more
  if (has_next_reply_) {
    reply_.Swap(&next_reply_);
    has_next_reply_ = false;
    has_reply_ = true;
    wait_for_more();
    read_reply();
  } else if (over_) {
    finish();
  } else if (has_reply_) {
    wait_for_more();
  }
}

void RelayedCall::ended(bool) {
  over_ = true;
  for (const auto& [name, value] : context_.GetServerTrailingMetadata()) {
    const std::string key(name.data(), name.size()), text(value.data(), value.size());
    if (is_own(name) && may_be_sent(key, text)) incoming_.context.AddTrailingMetadata(key, text);
  }
  if (!replying_) finish();
}

void RelayedCall::finish() {
  if (std::exchange(finished_, true)) return;
  if (has_reply_) {
    has_reply_ = false;
    incoming_.stream.WriteAndFinish(reply_, {}, status_, on_finished_.start());
  } else {
    incoming_.stream.Finish(status_, on_finished_.start());
  }
}

void RelayedCall::finished(bool) { release(); }

void RelayedCall::gone() {
  if (incoming_.context.IsCancelled()) {
    asked_all_ = closed_ = true;
    if (started_) {
      context_.TryCancel();
    } else {  // the back end never hears of it
      has_request_ = false;
      status_ = grpc::Status(grpc::StatusCode::CANCELLED, "the caller has given up");
      finish();
    }
  }
  release();
}

}  // namespace koord::rpc
