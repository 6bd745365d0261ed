// What servers and channels share: the queues, and where coroutines run.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <vector>

#include "koord/rpc/engine.hpp"
#include "queue.hpp"

namespace koord::rpc {

class Engine::Impl {
 public:
  explicit Impl(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}

  const boost::asio::any_io_executor& executor() const { return executor_; }
  /// A server's own queue; the engine keeps it.
  Queue& adopt(std::unique_ptr<grpc::CompletionQueue> queue) {
    queues_.push_back(std::make_unique<Queue>(std::move(queue)));
    return *queues_.back();
  }
  /// Where clients' calls end: the first server's queue, so that one thread is enough, or one of its own.
  Queue& calls() {
    if (queues_.empty()) adopt(std::make_unique<grpc::CompletionQueue>());
    return *queues_.front();
  }

 private:
  boost::asio::any_io_executor executor_;
  std::vector<std::unique_ptr<Queue>> queues_;
};

}  // namespace koord::rpc
