// A call of koord's own: one message there, one back.
#include <fmt/format.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "channel_impl.hpp"
#include "koord/async/suspension.hpp"
#include "wire.hpp"

namespace koord::rpc {
namespace {

int milliseconds_of(nanoseconds time) {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

std::shared_ptr<grpc::Channel> make_channel(const ChannelOptions& options) {
  grpc::ChannelArguments arguments;
  const int limit = static_cast<int>(options.max_message);
  arguments.SetMaxReceiveMessageSize(limit);
  arguments.SetMaxSendMessageSize(limit);
  // By its name a pause, in truth the time that one try may take.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, milliseconds_of(options.connect_within));
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, milliseconds_of(options.least_backoff));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, milliseconds_of(options.most_backoff));
  // A call that may have been begun is never made twice.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  // Two channels to one socket have a connection each, as their owners expect.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  if (!options.user_agent.empty()) arguments.SetUserAgentPrefix(options.user_agent);
  return grpc::CreateCustomChannel(fmt::format("unix:{}", options.path), grpc::InsecureChannelCredentials(),
                                   arguments);
}

/// Lives until gRPC has ended it, whether or not somebody still waits.
class Unary final : public Held {
 public:
  Unary(grpc::GenericStub& stub, boost::asio::any_io_executor executor, Request request,
        grpc::CompletionQueue& queue)
      : executor_(std::move(executor)) {
    add_metadata(request.metadata, [&](const std::string& name, const std::string& value) {
      context.AddMetadata(name, value);
    });
    if (request.time_left) context.set_deadline(std::chrono::system_clock::now() + *request.time_left);
    call_ = stub.PrepareUnaryCall(&context, request.method, bytes_of(std::move(request.message)), &queue);
  }

  void start() {
    call_->StartCall();
    call_->Finish(&message_, &status_, finished_.start());
  }
  Reply take() {
    Reply reply{.status = status_of(status_), .message = {}};
    reply.headers = metadata_of(context.GetServerInitialMetadata());
    reply.trailers = metadata_of(context.GetServerTrailingMetadata());
    if (reply.status.ok()) reply.message = text_of(message_);
    return reply;
  }

  grpc::ClientContext context;
  Suspension ended;  // the executor's

 private:
  void finished(bool) {
    hold();
    boost::asio::post(executor_, [this] {
      ended.resume();
      release();
    });
  }

  boost::asio::any_io_executor executor_;
  std::unique_ptr<grpc::ClientAsyncResponseReader<grpc::ByteBuffer>> call_;
  grpc::ByteBuffer message_;
  grpc::Status status_;
  Step<Unary> finished_{*this, &Unary::finished};
};

/// The caller's hold on it, and its place among those that the channel ends.
class Hold {
 public:
  Hold(std::shared_ptr<Channel::Impl> channel, Unary& call) : channel_(std::move(channel)), call_(call) {
    channel_->open.insert(&call.context);
  }
  ~Hold() {
    channel_->open.erase(&call_.context);
    call_.context.TryCancel();  // of no effect on a call that has ended
    call_.release();
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

 private:
  std::shared_ptr<Channel::Impl> channel_;
  Unary& call_;
};

}  // namespace

Channel::Impl::Impl(Engine& engine, ChannelOptions options)
    : engine_(engine.impl()), options_(std::move(options)), stub_(make_channel(options_)) {}

Channel::Channel(Engine& engine, ChannelOptions options)
    : impl_(std::make_shared<Impl>(engine, std::move(options))) {}

Channel::~Channel() {
  for (grpc::ClientContext* const context : impl_->open) context->TryCancel();
}

const std::string& Channel::path() const { return impl_->options().path; }

Task<Reply> Channel::call(Request request) {
  const auto impl = impl_;
  auto* const call =
      new Unary(impl->stub(), impl->engine().executor(), std::move(request), impl->engine().calls().get());
  const Hold hold(impl, *call);
  call->start();
  if (const auto waited = co_await call->ended.wait(); !waited)
    co_return Reply::failed(StatusCode::cancelled, "the caller has given up");
  co_return call->take();
}

}  // namespace koord::rpc
