// gRPC as others use it, with streams: a back end and a caller by its callback API, which shares nothing with
// what is tested.
#pragma once

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/channel_arguments.h>

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "wire.hpp"

namespace koord::rpc::test_rig {

/// A back end that answers each message with itself. The message "end" ends the call with NotFound, details
/// and trailers; "flood N" is answered by N messages; "headers" by headers alone; "silence" by nothing.
class StreamBackend final : grpc::CallbackGenericService {
 public:
  explicit StreamBackend(const std::string& path) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + path, grpc::InsecureServerCredentials());
    builder.SetMaxReceiveMessageSize(-1);
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
  }
  ~StreamBackend() { server_->Shutdown(std::chrono::system_clock::now()); }

  int count(const std::string& what) {
    const std::lock_guard lock(mutex_);
    return counts_[what];
  }

 private:
  class Reactor final : public grpc::ServerGenericBidiReactor {
   public:
    Reactor(StreamBackend& owner, grpc::GenericCallbackServerContext& context)
        : owner_(owner), context_(context) {
      owner_.note("calls");
      for (const auto& [name, value] : context.client_metadata())
        if (is_own(name))
          context.AddInitialMetadata(std::string(name.data(), name.size()),
                                     std::string(value.data(), value.size()));
      StartRead(&message_);
    }
    void OnReadDone(bool ok) override {
      if (!ok) {
        owner_.note("closed");
        if (!std::exchange(ended_, true)) Finish(grpc::Status::OK);
        return;
      }
      owner_.note("messages");
      const std::string text = text_of(message_);
      if (text == "end") {
        ended_ = true;
        context_.AddTrailingMetadata("a-trailer", "t");
        Finish({grpc::StatusCode::NOT_FOUND, "gone", "details"});
      } else if (text == "headers") {
        StartSendInitialMetadata();
      } else if (text == "silence") {
        StartRead(&message_);
      } else {
        left_ = text.starts_with("flood ") ? std::stoi(text.substr(6)) : 1;
        StartWrite(&message_);
      }
    }
    void OnSendInitialMetadataDone(bool) override { StartRead(&message_); }
    void OnWriteDone(bool ok) override {
      if (ok && --left_ > 0) {
        StartWrite(&message_);
      } else {
        StartRead(&message_);
      }
    }
    void OnCancel() override { owner_.note("cancelled"); }
    void OnDone() override { delete this; }

   private:
    StreamBackend& owner_;
    grpc::GenericCallbackServerContext& context_;
    grpc::ByteBuffer message_;
    int left_ = 0;
    bool ended_ = false;
  };

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    return new Reactor(*this, *context);
  }
  void note(const std::string& what) {
    const std::lock_guard lock(mutex_);
    ++counts_[what];
  }

  std::mutex mutex_;
  std::map<std::string, int> counts_;
  std::unique_ptr<grpc::Server> server_;
};

/// A caller of a stream that blocks: each step has an end of its own.
class StreamCaller {
 public:
  StreamCaller(const std::string& path, const std::string& method,
               std::function<void(grpc::ClientContext&)> with = {}) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    stub_ = std::make_unique<grpc::GenericStub>(
        grpc::CreateCustomChannel("unix:" + path, grpc::InsecureChannelCredentials(), arguments));
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    if (with) with(context);
    call_ = stub_->PrepareCall(&context, method, &queue_);
    call_->StartCall(this);
    wait();
  }
  ~StreamCaller() {
    context.TryCancel();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }
  bool send(const std::string& text) {
    call_->Write(bytes_of(text), this);
    return wait();
  }
  bool close() {
    call_->WritesDone(this);
    return wait();
  }
  /// Headers, without a message.
  bool headers() {
    call_->ReadInitialMetadata(this);
    return wait();
  }
  /// Nothing: the stream has ended.
  std::optional<std::string> receive() {
    grpc::ByteBuffer message;
    call_->Read(&message, this);
    if (!wait()) return {};
    return text_of(message);
  }
  grpc::Status end() {
    grpc::Status status;
    call_->Finish(&status, this);
    wait();
    return status;
  }
  Metadata header_fields() const { return metadata_of(context.GetServerInitialMetadata()); }
  Metadata trailer_fields() const { return metadata_of(context.GetServerTrailingMetadata()); }

  grpc::ClientContext context;

 private:
  bool wait() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericStub> stub_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
};

}  // namespace koord::rpc::test_rig
