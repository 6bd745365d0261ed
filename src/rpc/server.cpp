// A socket's connections are given to gRPC, its calls to whoever answers them.
#include "koord/rpc/server.hpp"

#include <fmt/format.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>
#include <malloc.h>

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "channel_impl.hpp"
#include "connections.hpp"
#include "engine_impl.hpp"
#include "handled_call.hpp"
#include "koord/async/event.hpp"
#include "koord/async/task_group.hpp"
#include "koord/async/timer.hpp"
#include "relayed_call.hpp"

namespace koord::rpc {
namespace {

/// Calls that are waited for at a time: those of a burst need not wait for one another.
constexpr int kAhead = 16;
/// For what gRPC's thread does when a server ends.
constexpr std::chrono::seconds kLetGo{2};
/// A crowd of calls: some 16 MiB. Once it has gone, its memory goes back: what outlives it lies between its
/// parts, and keeps malloc from giving them back itself.
constexpr int kCrowd = 512;
constexpr std::chrono::seconds kGone{1};

/// Calls that gRPC knows, those too that it waits for; may outlive their server.
class Outstanding {
 public:
  void add() {
    const std::lock_guard lock(mutex_);
    most_ = std::max(most_, ++count_);
  }
  enum class Left : std::uint8_t { some, few, none };
  /// few: of a crowd, for the first time.
  Left remove() {
    const std::lock_guard lock(mutex_);
    --count_;
    if (count_ == 0) none_.notify_all();
    if (count_ == 0) return Left::none;
    if (most_ < kCrowd || count_ > 2 * kAhead) return Left::some;
    most_ = count_;
    return Left::few;
  }
  /// Blocks until there are none, or for so long.
  void wait(std::chrono::seconds most) {
    std::unique_lock lock(mutex_);
    none_.wait_for(lock, most, [this] { return count_ == 0; });
  }
  Event drained, ended, few;  // on the event loop's thread

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  int count_ = 0, most_ = 0;  // most_: since there were few
};

}  // namespace

class Server::Impl {
 public:
  Impl(Engine& engine, Clock& clock, ServerOptions options)
      : engine_(engine.impl()),
        clock_(clock),
        options_(std::move(options)),
        accepting_(engine_.executor(), log_failures(options_.log)),
        tasks_(engine_.executor(), log_failures(options_.log)),
        connections_(engine_.executor(), options_.max_connections) {
    grpc::ServerBuilder builder;
    const int limit = static_cast<int>(options_.max_message);
    builder.SetMaxReceiveMessageSize(limit);
    builder.SetMaxSendMessageSize(limit);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options_.max_streams);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    // Every ping beyond two would add 5 KiB to the reason for which the connection is going to be closed, as
    // many as came together; those that are answered cost nothing that gRPC does not bound.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 64 * 1024);
    grpc::ResourceQuota quota(options_.socket.path);
    quota.Resize(options_.memory);
    builder.SetResourceQuota(quota);
    builder.RegisterAsyncGenericService(&service_);
    auto queue = builder.AddCompletionQueue();
    completions_ = queue.get();
    server_ = builder.BuildAndStart();
    queue_ = &engine_.adopt(std::move(queue));
  }
  ~Impl() {
    if (!server_) return;
    server_->Shutdown(std::chrono::system_clock::now());
    let_go();
  }

  void handle(std::string method, Handler handler) { handlers_[std::move(method)] = std::move(handler); }

  Result<> listen() {
    KOORD_TRY(listener, net::UnixListener::open(engine_.executor(), clock_, options_.socket));
    listener_ = std::move(listener);
    for (int i = 0; i < kAhead; ++i) wait_for_call();
    listened_ = true;
    accepting_.spawn("accept", accept());
    accepting_.spawn("memory", give_back_memory());
    return {};
  }

  Task<> stop(nanoseconds grace) {
    co_await accepting_.stop(clock_, nanoseconds(0));
    listener_.reset();
    const auto until = std::chrono::system_clock::now() +
                       std::chrono::duration_cast<std::chrono::system_clock::duration>(grace);
    // Blocks until the last call has ended, those that the event loop answers too.
    std::thread ending([this, until] {
      server_->Shutdown(until);
      boost::asio::post(engine_.executor(), [outstanding = outstanding_] { outstanding->ended.set(); });
    });
    (void)co_await outstanding_->ended.wait();
    ending.join();
    for (Serving& serving : serving_) serving.signal.emit(boost::asio::cancellation_type::terminal);
    co_await tasks_.stop(clock_, std::chrono::seconds(1));
    if (listened_) (void)co_await outstanding_->drained.wait();
    let_go();
    server_.reset();
  }

  RelayCounts relayed() const {
    return {.calls = counters_.calls,
            .messages = counters_.messages,
            .bytes = counters_.bytes,
            .open = counters_.open};
  }

 private:
  struct Serving {
    boost::asio::cancellation_signal signal;
  };

  /// Whose end is not waited for, as in a process that has no time left, waits here for gRPC's thread, which
  /// still holds calls of the server.
  void let_go() { outstanding_->wait(kLetGo); }

  Task<Result<>> accept() {
    for (;;) {
      KOORD_CO_TRY(socket, co_await listener_->accept());
      if (!connections_.admit(socket.get())) continue;
      grpc::AddInsecureChannelFromFd(server_.get(), socket.release());
    }
  }

  Task<Result<>> give_back_memory() {
    for (;;) {
      KOORD_CO_CHECK(co_await outstanding_->few.wait());
      outstanding_->few.reset();
      KOORD_CO_CHECK(co_await sleep(clock_, kGone));
      malloc_trim(0);
    }
  }

  void wait_for_call() {
    outstanding_->add();
    auto* const incoming =
        new Incoming([this](Incoming& call) { arrived(call); },
                     [outstanding = outstanding_, executor = engine_.executor()] {
                       const auto left = outstanding->remove();
                       if (left == Outstanding::Left::some) return;
                       boost::asio::post(executor, [outstanding, last = left == Outstanding::Left::none] {
                         (last ? outstanding->drained : outstanding->few).set();
                       });
                     });
    incoming->wait(service_, *completions_);
  }
  // On the queue's thread.
  void arrived(Incoming& call) {
    wait_for_call();
    call.place = connections_.called(call.context.peer());
    if (const auto found = handlers_.find(call.context.method()); found != handlers_.end()) {
      HandledCall::begin(call, engine_.executor(), [this, &handler = found->second](HandledCall& handled) {
        tasks_.spawn("call", serve(Taken(handled), handler));
      });
    } else if (options_.rest != nullptr) {
      RelayedCall::begin(call, options_.rest->impl().stub(), *queue_, counters_);
    } else {
      HandledCall::begin(call, engine_.executor(), [](HandledCall& handled) {
        const Request request = handled.take_request();
        handled.answer(
            Reply::failed(StatusCode::unimplemented, fmt::format("unknown method {}", request.method)));
      });
    }
  }

  Task<> serve(Taken call, const Handler& handler) {
    const auto place = serving_.emplace(serving_.end());
    call->when_gone([&] { place->signal.emit(boost::asio::cancellation_type::terminal); });
    Reply reply;
    try {
      auto token = boost::asio::bind_cancellation_slot(place->signal.slot(), boost::asio::use_awaitable);
      reply = co_await boost::asio::co_spawn(engine_.executor(), handler(call->take_request()), token);
    } catch (const boost::system::system_error& thrown) {
      const bool stopped = thrown.code() == boost::asio::error::operation_aborted;
      reply = stopped ? Reply::failed(StatusCode::cancelled, "the call was given up")
                      : Reply::failed(StatusCode::internal, thrown.what());
    } catch (const std::exception& thrown) {
      reply = Reply::failed(StatusCode::internal, thrown.what());
    }
    serving_.erase(place);
    call.answer(std::move(reply));
  }

  Engine::Impl& engine_;
  Clock& clock_;
  ServerOptions options_;
  std::map<std::string, Handler, std::less<>> handlers_;  // whole before the first call
  grpc::AsyncGenericService service_;
  grpc::ServerCompletionQueue* completions_ = nullptr;  // the engine's
  Queue* queue_ = nullptr;
  std::unique_ptr<grpc::Server> server_;
  TaskGroup accepting_, tasks_;
  Connections connections_;
  std::unique_ptr<net::UnixListener> listener_;
  std::list<Serving> serving_;
  Counters counters_;
  std::shared_ptr<Outstanding> outstanding_ = std::make_shared<Outstanding>();
  bool listened_ = false;
};

Server::Server(Engine& engine, Clock& clock, ServerOptions options)
    : impl_(std::make_unique<Impl>(engine, clock, std::move(options))) {}
Server::~Server() = default;

void Server::handle(std::string method, Handler handler) {
  impl_->handle(std::move(method), std::move(handler));
}
Result<> Server::listen() { return impl_->listen(); }
Task<> Server::stop(nanoseconds grace) { return impl_->stop(grace); }
RelayCounts Server::relayed() const { return impl_->relayed(); }

}  // namespace koord::rpc
