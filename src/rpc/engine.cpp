// gRPC is set up once, before its first use.
#include "engine_impl.hpp"

#include <grpc/support/log.h>

namespace koord::rpc {

Engine::Engine(boost::asio::any_io_executor executor) : impl_(std::make_unique<Impl>(std::move(executor))) {
  // What fails is said by the status of the call that fails, with the method; gRPC's own lines name neither.
  gpr_set_log_function([](gpr_log_func_args*) {});
}

Engine::~Engine() = default;

}  // namespace koord::rpc
