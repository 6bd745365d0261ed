// The watch: see back_end_watch.hpp.
#include "mode/back_end_watch.hpp"

#include "koord/async/timer.hpp"

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

}  // namespace

const metrics::Table BackEndWatch::kMetrics = {&kUp, &kKnown, &kRelayed, &kRelayedBytes, &kOpen};

BackEndWatch::BackEndWatch(Parts parts)
    : parts_(std::move(parts)),
      up_(parts_.context.metrics.gauge(kUp)),
      open_(parts_.context.metrics.gauge(kOpen)),
      known_(parts_.context.metrics.gauges(kKnown)),
      relayed_(parts_.context.metrics.counter(kRelayed)),
      relayed_bytes_(parts_.context.metrics.counter(kRelayedBytes)) {
  parts_.context.metrics.on_scrape([this] { show(); });
}

Task<Result<>> BackEndWatch::run() {
  std::optional<MonoTime> compared;
  for (;;) {
    if (parts_.doubted) parts_.doubted->reset();
    const auto answers = co_await parts_.probe();
    if (!answers && answers.error().code() == Code::cancelled) co_return answers.error();
    note(answers);
    if (!answers) compared.reset();
    if (answers && (!compared || parts_.context.clock.mono() - *compared >= kCompare)) {
      const auto recovered = co_await parts_.recover();
      if (recovered)
        compared = parts_.context.clock.mono();
      else if (recovered.error().code() == Code::cancelled)
        co_return recovered.error();
      else
        parts_.context.log.warn("the back end does not list what it has",
                                kv("error", recovered.error().message()));
    }
    KOORD_CO_CHECK(co_await sleep(parts_.context.clock, kWhileDown));
    if (answers) KOORD_CO_CHECK(co_await rest());
  }
}

Task<Result<>> BackEndWatch::rest() {
  constexpr nanoseconds kRest = kWhileUp - kWhileDown;
  if (!parts_.doubted) co_return co_await sleep(parts_.context.clock, kRest);
  const auto woken = co_await with_timeout(parts_.context.clock, kRest, parts_.doubted->wait());
  if (!woken && woken.error().code() == Code::cancelled) co_return woken.error();
  co_return Result<>();
}

void BackEndWatch::note(const Result<>& answers) {
  up_.set(answers ? 1 : 0);
  if (answers && !state_)
    parts_.context.log.info("the container runtime answers", kv("socket", parts_.socket));
  if (!answers && (state_ || first_))
    parts_.context.log.warn("the container runtime does not answer", kv("socket", parts_.socket),
                            kv("error", answers.error().message()));
  first_ = false;
  state_ = answers;
}

void BackEndWatch::show() {
  known_.with({"sandbox"}).set(static_cast<double>(parts_.store.pods()));
  known_.with({"container"}).set(static_cast<double>(parts_.store.containers()));
  const rpc::RelayCounts counts = parts_.relayed();
  relayed_.add(static_cast<double>(counts.calls - shown_.calls));
  relayed_bytes_.add(static_cast<double>(counts.bytes - shown_.bytes));
  open_.set(static_cast<double>(counts.open));
  shown_ = counts;
}

}  // namespace koord::proxy
