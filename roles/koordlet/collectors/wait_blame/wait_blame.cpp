// The collector of blame: who ran while others waited for a CPU, as the kernel's programs count it, made into
// BlamedWaits and metrics.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "framework/sampler/collector.hpp"
#include "framework/sampler/octaves.hpp"
#include "framework/tick/blamed_waits.hpp"
#include "framework/tick/run_queue_waits.hpp"
#include "koord/host/cgroup_paths.hpp"

namespace koord::koordlet {

namespace {

using host::CpuTier;
using host::FineHistogram;
using host::WaitBlame;

/// Of waits whose moves or ends were not seen: more than one in so many is too much. A single one moves a p99
/// by no more than one rank.
constexpr std::uint64_t kTolerated = 1000;
/// How old the reading before may be, for one that somebody acts on.
constexpr nanoseconds kLate = std::chrono::milliseconds(2500);
/// How often it is read which pods best-effort work made wait.
constexpr nanoseconds kPodsPeriod = std::chrono::seconds(5);

constexpr metrics::Metric kSeconds{
    .name = "koordlet_cpu_wait_seconds_total",
    .type = metrics::Type::counter,
    .help = "How long tasks of the tier waited for a CPU, by who ran meanwhile.",
    .labels = {"tier", "runner"}};
constexpr metrics::Metric kCaused{
    .name = "koordlet_cpu_wait_caused_seconds",
    .type = metrics::Type::histogram,
    .help =
        "What best-effort work caused of each wait for a CPU: it ran there, or on another CPU that the "
        "waiter may use as well.",
    .labels = {"tier"},
    .bounds = kOctaveBounds};
constexpr metrics::Metric kLost{
    .name = "koordlet_cpu_wait_lost_total",
    .type = metrics::Type::counter,
    .help =
        "Waits that nobody is blamed for: a table of groups or of tasks was full, or the kernel did not tell "
        "of a move or of the end.",
    .labels = {"reason"}};

static_assert(static_cast<std::size_t>(Runner::best_effort) ==
                  static_cast<std::size_t>(CpuTier::best_effort) &&
              static_cast<std::size_t>(Runner::system) == static_cast<std::size_t>(CpuTier::system) &&
              static_cast<std::size_t>(Runner::nobody) == WaitBlame::kIdle &&
              kRunners == WaitBlame::kUnknown);

std::string_view name_of_runner(std::size_t runner) {
  return runner < kRunners ? name_of(static_cast<Runner>(runner)) : "unknown";
}

CpuTier tier_of(Qos qos) {
  switch (qos) {
    case Qos::lse: return CpuTier::lse;
    case Qos::lsr: return CpuTier::lsr;
    case Qos::ls: return CpuTier::ls;
    case Qos::be: return CpuTier::best_effort;
    case Qos::system:
    case Qos::none: return CpuTier::system;
  }
  return CpuTier::system;
}

/// As the strategies tell best-effort pods from others.
CpuTier tier_of(const PodInfo& pod) {
  return pod.is_be() ? CpuTier::best_effort : tier_of(with_default(pod.qos, pod.kube_qos));
}

bool is_sensitive(std::size_t tier) { return tier < static_cast<std::size_t>(CpuTier::best_effort); }

std::uint64_t grown(std::uint64_t now, std::uint64_t before) { return now > before ? now - before : 0; }

constexpr metrics::Table kShown = {&kSeconds, &kCaused, &kLost};

class WaitBlameCollector final : public Collector {
 public:
  explicit WaitBlameCollector(const CollectorContext& context);

  void sample(const TickView& view) override;
  /// Of the time since the tick before.
  void show(TickView& view) const override {
    view.slots.show(counters_ != nullptr ? &waits_ : nullptr, view.at);
  }
  void tell(std::vector<Availability>& all) const override {
    all.push_back({"wait_blame", counters_ != nullptr, context_.counters.no_blame});
  }

 private:
  void name_groups(const Inventory& inventory);
  void name(const std::string& group, CpuTier tier);
  Result<WaitBlame::GroupId> id_of(const std::string& group) const;
  void read(MonoTime now);
  void publish(const WaitBlame::State& now, nanoseconds period);
  void count(const WaitBlame::State& now);
  void count_losses();
  void read_pods(const TickView& view);
  std::string_view why_unfit(nanoseconds period) const;

  const CollectorContext& context_;
  WaitBlame* counters_;  // null: not available
  std::array<std::array<metrics::Counter, WaitBlame::kRunners>, host::kCpuTiers> seconds_;
  std::array<metrics::Histogram, host::kCpuTiers> caused_;
  metrics::Counter lost_groups_, lost_tasks_, lost_unseen_;

  BlamedWaits waits_;
  bool naming_fails_ = false, reading_fails_ = false;
  std::optional<MonoTime> last_;  // reading; nothing: none yet, or it failed
  WaitBlame::State total_{};
  WaitBlame::Losses lost_, new_losses_;
  std::uint64_t new_waits_ = 0;   // of all tiers, in the last period
  std::uint64_t unknown_ns_ = 0;  // of who waits in vain for an answer, in the last period
  std::uint64_t generation_ = 0;  // of the inventory, as it was named
  bool named_ = false;            // all groups that there are, pods' included
  bool tiers_known_ = false;      // the same, for the whole of the last period
  std::vector<WaitBlame::Named> names_;
  std::vector<std::string> missing_;  // groups that have no cgroup

  MonoTime pods_due_{};
  bool pods_read_ = false;
  std::vector<WaitBlame::Group> groups_;
  std::unordered_map<WaitBlame::GroupId, std::uint64_t> group_ns_;
};

WaitBlameCollector::WaitBlameCollector(const CollectorContext& context)
    : context_(context), counters_(context.counters.blame) {
  const auto seconds = context.metrics.counters(kSeconds);
  const auto caused = context.metrics.histograms(kCaused);
  const auto lost = context.metrics.counters(kLost);
  if (counters_ == nullptr) return;
  for (std::size_t tier = 0; tier < host::kCpuTiers; ++tier) {
    caused_[tier] = caused.with({name_of_runner(tier)});
    for (std::size_t runner = 0; runner < WaitBlame::kRunners; ++runner)
      seconds_[tier][runner] = seconds.with({name_of_runner(tier), name_of_runner(runner)});
  }
  lost_groups_ = lost.with({"groups"});
  lost_tasks_ = lost.with({"tasks"});
  lost_unseen_ = lost.with({"unseen"});
}

void WaitBlameCollector::sample(const TickView& view) {
  if (counters_ == nullptr) return;
  tiers_known_ = named_;
  const bool came = std::any_of(missing_.begin(), missing_.end(),
                                [this](const std::string& group) { return id_of(group).has_value(); });
  if (came || !named_ || view.inventory->generation != generation_) name_groups(*view.inventory);
  const auto* const tracing = view.find<host::RunQueueLatency::Tracing>();
  if (tracing != nullptr && *tracing != host::RunQueueLatency::Tracing::full) {
    // Nobody knows who ran, which is not that nobody did, and nothing adds up to the first reading
    // afterwards.
    last_.reset();
    waits_ = {.reading = waits_.reading, .why_unfit = "tracing all waits costs too much CPU time now"};
    return;
  }
  read(view.at);
  if (view.at >= pods_due_) read_pods(view);
}

/// All that somebody has a class for. What is below the roots of a class and not known yet is of that class.
void WaitBlameCollector::name_groups(const Inventory& inventory) {
  names_.clear();
  missing_.clear();
  const auto root = [&](host::KubeQos qos) {
    return host::kubepods_folder(inventory.driver, qos, inventory.kubelet_root);
  };
  name(root(host::KubeQos::guaranteed), CpuTier::lsr);
  name(root(host::KubeQos::burstable), CpuTier::ls);
  name(root(host::KubeQos::besteffort), CpuTier::best_effort);
  for (const std::string& group : inventory.be_roots) name(group, CpuTier::best_effort);
  for (const HostApplication& one : inventory.host_applications) name(one.group, tier_of(one.qos));
  for (const auto& pod : inventory.all_pods) name(pod->group, tier_of(*pod));
  for (const auto& pod : inventory.pods) name(pod->group, tier_of(*pod));
  const auto set = counters_->name_groups(names_);
  if (!set && !naming_fails_)
    context_.log.warn("the kernel cannot be told whose each cgroup is", kv("error", set.error()));
  naming_fails_ = !set;
  named_ = inventory.pods_known && set;
  generation_ = inventory.generation;
}

Result<WaitBlame::GroupId> WaitBlameCollector::id_of(const std::string& group) const {
  KOORD_TRY(folder, context_.cgroups.folder(host::Knob::cpu_quota, group));
  return host::cgroup_id(folder);
}

void WaitBlameCollector::name(const std::string& group, CpuTier tier) {
  if (group.empty()) return;  // it would be the whole machine
  if (const auto id = id_of(group))
    names_.push_back({*id, tier});
  else
    missing_.push_back(group);  // nobody is in it; it may come
}

void WaitBlameCollector::read(MonoTime now) {
  WaitBlame::State state;
  const auto taken = counters_->read(state);
  if (!taken) {
    if (!reading_fails_)
      context_.log.warn(
          "the kernel's counters of CPU waits cannot be read: CPU blame is unknown until they can",
          kv("error", taken.error()));
    reading_fails_ = true;
    last_.reset();
    waits_.fit = false;
    waits_.why_unfit = "the kernel's counters cannot be read";
    return;
  }
  reading_fails_ = false;
  count_losses();
  count(state);
  if (last_) publish(state, now - *last_);
  if (!last_) waits_.why_unfit = "nothing was counted for a whole period yet";
  last_ = now;
  total_ = state;
}

void WaitBlameCollector::count_losses() {
  const auto lost = counters_->losses();
  if (!lost) return;
  new_losses_ = {grown(lost->groups, lost_.groups), grown(lost->tasks, lost_.tasks),
                 grown(lost->unseen, lost_.unseen)};
  lost_ = *lost;
  lost_groups_.add(static_cast<double>(new_losses_.groups));
  lost_tasks_.add(static_cast<double>(new_losses_.tasks));
  lost_unseen_.add(static_cast<double>(new_losses_.unseen));
}

void WaitBlameCollector::count(const WaitBlame::State& now) {
  new_waits_ = unknown_ns_ = 0;
  for (std::size_t tier = 0; tier < host::kCpuTiers; ++tier) {
    const WaitBlame::Waits &one = now[tier], &before = total_[tier];
    const std::uint64_t waits = grown(one.waits, before.waits);
    new_waits_ += waits;
    for (std::size_t runner = 0; runner < WaitBlame::kRunners; ++runner)
      seconds_[tier][runner].add(static_cast<double>(grown(one.ran_ns[runner], before.ran_ns[runner])) / 1e9);
    if (is_sensitive(tier))
      unknown_ns_ += grown(one.ran_ns[WaitBlame::kUnknown], before.ran_ns[WaitBlame::kUnknown]);
    const FineHistogram parts = one.caused.since(before.caused);
    auto counts = by_octaves(parts);
    counts[0] += grown(waits, parts.count());
    caused_[tier].add_counts(counts, static_cast<double>(grown(one.caused_ns, before.caused_ns)) / 1e9);
  }
}

void WaitBlameCollector::publish(const WaitBlame::State& now, nanoseconds period) {
  waits_ = {.reading = waits_.reading + 1, .period = period, .pods = std::move(waits_.pods)};
  FineHistogram parts;
  for (std::size_t tier = 0; tier < host::kCpuTiers; ++tier) {
    if (!is_sensitive(tier)) continue;
    const WaitBlame::Waits &one = now[tier], &before = total_[tier];
    waits_.waits += grown(one.waits - one.own_quota_waits, before.waits - before.own_quota_waits);
    waits_.own_quota_seconds += static_cast<double>(grown(one.own_quota_ns, before.own_quota_ns)) / 1e9;
    for (std::size_t runner = 0; runner < kRunners; ++runner)
      waits_.seconds[runner] += static_cast<double>(grown(one.ran_ns[runner], before.ran_ns[runner])) / 1e9;
    waits_.caused_seconds += static_cast<double>(grown(one.caused_ns, before.caused_ns)) / 1e9;
    parts += one.caused.since(before.caused);
  }
  waits_.best_effort_p99_us = parts.upper_quantile_us(0.99, waits_.waits);
  waits_.why_unfit = why_unfit(period);
  waits_.fit = waits_.why_unfit.empty();
}

std::string_view WaitBlameCollector::why_unfit(nanoseconds period) const {
  if (!tiers_known_ || !named_) return "it is not known yet whose each cgroup is";
  if (period > kLate) return "the last reading was late";
  if (new_losses_.tasks > 0) return "waits were lost: more tasks than the kernel's table has room for";
  if (new_losses_.unseen > 1 && new_losses_.unseen * kTolerated > new_waits_)
    return "waits were lost: too many moves or ends were not seen";
  double sum = 0;
  for (const double part : waits_.seconds) sum += part;
  if (static_cast<double>(unknown_ns_) / 1e9 > sum / 100) return "it is not known yet who runs on each CPU";
  return {};
}

void WaitBlameCollector::read_pods(const TickView& view) {
  pods_due_ = view.at + kPodsPeriod;
  waits_.pods.clear();
  const RunQueueWaits* const waits = view.find<RunQueueWaits>();
  if (waits == nullptr || !counters_->groups(groups_)) return;
  const bool first = !std::exchange(pods_read_, true);
  for (const WaitBlame::Group& one : groups_) {
    const auto [known, is_new] = group_ns_.try_emplace(one.id, first ? one.ns : 0);
    const std::uint64_t ns = grown(one.ns, std::exchange(known->second, one.ns));
    if (ns == 0) continue;
    const auto owner = waits->owners.find(one.id);
    if (owner != waits->owners.end()) waits_.pods[*owner->second] += static_cast<double>(ns) / 1e9;
  }
  if (group_ns_.size() <= 2 * groups_.size() + 64) return;
  // Groups that have gone.
  group_ns_.clear();
  for (const WaitBlame::Group& one : groups_) group_ns_.emplace(one.id, one.ns);
}

}  // namespace

extern const CollectorEntry kWaitBlame;
const CollectorEntry kWaitBlame{.name = "wait_blame",
                                .gate = "BECPUBlame",
                                .metrics = kShown,
                                .make = &make_collector<WaitBlameCollector>};

}  // namespace koord::koordlet
