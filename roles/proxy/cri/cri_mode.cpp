// The CRI mode: see cri_mode.hpp.
#include "cri/cri_mode.hpp"

#include <unistd.h>

#include "cri/back_end.hpp"
#include "cri/calls.hpp"
#include "koord/async/task_group.hpp"
#include "koord/async/timer.hpp"
#include "koord/rpc/channel.hpp"
#include "koord/rpc/server.hpp"
#include "store/keeper.hpp"
#include "store/store.hpp"

namespace koord::proxy {

namespace {

using metrics::Metric;
using metrics::Type;

const Metric kUp{.name = "koord_runtimeproxy_backend_up",
                 .type = Type::gauge,
                 .help = "1 while the container runtime answers, else 0."};
const Metric kKnown{.name = "koord_runtimeproxy_known",
                    .type = Type::gauge,
                    .help = "Sandboxes and containers in the store.",
                    .labels = {"kind"}};
const Metric kRelayed{.name = "koord_runtimeproxy_relayed_calls_total",
                      .help = "Calls that were passed through as they are."};
const Metric kRelayedBytes{.name = "koord_runtimeproxy_relayed_bytes_total",
                           .help = "Bytes of the messages of those calls, both ways."};
const Metric kOpen{.name = "koord_runtimeproxy_relayed_calls_open",
                   .type = Type::gauge,
                   .help = "Calls that are being passed through, streams among them."};

/// How often the back end is asked whether it is there, while it is and while it is not; and how often what
/// it has is compared with the store.
constexpr nanoseconds kWhileUp = std::chrono::seconds(5), kWhileDown = std::chrono::milliseconds(500),
                      kCompare = std::chrono::minutes(10);
/// What calls under way have to end when the proxy does.
constexpr nanoseconds kGrace = std::chrono::seconds(3);

class CriMode final : public Mode {
 public:
  explicit CriMode(const ModeParts& parts)
      : context_(parts.context),
        channel_(parts.engine, {.path = parts.options.backend, .user_agent = {}}),
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
        up_(context_.metrics.gauge(kUp)),
        open_(context_.metrics.gauge(kOpen)),
        known_(context_.metrics.gauges(kKnown)),
        relayed_(context_.metrics.counter(kRelayed)),
        relayed_bytes_(context_.metrics.counter(kRelayedBytes)) {
    calls_.handle_on(server_);
    context_.metrics.on_scrape([this] { show(); });
  }

  Result<> backend() const override { return state_; }

  Task<Result<>> run() override { return with_cleanup(serve(), stop()); }

 private:
  Task<Result<>> serve() {
    keeper_.load();
    KOORD_CO_CHECK(server_.listen());
    tasks_.spawn("store", keeper_.run());
    co_return co_await watch();
  }

  Task<> stop() {
    co_await server_.stop(kGrace);
    co_await tasks_.stop(context_.clock, kGrace);
  }

  /// Knows whether the back end is there, and takes stock whenever it has come.
  Task<Result<>> watch() {
    std::optional<MonoTime> compared;
    for (;;) {
      const auto answers = co_await back_end_.probe();
      if (!answers && answers.error().code() == Code::cancelled) co_return answers.error();
      note(answers);
      if (!answers) compared.reset();
      if (answers && (!compared || context_.clock.mono() - *compared >= kCompare)) {
        const auto recovered = co_await back_end_.recover(context_.log);
        if (recovered)
          compared = context_.clock.mono();
        else if (recovered.error().code() == Code::cancelled)
          co_return recovered.error();
        else
          context_.log.warn("the back end does not list what it has",
                            kv("error", recovered.error().message()));
      }
      KOORD_CO_CHECK(co_await sleep(context_.clock, answers ? kWhileUp : kWhileDown));
    }
  }

  void note(const Result<>& answers) {
    up_.set(answers ? 1 : 0);
    if (answers && !state_) context_.log.info("the container runtime answers", kv("socket", channel_.path()));
    if (!answers && (state_ || first_))
      context_.log.warn("the container runtime does not answer", kv("socket", channel_.path()),
                        kv("error", answers.error().message()));
    first_ = false;
    state_ = answers;
  }

  void show() {
    known_.with({"sandbox"}).set(static_cast<double>(store_.pods()));
    known_.with({"container"}).set(static_cast<double>(store_.containers()));
    const rpc::RelayCounts counts = server_.relayed();
    relayed_.add(static_cast<double>(counts.calls - shown_.calls));
    relayed_bytes_.add(static_cast<double>(counts.bytes - shown_.bytes));
    open_.set(static_cast<double>(counts.open));
    shown_ = counts;
  }

  runtime::RoleContext& context_;
  Store store_;
  rpc::Channel channel_;
  BackEnd back_end_;
  Calls calls_;
  rpc::Server server_;
  Keeper keeper_;
  TaskGroup tasks_;
  Result<> state_ = Error(Code::unavailable, "it has not been asked yet");
  bool first_ = true;
  metrics::Gauge up_, open_;
  metrics::Family<metrics::Gauge> known_;
  metrics::Counter relayed_, relayed_bytes_;
  rpc::RelayCounts shown_;
};

}  // namespace

const metrics::Table kCriMetrics = {&kUp, &kKnown, &kRelayed, &kRelayedBytes, &kOpen};

std::unique_ptr<Mode> make_cri_mode(const ModeParts& parts) { return std::make_unique<CriMode>(parts); }

}  // namespace koord::proxy
