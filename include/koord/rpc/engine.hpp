// Engine: gRPC's completion queue and the one thread that serves it, for all servers and channels of a role.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>

namespace koord::rpc {

/// What is passed through is passed on by the engine's thread alone; what koord has a say in goes to the
/// role's executor and back. No coroutine is resumed on the engine's thread.
class Engine {
 public:
  /// `executor`: the role's, on the event loop's thread.
  explicit Engine(boost::asio::any_io_executor executor);
  /// Servers and channels must have gone, or have been stopped. Waits for the thread.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  class Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::rpc
