// One tick: follow the inventory, have the collectors read, show.
#include "framework/sampler/sampler.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "framework/sampler/asking.hpp"

namespace koord::koordlet {

namespace {

constexpr std::size_t kWantedDescriptors = 65'536;
constexpr std::size_t kOtherDescriptors = 512;  // sockets, watches and files of the rest of the agent
/// A restored series whose entity has not come back so long after the pods are known is of one that has gone.
constexpr nanoseconds kClaimTime = std::chrono::minutes(1);

constexpr metrics::Metric kAvailable{.name = "koordlet_collector_available",
                                     .type = metrics::Type::gauge,
                                     .help = "Whether an optional collector works on this kernel.",
                                     .labels = {"collector"}};

std::size_t descriptor_budget(const SamplerConfig& config) {
  if (config.max_descriptors > 0) return config.max_descriptors;
  const std::size_t limit = raise_descriptor_limit(kWantedDescriptors);
  return limit > 2 * kOtherDescriptors ? limit - kOtherDescriptors : limit / 2;
}

}  // namespace

const metrics::Table Sampler::kMetrics = {&kAvailable};

class Sampler::Impl {
 public:
  Impl(SamplerConfig config, CollectorTable collectors, const host::CgroupFs& cgroups, const host::Root& root,
       SeriesStore& series, metrics::Registry& registry, Logger log, KernelCounters counters,
       CollectorLoop loop)
      : config_(std::move(config)),
        root_(root),
        series_(series),
        log_(std::move(log)),
        faults_(registry, log_),
        reader_(cgroups, descriptor_budget(config_)),
        counters_(std::move(counters)),
        context_{config_, cgroups, root_, reader_, series_, registry, faults_, log_, counters_, loop} {
    for (const CollectorEntry* row : collectors)
      if (row->gate.empty() || (config_.is_on && config_.is_on(row->gate))) add(*row);
    for (const Row& row : rows_) row.collector->tell(availability_);
    const auto available = registry.gauges(kAvailable);
    for (const Availability& one : availability_) {
      available.with({one.name}).set(one.works ? 1 : 0);
      if (!one.works) log_.info("not measured", kv("what", one.name), kv("reason", one.reason));
    }
    for (Row& row : rows_) {
      if (!row.asking) continue;
      row.told = availability_.size();
      availability_.push_back(row.asking->availability());
      row.works = available.with({row.asking->availability().name});
      row.works.set(0);
    }
    view_.interval = config_.interval;
  }

  const TickView& tick(const std::shared_ptr<const Inventory>& inventory, MonoTime at, WallTime wall) {
    faults_.at(at);
    const bool followed = inventory != view_.inventory;
    if (followed) follow(inventory);
    const bool too_soon = view_.tick > 0 && at >= view_.at && at - view_.at < config_.interval / 2;
    if (!too_soon) sample(at, wall);
    return view_;
  }

  const TickView& view() const { return view_; }
  std::span<const Availability> availability() const { return availability_; }

  SamplerStats stats() const {
    return {.ticks = view_.tick,
            .reads = reader_.stats().reads,
            .opens = reader_.stats().opens,
            .faults = faults_.total(),
            .groups = view_.pods.size() + view_.containers.size() + view_.host_applications.size(),
            .descriptors = reader_.held()};
  }

 private:
  struct Row {
    std::unique_ptr<Collector> collector;
    nanoseconds period{};
    MonoTime due;                    // when it samples next
    std::unique_ptr<Asking> asking;  // of one that answers later
    std::size_t told = 0;            // its place in availability_
    metrics::Gauge works;
  };

  void add(const CollectorEntry& entry) {
    Row row{.collector = entry.make(context_), .period = entry.period};
    if (Question* const question = row.collector->question(); question != nullptr) {
      if (context_.loop.group == nullptr) return;
      row.asking = std::make_unique<Asking>(*question, entry, context_.loop, log_);
    }
    rows_.push_back(std::move(row));
  }

  void ask(Row& row, MonoTime at) {
    row.asking->tick(view_.inventory, at);
    const Availability& now = row.asking->availability();
    Availability& told = availability_[row.told];
    if (now.works == told.works && now.reason == told.reason) return;
    told = now;
    row.works.set(now.works ? 1 : 0);
  }

  void follow(const std::shared_ptr<const Inventory>& inventory) {
    view_.inventory = inventory;
    for (const Row& row : rows_) row.collector->follow(*inventory);
    for (const Row& row : rows_) row.collector->show(view_);
  }

  void sample(MonoTime at, WallTime wall) {
    view_.at = at;
    view_.wall = wall;
    for (Row& row : rows_) {
      if (row.asking) {
        ask(row, at);
        row.collector->show(view_);
        continue;
      }
      if (row.period > nanoseconds(0)) {
        if (view_.tick > 0 && at < row.due) continue;
        row.due = at + row.period;
      }
      row.collector->sample(view_);
      row.collector->show(view_);
    }
    ++view_.tick;
    close_unclaimed(at);
  }

  /// Restored series of what went while the agent was away. All that is there has been read several times by
  /// then, NUMA nodes, too, which are opened by the first reading that succeeds.
  void close_unclaimed(MonoTime at) {
    if (claimed_ || !view_.inventory->pods_known) return;
    if (!pods_known_at_) pods_known_at_ = at;
    if (at - *pods_known_at_ < kClaimTime) return;
    series_.close_unclaimed();
    claimed_ = true;
  }

  SamplerConfig config_;
  host::Root root_;
  SeriesStore& series_;
  Logger log_;
  ReadFaults faults_;
  KernelReader reader_;
  KernelCounters counters_;
  CollectorContext context_;
  std::vector<Row> rows_;
  std::vector<Availability> availability_;

  TickView view_;
  std::optional<MonoTime> pods_known_at_;
  bool claimed_ = false;
};

Sampler::Sampler(SamplerConfig config, CollectorTable collectors, const host::CgroupFs& cgroups,
                 const host::Root& root, SeriesStore& series, metrics::Registry& registry, Logger log,
                 KernelCounters counters, CollectorLoop loop)
    : impl_(std::make_unique<Impl>(std::move(config), collectors, cgroups, root, series, registry,
                                   std::move(log), std::move(counters), loop)) {}
Sampler::~Sampler() = default;

const TickView& Sampler::tick(const std::shared_ptr<const Inventory>& inventory, MonoTime at, WallTime wall) {
  return impl_->tick(inventory, at, wall);
}

const TickView& Sampler::view() const { return impl_->view(); }
std::span<const Availability> Sampler::availability() const { return impl_->availability(); }
SamplerStats Sampler::stats() const { return impl_->stats(); }

}  // namespace koord::koordlet
