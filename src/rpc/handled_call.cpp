// A call of koord's own.
#include "handled_call.hpp"

#include <boost/asio/post.hpp>
#include <utility>

#include "wire.hpp"

namespace koord::rpc {

void HandledCall::begin(Incoming& incoming, boost::asio::any_io_executor executor,
                        std::function<void(HandledCall&)> serve) {
  auto* const call = new HandledCall(incoming, std::move(executor), std::move(serve));
  call->hold();  // the end's; the maker's is finished()'s
  incoming.when_gone = [call] {
    const bool cancelled = call->incoming_.context.IsCancelled();
    if (!cancelled) return call->release();
    boost::asio::post(call->executor_, [call] {
      call->gone_ = true;
      if (call->told_) std::exchange(call->told_, nullptr)();
      call->release();
    });
  };
  incoming.stream.Read(&call->message_, call->on_asked_.start());
}

void HandledCall::asked(bool ok) {
  if (!ok) {
    incoming_.stream.Finish({grpc::StatusCode::INTERNAL, "the call came without a message"},
                            on_finished_.start());
    return;
  }
  hold();
  boost::asio::post(executor_, [this] {
    serve_(*this);
    release();
  });
}

Request HandledCall::take_request() {
  Request request;
  request.method = incoming_.context.method();
  request.message = text_of(message_);
  message_.Clear();
  request.metadata = metadata_of(incoming_.context.client_metadata());
  request.time_left = time_left(incoming_.context.deadline());
  return request;
}

void HandledCall::answer(Reply reply) {
  told_ = nullptr;
  add_metadata(reply.headers, [&](const std::string& name, const std::string& value) {
    incoming_.context.AddInitialMetadata(name, value);
  });
  add_metadata(reply.trailers, [&](const std::string& name, const std::string& value) {
    incoming_.context.AddTrailingMetadata(name, value);
  });
  const grpc::Status status = status_of(reply.status);
  if (status.ok()) {
    reply_ = bytes_of(std::move(reply.message));
    incoming_.stream.WriteAndFinish(reply_, {}, status, on_finished_.start());
  } else {
    incoming_.stream.Finish(status, on_finished_.start());
  }
}

void HandledCall::when_gone(std::function<void()> told) {
  if (gone_) return told();
  told_ = std::move(told);
}

}  // namespace koord::rpc
