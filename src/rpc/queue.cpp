// What is ready is done first; then what waited leaves; then the thread sleeps.
#include "queue.hpp"

#include <sys/prctl.h>

#include <utility>

namespace koord::rpc {

Queue::Queue(std::unique_ptr<grpc::CompletionQueue> queue)
    : queue_(std::move(queue)), thread_([this] { serve(); }) {}

Queue::~Queue() {
  queue_->Shutdown();
  thread_.join();
}

void Queue::flush_later(Waiting& waiting) {
  waiting.hold();
  waiting_.push_back(&waiting);
}

void Queue::flush_all() {
  // What flushes may come back in the same turn; it is served in the next.
  for (Waiting* const waiting : std::exchange(waiting_, {})) {
    waiting->flush();
    waiting->release();
  }
}

void Queue::serve() {
  ::prctl(PR_SET_NAME, "grpc");
  void* tag = nullptr;
  bool ok = false;
  for (;;) {
    const auto until = waiting_.empty() ? gpr_inf_future(GPR_CLOCK_REALTIME) : gpr_time_0(GPR_CLOCK_REALTIME);
    switch (queue_->AsyncNext(&tag, &ok, until)) {
      case grpc::CompletionQueue::GOT_EVENT: static_cast<Tag*>(tag)->done(ok); break;
      case grpc::CompletionQueue::TIMEOUT: flush_all(); break;
      case grpc::CompletionQueue::SHUTDOWN: flush_all(); return;
    }
  }
}

}  // namespace koord::rpc
