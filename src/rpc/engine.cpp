// gRPC is set up once, before its first use.
#include "engine_impl.hpp"

#include <absl/synchronization/mutex.h>
#include <grpc/support/log.h>

namespace koord::rpc {

Engine::Engine(boost::asio::any_io_executor executor) : impl_(std::make_unique<Impl>(std::move(executor))) {
  // What fails is said by the status of the call that fails, with the method; gRPC's own lines name neither.
  gpr_set_log_function([](gpr_log_func_args*) {});
  // Debian's Abseil is built for debugging: it keeps a graph of the order of all locks and ends the program
  // at a cycle. That is its developers' business, and costs each call.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

Engine::~Engine() = default;

}  // namespace koord::rpc
