// The docker mode: see docker_mode.hpp.
#include "docker/docker_mode.hpp"

#include <unistd.h>

#include "docker/calls.hpp"
#include "docker/daemon.hpp"
#include "koord/async/task_group.hpp"
#include "koord/net/pool.hpp"
#include "koord/net/relay.hpp"
#include "koord/net/server.hpp"
#include "mode/back_end_watch.hpp"
#include "store/keeper.hpp"
#include "store/store.hpp"

namespace koord::proxy::docker {

namespace {

/// What requests under way have to end when the proxy does; streams would go on for ever.
constexpr std::chrono::milliseconds kGrace = std::chrono::seconds(3);

/// Code::invalid is a defect: flags are checked.
net::Url url_of(const std::string& socket) {
  auto url = net::unix_url(socket, "docker");
  return url ? std::move(*url) : net::Url{};
}

/// The older way to attach: an answer that lasts for ever, and input behind a request that is whole.
bool is_attached(const net::Request& request, const net::Response& head) {
  return request.method == "POST" && head.status == 200 &&
         (head.content_type == "application/vnd.docker.raw-stream" ||
          head.content_type == "application/vnd.docker.multiplexed-stream");
}

net::PoolOptions pool_options() {
  net::PoolOptions options;
  options.max_connections = 512;  // each that stops a container keeps one for as long as that takes
  options.max_body = std::size_t{64} << 20;
  options.gzip = false;
  return options;
}

net::ServerOptions server_options(const Logger& log) {
  net::ServerOptions options;
  options.max_body_bytes = SIZE_MAX;  // of what is passed through; the others' is Calls::most_body()
  options.body_budget = std::size_t{64} << 20;
  options.max_connections = 400;                 // two descriptors each, of the usual 1024
  options.idle_timeout = std::chrono::hours{1};  // as good as none, as Docker has it
  options.log = log;
  return options;
}

class DockerMode final : public Mode {
 public:
  explicit DockerMode(const ModeParts& parts)
      : context_(parts.context),
        options_(parts.options),
        pool_(context_.executor, context_.clock, url_of(options_.backend), nullptr, pool_options()),
        daemon_(pool_, store_),
        calls_({.log = context_.log,
                .options = options_,
                .hooks = parts.hooks,
                .store = store_,
                .daemon = daemon_}),
        relay_(context_.executor, context_.clock,
               {.to = url_of(options_.backend),
                .takes_over = is_attached,
                .failed =
                    [this](const Error& error) {
                      if (error.code() == Code::unavailable) daemon_.doubted().set();
                      return failure(502, error.message());
                    }}),
        server_(context_.executor, context_.clock, server_options(context_.log),
                {.handle = [this](net::Request request) { return calls_.handle(std::move(request)); },
                 .fast_admit = [this](const net::Request& request) { return admit(request); }}),
        keeper_(store_, options_.store_file, context_.clock, context_.workers, context_.log),
        tasks_(context_.executor, log_failures(context_.log)),
        watch_({.context = context_,
                .socket = options_.backend,
                .store = store_,
                .probe = [this] { return daemon_.probe(); },
                .recover = [this] { return daemon_.recover(context_.log); },
                .relayed = [this] { return relayed(); },
                .doubted = &daemon_.doubted()}) {}

  Result<> backend() const override { return watch_.state(); }

  Task<Result<>> run() override { return with_cleanup(serve(), stop()); }

 private:
  net::Admission admit(const net::Request& request) {
    net::Admission admission;
    if (const auto most = Calls::most_body(request))
      admission.max_body = *most;
    else
      admission.relay = &relay_;
    return admission;
  }

  Task<Result<>> serve() {
    keeper_.load();
    KOORD_CO_CHECK(server_.listen({.path = options_.endpoint, .users = {0, ::geteuid()}}));
    tasks_.spawn("store", keeper_.run());
    co_return co_await watch_.run();
  }

  Task<> stop() {
    co_await server_.stop(kGrace);
    co_await tasks_.stop(context_.clock, kGrace);
  }

  rpc::RelayCounts relayed() const {
    const net::RelayCounts counts = relay_.counts();
    return {.calls = counts.requests,
            .messages = 0,
            .bytes = counts.to_server + counts.to_client,
            .open = counts.open};
  }

  runtime::RoleContext& context_;
  const Options& options_;
  Store store_;
  net::Pool pool_;
  Daemon daemon_;
  Calls calls_;
  net::Relay relay_;
  net::Server server_;
  Keeper keeper_;
  TaskGroup tasks_;
  BackEndWatch watch_;
};

}  // namespace

std::unique_ptr<Mode> make_mode(const ModeParts& parts) { return std::make_unique<DockerMode>(parts); }

}  // namespace koord::proxy::docker
