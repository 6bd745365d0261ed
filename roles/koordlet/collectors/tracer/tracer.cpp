// The collector of the tracer's own cost: what the programs that count waits for CPUs take of the machine,
// and how much they therefore count.
#include <array>
#include <optional>
#include <vector>

#include "collectors/tracer/pacing.hpp"
#include "framework/sampler/collector.hpp"
#include "framework/sampler/sampler.hpp"

namespace koord::koordlet {

namespace {

using tracer::Pacing;
using Tracing = host::RunQueueLatency::Tracing;

constexpr std::array kTracings = {Tracing::full, Tracing::sampled, Tracing::paused};

constexpr metrics::Metric kCost{
    .name = "koordlet_run_queue_tracer_cost_ratio",
    .type = metrics::Type::gauge,
    .help =
        "What the programs in the kernel that count waits for a CPU take of the machine's CPU time, as they "
        "time themselves."};
constexpr metrics::Metric kState{.name = "koordlet_run_queue_tracer_state",
                                 .type = metrics::Type::gauge,
                                 .help =
                                     "1 for how waits for a CPU are counted now, 0 for the others: full, "
                                     "sampled (one of 16 counts for 16), "
                                     "or paused, because more would cost too much.",
                                 .labels = {"state"}};
constexpr metrics::Table kShown = {&kCost, &kState};

class TracerCollector final : public Collector {
 public:
  explicit TracerCollector(const CollectorContext& context)
      : context_(context),
        counters_(context.counters.run_queue.get()),
        pacing_(context.config.tracer_limit),
        cost_(context.metrics.gauge(kCost)) {
    const auto states = context.metrics.gauges(kState);
    if (counters_ == nullptr) return;
    for (const Tracing one : kTracings) states_.push_back(states.with({tracer::name_of(one)}));
    say();
  }

  void sample(const TickView& view) override {
    if (counters_ == nullptr) return;
    std::optional<host::RunQueueLatency::Spent> now;
    if (const auto spent = counters_->spent()) now = *spent;
    pacing_.step(view.at, now, view.online_cpus);
    if (pacing_.wanted() != tracing_) change(view.at);
    if (pacing_.cost() > 0) last_cost_ = pacing_.cost();
    cost_.set(pacing_.cost());
  }
  void show(TickView& view) const override { view.slots.show(&tracing_, view.at); }

 private:
  void change(MonoTime at) {
    const Tracing before = tracing_;
    tracing_ = pacing_.wanted();
    if (const auto done = counters_->trace(tracing_); !done) {
      context_.log.warn("the run-queue tracer failed: it is paused, and tried again later",
                        kv("error", done.error()));
      pacing_.failed(at);
      tracing_ = Tracing::paused;
    }
    say();
    // The moment between sampling and all.
    if (tracing_ == before || (tracing_ == Tracing::paused && pacing_.paused_until() <= at)) return;
    context_.log.info("the run-queue tracer changed its mode, because of what it costs",
                      kv("mode", tracer::name_of(tracing_)), kv("cost_percent", last_cost_ * 100),
                      kv("limit_percent", context_.config.tracer_limit * 100));
  }
  void say() {
    for (std::size_t i = 0; i < kTracings.size(); ++i) states_[i].set(kTracings[i] == tracing_ ? 1 : 0);
  }

  const CollectorContext& context_;
  host::RunQueueLatency* counters_;  // null: not available
  Pacing pacing_;
  Tracing tracing_ = Tracing::full;
  double last_cost_ = 0;
  metrics::Gauge cost_;
  std::vector<metrics::Gauge> states_;
};

}  // namespace

extern const CollectorEntry kTracer;
const CollectorEntry kTracer{.name = "tracer", .metrics = kShown, .make = &make_collector<TracerCollector>};

}  // namespace koord::koordlet
