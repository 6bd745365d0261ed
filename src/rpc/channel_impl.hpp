// What a channel is to those who relay by it.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <memory>
#include <set>
#include <string>

#include "engine_impl.hpp"
#include "koord/rpc/channel.hpp"

namespace koord::rpc {

class Channel::Impl {
 public:
  Impl(Engine& engine, ChannelOptions options);

  Engine::Impl& engine() { return engine_; }
  /// From any thread.
  grpc::GenericStub& stub() { return stub_; }
  const ChannelOptions& options() const { return options_; }

  /// On the executor's thread: who is told when the channel goes.
  std::set<grpc::ClientContext*> open;

 private:
  Engine::Impl& engine_;
  ChannelOptions options_;
  grpc::GenericStub stub_;
};

}  // namespace koord::rpc
