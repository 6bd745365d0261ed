// The collector of stalls: what the tiers stand still for beside a CPU, as metrics: direct reclaim, block
// I/O, OOM kills.
#include <array>
#include <string>
#include <vector>

#include "framework/sampler/collector.hpp"
#include "framework/sampler/octaves.hpp"
#include "framework/tick/blamed_waits.hpp"

namespace koord::koordlet {

namespace {

using host::Stalls;

constexpr metrics::Metric kReclaim{.name = "koordlet_direct_reclaim_stall_seconds",
                                   .type = metrics::Type::histogram,
                                   .help =
                                       "How long tasks of the tier reclaimed memory themselves before they "
                                       "got some, a memory cgroup's limit "
                                       "included.",
                                   .labels = {"tier"},
                                   .bounds = kOctaveBounds};
constexpr metrics::Metric kBlockIo{.name = "koordlet_block_io_latency_seconds",
                                   .type = metrics::Type::histogram,
                                   .help =
                                       "From a task's request to the block device's answer, by the tier of "
                                       "who asked; what the kernel writes "
                                       "back is the system's.",
                                   .labels = {"tier"},
                                   .bounds = kOctaveBounds};
constexpr metrics::Metric kOomKills{
    .name = "koordlet_oom_kills_total",
    .type = metrics::Type::counter,
    .help = "Processes that the kernel killed for want of memory; of tier unknown before Linux 6.9.",
    .labels = {"tier"}};
constexpr metrics::Metric kLost{
    .name = "koordlet_stalls_lost_total",
    .type = metrics::Type::counter,
    .help = "Stalls that were not counted because the kernel's tables were full."};

std::string_view tier_name(std::size_t tier) { return name_of(static_cast<Runner>(tier)); }

void add(const metrics::Histogram& histogram, const Stalls::Stalled& now, const Stalls::Stalled& before) {
  const auto counts = by_octaves(now.histogram.since(before.histogram));
  const std::uint64_t ns = now.ns > before.ns ? now.ns - before.ns : 0;
  histogram.add_counts(counts, static_cast<double>(ns) / 1e9);
}

double grown(std::uint64_t now, std::uint64_t before) {
  return now > before ? static_cast<double>(now - before) : 0;
}

constexpr metrics::Table kShown = {&kReclaim, &kBlockIo, &kOomKills, &kLost};

class StallsCollector final : public Collector {
 public:
  explicit StallsCollector(const CollectorContext& context);

  void sample(const TickView& view) override;
  void tell(std::vector<Availability>& all) const override {
    all.push_back({"direct_reclaim", has(Stalls::reclaim), missing(Stalls::reclaim)});
    all.push_back({"block_io_latency", has(Stalls::block_io), missing(Stalls::block_io)});
    all.push_back({"oom_kills", has(Stalls::oom_kills), missing(Stalls::oom_kills)});
  }

 private:
  /// Why there is nothing of the kind; empty: there is, or nobody knows why not.
  const std::string& missing(Stalls::Kind kind) const {
    return counters_ != nullptr ? counters_->missing(kind) : context_.counters.no_stalls;
  }
  bool has(Stalls::Kind kind) const { return counters_ != nullptr && counters_->missing(kind).empty(); }

  const CollectorContext& context_;
  Stalls* counters_;  // null: not available
  std::array<metrics::Histogram, Stalls::kTiers> reclaim_, block_io_;
  std::array<metrics::Counter, Stalls::kTiers + 1> oom_kills_;  // the last: nobody knows whom
  metrics::Counter lost_;
  Stalls::State total_;
};

StallsCollector::StallsCollector(const CollectorContext& context)
    : context_(context), counters_(context.counters.stalls.get()) {
  const auto reclaim = context.metrics.histograms(kReclaim), block_io = context.metrics.histograms(kBlockIo);
  const auto oom_kills = context.metrics.counters(kOomKills);
  lost_ = context.metrics.counter(kLost);
  for (std::size_t tier = 0; tier < Stalls::kTiers; ++tier) {
    if (has(Stalls::reclaim)) reclaim_[tier] = reclaim.with({tier_name(tier)});
    if (has(Stalls::block_io)) block_io_[tier] = block_io.with({tier_name(tier)});
    if (has(Stalls::oom_kills)) oom_kills_[tier] = oom_kills.with({tier_name(tier)});
  }
  if (has(Stalls::oom_kills)) oom_kills_.back() = oom_kills.with({"unknown"});
}

void StallsCollector::sample(const TickView&) {
  Stalls::State state;
  if (counters_ == nullptr || !counters_->read(state)) return;
  for (std::size_t tier = 0; tier < Stalls::kTiers; ++tier) {
    if (has(Stalls::reclaim)) add(reclaim_[tier], state.reclaim[tier], total_.reclaim[tier]);
    if (has(Stalls::block_io)) add(block_io_[tier], state.block_io[tier], total_.block_io[tier]);
    if (has(Stalls::oom_kills)) oom_kills_[tier].add(grown(state.oom_kills[tier], total_.oom_kills[tier]));
  }
  if (has(Stalls::oom_kills)) oom_kills_.back().add(grown(state.other_oom_kills, total_.other_oom_kills));
  lost_.add(grown(state.lost, total_.lost));
  total_ = state;
}

}  // namespace

extern const CollectorEntry kStalls;
const CollectorEntry kStalls{.name = "stalls",
                             .gate = "BECPUBlame",
                             .period = std::chrono::seconds(5),
                             .metrics = kShown,
                             .make = &make_collector<StallsCollector>};

}  // namespace koord::koordlet
