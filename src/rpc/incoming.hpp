// Incoming: a call that a server waits for, and then has.
#pragma once

#include <grpcpp/generic/async_generic_service.h>

#include <functional>
#include <memory>
#include <utility>

#include "tag.hpp"

namespace koord::rpc {

class Incoming final : public Held {
 public:
  /// Waits for the next call of `service`. `arrived` gets it, with the maker's hold; `dropped` is told of
  /// each that is destroyed, arrived or not. Both on the queue's thread.
  Incoming(std::function<void(Incoming&)> arrived, std::function<void()> dropped)
      : arrived_(std::move(arrived)), dropped_(std::move(dropped)) {}

  void wait(grpc::AsyncGenericService& service, grpc::ServerCompletionQueue& queue) {
    context.AsyncNotifyWhenDone(on_gone_.start());
    service.RequestCall(&context, &stream, &queue, &queue, on_arrived_.start());
  }

  grpc::GenericServerContext context;
  grpc::GenericServerAsyncReaderWriter stream{&context};
  /// Called once, when the call is over for gRPC, whoever ended it: context.IsCancelled() says whether the
  /// caller did. On the queue's thread; what it refers to is held until then.
  std::function<void()> when_gone;
  /// Its connection's, which stays while there are calls.
  std::shared_ptr<const void> place;

 private:
  ~Incoming() override { dropped_(); }

  void arrived(bool ok) {
    if (ok) return arrived_(*this);
    on_gone_.forget();  // gRPC tells only of calls that came
    release();
  }
  void gone(bool) {
    if (when_gone) std::exchange(when_gone, nullptr)();
  }

  std::function<void(Incoming&)> arrived_;
  std::function<void()> dropped_;
  Step<Incoming> on_arrived_{*this, &Incoming::arrived}, on_gone_{*this, &Incoming::gone};
};

}  // namespace koord::rpc
