// What lies beside koord's proxy when it is measured: a plain gRPC server and a plain client, of bytes.
//   proxy_bench serve SOCKET BACKEND [METHOD=FILE]...  answers METHOD with the file's bytes; the rest is
//   asked of BACKEND proxy_bench call METHOD REQUEST COUNT NAME=SOCKET...  one connection each, in turns;
//   prints NAME, p50 and p99 in us
#include <fmt/format.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using grpc::ByteBuffer;

constexpr int kMostBytes = 64 << 20;

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

ByteBuffer buffer_of(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return ByteBuffer(&slice, 1);
}

/// A connection of its own.
std::shared_ptr<grpc::Channel> connect(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMostBytes);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
}

grpc::Status call(grpc::ChannelInterface& channel, const std::string& method, const ByteBuffer& request,
                  ByteBuffer& reply) {
  grpc::ClientContext context;
  const grpc::internal::RpcMethod what(method.c_str(), grpc::internal::RpcMethod::NORMAL_RPC);
  return grpc::internal::BlockingUnaryCall<ByteBuffer, ByteBuffer>(&channel, what, &context, request, &reply);
}

/// Answers what it knows by heart; the rest blocks one of gRPC's threads, which nobody measures.
class Server final : grpc::CallbackGenericService {
 public:
  Server(const std::string& socket, const std::string& backend, std::map<std::string, ByteBuffer> known)
      : known_(std::move(known)), backend_(connect(backend)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
    builder.SetMaxReceiveMessageSize(kMostBytes);
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
  }
  bool wait() {
    if (server_ == nullptr) return false;
    server_->Wait();
    return true;
  }

 private:
  class Call final : public grpc::ServerGenericBidiReactor {
   public:
    Call(Server& server, std::string method) : server_(server), method_(std::move(method)) {
      StartRead(&request_);
    }

   private:
    void OnReadDone(bool ok) override {
      if (!ok) return Finish(grpc::Status(grpc::StatusCode::CANCELLED, "no request"));
      const auto known = server_.known_.find(method_);
      if (known == server_.known_.end()) {
        const grpc::Status status = call(*server_.backend_, method_, request_, reply_);
        if (!status.ok()) return Finish(status);
      } else {
        reply_ = known->second;
      }
      StartWriteAndFinish(&reply_, grpc::WriteOptions().set_last_message(), grpc::Status::OK);
    }
    void OnDone() override { delete this; }

    Server& server_;
    std::string method_;
    ByteBuffer request_, reply_;
  };

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    return new Call(*this, context->method());  // gRPC says when it is over
  }

  const std::map<std::string, ByteBuffer> known_;
  std::shared_ptr<grpc::Channel> backend_;
  std::unique_ptr<grpc::Server> server_;
};

int usage() {
  fmt::print(stderr,
             "usage: proxy_bench serve SOCKET BACKEND [METHOD=FILE]...\n"
             "       proxy_bench call METHOD REQUEST COUNT NAME=SOCKET...\n");
  return 2;
}

int serve(const std::vector<std::string>& words) {
  std::map<std::string, ByteBuffer> known;
  for (std::size_t at = 2; at < words.size(); ++at) {
    const std::size_t equals = words[at].find('=');
    if (equals == std::string::npos) return usage();
    const std::optional<std::string> bytes = read_file(words[at].substr(equals + 1));
    if (!bytes) {
      fmt::print(stderr, "{}: cannot be read\n", words[at]);
      return 1;
    }
    known[words[at].substr(0, equals)] = buffer_of(*bytes);
  }
  return Server(words[0], words[1], std::move(known)).wait() ? 0 : 1;
}

struct Peer {
  std::string name;
  std::shared_ptr<grpc::Channel> channel;
  std::vector<double> us = {};
};

int measure(const std::vector<std::string>& words) {
  const std::string& method = words[0];
  const std::optional<std::string> bytes = read_file(words[1]);
  const int count = std::atoi(words[2].c_str());
  if (!bytes || count < 1) return usage();
  const ByteBuffer request = buffer_of(*bytes);
  std::vector<Peer> peers;
  for (std::size_t at = 3; at < words.size(); ++at) {
    const std::size_t equals = words[at].find('=');
    if (equals == std::string::npos) return usage();
    peers.push_back({.name = words[at].substr(0, equals), .channel = connect(words[at].substr(equals + 1))});
  }
  const int unmeasured = count / 10 + 1;
  for (int turn = -unmeasured; turn < count; ++turn) {
    for (Peer& peer : peers) {
      ByteBuffer reply;
      const auto began = std::chrono::steady_clock::now();
      const grpc::Status status = call(*peer.channel, method, request, reply);
      const auto took = std::chrono::steady_clock::now() - began;
      if (!status.ok()) {
        fmt::print(stderr, "{} {}: {} {}\n", peer.name, method, static_cast<int>(status.error_code()),
                   status.error_message());
        return 1;
      }
      if (turn >= 0) peer.us.push_back(std::chrono::duration<double, std::micro>(took).count());
    }
  }
  for (Peer& peer : peers) {
    std::sort(peer.us.begin(), peer.us.end());
    fmt::print("{} {:.1f} {:.1f}\n", peer.name, peer.us[peer.us.size() / 2],
               peer.us[peer.us.size() * 99 / 100]);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + std::min(argc, 2), argv + argc);
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "serve" && words.size() >= 2) return serve(words);
  if (verb == "call" && words.size() >= 4) return measure(words);
  return usage();
}
