// HookServer: see hook_server.hpp.
#include "transports/hook_server/hook_server.hpp"

#include <unistd.h>

#include <utility>

#include "koord/async/timer.hpp"
#include "koord/rpc/hooks.hpp"
#include "koord/rpc/server.hpp"
#include "transports/hook_server/exchange.hpp"
#include "transports/hook_server/registration.hpp"

namespace koord::koordlet {

namespace {

using rpc::hooks::Stage;

constexpr metrics::Metric kServing{.name = "koordlet_hook_server_serving",
                                   .type = metrics::Type::gauge,
                                   .help = "Whether the runtime hook service listens on its socket."};

constexpr nanoseconds kGrace = std::chrono::seconds(1);
/// A pod's annotations are 256 KiB at most, a request has them once.
constexpr std::size_t kLargest = std::size_t{4} << 20, kMemory = std::size_t{64} << 20;
constexpr std::size_t kConnections = 16;

rpc::ServerOptions options_of(const HookServer::Options& options, const Logger& log) {
  rpc::ServerOptions made;
  made.socket.path = options.socket;
  made.socket.users = {0};
  if (::geteuid() != 0) made.socket.users.push_back(::geteuid());
  made.max_message = kLargest;
  made.memory = kMemory;
  made.max_connections = kConnections;
  made.log = log;
  return made;
}

}  // namespace

const metrics::Table HookServer::kMetrics = {&kServing};

class HookServer::Impl {
 public:
  Impl(Parts parts, Options options)
      : parts_(std::move(parts)),
        options_(std::move(options)),
        serving_(parts_.metrics.gauge(kServing)),
        server_(parts_.engine, parts_.clock, options_of(options_, parts_.log)),
        file_(options_.folder),
        registration_{options_.endpoint, options_.fail ? "Fail" : "Ignore", parts_.desk.stages()} {
    for (std::size_t i = 0; i < rpc::hooks::kCalledStages; ++i) {
      const auto stage = static_cast<Stage>(i);
      server_.handle(std::string(method_of(stage)),
                     [this, stage](rpc::Request request) { return answer(stage, std::move(request)); });
    }
  }

  Task<Result<>> run() {
    for (;;) {
      if (!listening_) listen();
      // Without a stage there is nothing to ask for.
      if (listening_ && !registration_.stages.empty()) keep_registered();
      KOORD_CO_CHECK(co_await sleep(parts_.clock, options_.again));
    }
  }

  Task<> stop() {
    if (!options_.fail) {
      const auto removed = file_.remove();
      if (!removed) parts_.log.warn("the hook server's registration stays", kv("error", removed.error()));
    }
    serving_.set(0);
    if (listening_) co_await server_.stop(kGrace);
    listening_ = false;
  }

  const std::string& fault() const { return fault_; }

 private:
  Task<rpc::Reply> answer(Stage stage, rpc::Request request) {
    auto answered = hook_server::answer(parts_.desk, stage, options_.runtime, request.message, parts_.write);
    rpc::Reply reply;
    if (answered) {
      reply.message = std::move(*answered);
    } else {
      reply.status = rpc::Status::of(answered.error().context(to_string(stage)));
      if (answered.error().code() == Code::parse) reply.status.code = rpc::StatusCode::invalid_argument;
    }
    co_return reply;
  }

  void listen() {
    const auto listening = server_.listen();
    listening_ = listening.has_value();
    serving_.set(listening_ ? 1 : 0);
    const std::string fault = listening_ ? "" : listening.error().message();
    if (listening_)
      parts_.log.info("the runtime hook service listens", kv("socket", options_.socket));
    else if (fault != fault_)
      parts_.log.warn(
          "the runtime hook service does not listen: containers start without it, and are "
          "brought to their values afterwards",
          kv("socket", options_.socket), kv("error", listening.error()));
    fault_ = fault;
  }

  void keep_registered() {
    using State = hook_server::RegistrationFile::State;
    const auto kept = file_.keep(registration_);
    const std::string told = !kept                       ? kept.error().message()
                             : *kept == State::no_folder ? "no folder"
                                                         : "registered";
    if (kept && *kept == State::written)
      parts_.log.info("the runtime hook service is registered", kv("file", file_.path()),
                      kv("endpoint", registration_.endpoint));
    else if (told == told_)
      return;
    else if (!kept)
      parts_.log.warn("the runtime hook service cannot be registered", kv("error", kept.error()));
    else if (*kept == State::no_folder)
      parts_.log.info("no CRI proxy has its folder here: the runtime hook service is not registered",
                      kv("folder", options_.folder));
    told_ = told;
  }

  Parts parts_;
  Options options_;
  metrics::Gauge serving_;
  rpc::Server server_;
  hook_server::RegistrationFile file_;
  hook_server::Registration registration_;
  bool listening_ = false;
  std::string fault_ = "it has not begun", told_;
};

HookServer::HookServer(Parts parts, Options options)
    : impl_(std::make_unique<Impl>(std::move(parts), std::move(options))) {}
HookServer::~HookServer() = default;
Task<Result<>> HookServer::run() { return impl_->run(); }
Task<> HookServer::stop() { return impl_->stop(); }
const std::string& HookServer::fault() const { return impl_->fault(); }

}  // namespace koord::koordlet
