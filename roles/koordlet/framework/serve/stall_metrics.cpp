// StallMetrics: see stall_metrics.hpp.
#include "framework/serve/stall_metrics.hpp"

#include <algorithm>
#include <utility>

#include "framework/blamed_waits.hpp"
#include "framework/serve/available.hpp"
#include "framework/serve/octaves.hpp"

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

}  // namespace

const metrics::Table StallMetrics::kMetrics = {&kReclaim, &kBlockIo, &kOomKills, &kLost};

StallMetrics::StallMetrics(std::unique_ptr<Stalls> counters, std::string reason, Logger& log,
                           metrics::Registry& registry)
    : counters_(std::move(counters)) {
  const auto reclaim = registry.histograms(kReclaim), block_io = registry.histograms(kBlockIo);
  const auto oom_kills = registry.counters(kOomKills);
  lost_ = registry.counter(kLost);
  if (!counters_ && reason.empty()) return;
  const auto why = [&](Stalls::Kind kind) -> const std::string& {
    return counters_ ? counters_->missing(kind) : reason;
  };
  tell("direct_reclaim", why(Stalls::reclaim), registry, log);
  tell("block_io_latency", why(Stalls::block_io), registry, log);
  tell("oom_kills", why(Stalls::oom_kills), registry, log);
  for (std::size_t tier = 0; counters_ && tier < Stalls::kTiers; ++tier) {
    if (why(Stalls::reclaim).empty()) reclaim_[tier] = reclaim.with({tier_name(tier)});
    if (why(Stalls::block_io).empty()) block_io_[tier] = block_io.with({tier_name(tier)});
    if (why(Stalls::oom_kills).empty()) oom_kills_[tier] = oom_kills.with({tier_name(tier)});
  }
  if (counters_ && why(Stalls::oom_kills).empty()) oom_kills_.back() = oom_kills.with({"unknown"});
}

void StallMetrics::tell(std::string_view name, const std::string& missing, metrics::Registry& registry,
                        Logger& log) {
  availability_.push_back({name, missing.empty(), missing});
  registry.gauges(kCollectorAvailable).with({name}).set(missing.empty() ? 1 : 0);
  if (!missing.empty()) log.info("not measured", kv("what", name), kv("reason", missing));
}

void StallMetrics::tick(MonoTime now) {
  if (!counters_ || now < due_) return;
  due_ = now + kPeriod;
  Stalls::State state;
  if (!counters_->read(state)) return;
  const auto there = [this](Stalls::Kind kind) { return counters_->missing(kind).empty(); };
  for (std::size_t tier = 0; tier < Stalls::kTiers; ++tier) {
    if (there(Stalls::reclaim)) add(reclaim_[tier], state.reclaim[tier], total_.reclaim[tier]);
    if (there(Stalls::block_io)) add(block_io_[tier], state.block_io[tier], total_.block_io[tier]);
    if (there(Stalls::oom_kills)) oom_kills_[tier].add(grown(state.oom_kills[tier], total_.oom_kills[tier]));
  }
  if (there(Stalls::oom_kills)) oom_kills_.back().add(grown(state.other_oom_kills, total_.other_oom_kills));
  lost_.add(grown(state.lost, total_.lost));
  total_ = state;
}

}  // namespace koord::koordlet
