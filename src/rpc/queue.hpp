// Queue: one completion queue of gRPC and the thread that serves it.
#pragma once

#include <grpcpp/completion_queue.h>

#include <memory>
#include <thread>
#include <vector>

#include "tag.hpp"

namespace koord::rpc {

/// What waits a moment for more to come with it, so that it leaves in one write.
class Waiting : public Held {
 public:
  /// Nothing more is ready: what waits goes now. On the queue's thread.
  virtual void flush() = 0;
};

class Queue {
 public:
  explicit Queue(std::unique_ptr<grpc::CompletionQueue> queue);
  /// All operations must be about to end.
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  grpc::CompletionQueue& get() { return *queue_; }
  /// flush() is called once, as soon as nothing else is ready. On the queue's thread.
  void flush_later(Waiting& waiting);

 private:
  void serve();
  void flush_all();

  std::unique_ptr<grpc::CompletionQueue> queue_;
  std::vector<Waiting*> waiting_;
  std::thread thread_;
};

}  // namespace koord::rpc
