// The CRI mode: see cri_mode.hpp.
#include "cri/cri_mode.hpp"

#include <unistd.h>

#include "cri/back_end.hpp"
#include "cri/calls.hpp"
#include "koord/async/task_group.hpp"
#include "koord/rpc/channel.hpp"
#include "koord/rpc/server.hpp"
#include "mode/back_end_watch.hpp"
#include "store/keeper.hpp"
#include "store/store.hpp"

namespace koord::proxy {

namespace {

/// What calls under way have to end when the proxy does.
constexpr nanoseconds kGrace = std::chrono::seconds(3);
/// Between two tries to connect: how much longer than the back end the kubelet is without it.
constexpr nanoseconds kMostBackoff = std::chrono::milliseconds(500);

class CriMode final : public Mode {
 public:
  explicit CriMode(const ModeParts& parts)
      : context_(parts.context),
        channel_(parts.engine,
                 {.path = parts.options.backend, .user_agent = {}, .most_backoff = kMostBackoff}),
        back_end_(channel_, store_),
        calls_({.clock = context_.clock,
                .log = context_.log,
                .options = parts.options,
                .hooks = parts.hooks,
                .store = store_,
                .back_end = back_end_}),
        server_(parts.engine, context_.clock,
                {.socket = {.path = parts.options.endpoint, .users = {0, ::geteuid()}},
                 .rest = &channel_,
                 .log = context_.log}),
        keeper_(store_, parts.options.store_file, context_.clock, context_.workers, context_.log),
        tasks_(context_.executor, log_failures(context_.log)),
        watch_({.context = context_,
                .socket = parts.options.backend,
                .store = store_,
                .probe = [this] { return back_end_.probe(); },
                .recover = [this] { return back_end_.recover(context_.log); },
                .relayed = [this] { return server_.relayed(); },
                .doubted = &back_end_.doubted()}) {
    calls_.handle_on(server_);
  }

  Result<> backend() const override { return watch_.state(); }

  Task<Result<>> run() override { return with_cleanup(serve(), stop()); }

 private:
  Task<Result<>> serve() {
    keeper_.load();
    KOORD_CO_CHECK(server_.listen());
    tasks_.spawn("store", keeper_.run());
    co_return co_await watch_.run();
  }

  Task<> stop() {
    co_await server_.stop(kGrace);
    co_await tasks_.stop(context_.clock, kGrace);
  }

  runtime::RoleContext& context_;
  Store store_;
  rpc::Channel channel_;
  BackEnd back_end_;
  Calls calls_;
  rpc::Server server_;
  Keeper keeper_;
  TaskGroup tasks_;
  BackEndWatch watch_;
};

}  // namespace

std::unique_ptr<Mode> make_cri_mode(const ModeParts& parts) { return std::make_unique<CriMode>(parts); }

}  // namespace koord::proxy
