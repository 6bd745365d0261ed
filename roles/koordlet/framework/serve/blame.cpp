// Blame: see blame.hpp.
#include "framework/serve/blame.hpp"

#include <algorithm>
#include <utility>

#include "framework/serve/available.hpp"
#include "framework/serve/octaves.hpp"
#include "framework/serve/run_queue.hpp"
#include "koord/host/cgroup_paths.hpp"

namespace koord::koordlet {

namespace {

using host::CpuTier;
using host::FineHistogram;
using host::WaitBlame;

/// Of waits whose moves or ends were not seen: more than one in so many is too much.
constexpr std::uint64_t kTolerated = 1000;

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

}  // namespace

const metrics::Table Blame::kMetrics = {&kSeconds, &kCaused, &kLost};

Blame::Blame(Parts parts) : parts_(std::move(parts)) {
  const auto seconds = parts_.registry.counters(kSeconds);
  const auto caused = parts_.registry.histograms(kCaused);
  const auto lost = parts_.registry.counters(kLost);
  if (!wanted()) return;
  parts_.registry.gauges(kCollectorAvailable).with({"wait_blame"}).set(available() ? 1 : 0);
  if (!available()) {
    parts_.log.info("nobody can tell who makes others wait for a CPU", kv("reason", parts_.reason));
    return;
  }
  for (std::size_t tier = 0; tier < host::kCpuTiers; ++tier) {
    caused_[tier] = caused.with({name_of_runner(tier)});
    for (std::size_t runner = 0; runner < WaitBlame::kRunners; ++runner)
      seconds_[tier][runner] = seconds.with({name_of_runner(tier), name_of_runner(runner)});
  }
  lost_groups_ = lost.with({"groups"});
  lost_tasks_ = lost.with({"tasks"});
  lost_unseen_ = lost.with({"unseen"});
}

void Blame::tick(MonoTime now, const std::shared_ptr<const Inventory>& inventory) {
  if (!available()) return;
  tiers_known_ = named_;
  const bool came = std::any_of(missing_.begin(), missing_.end(),
                                [this](const std::string& group) { return id_of(group).has_value(); });
  if (came || !named_ || inventory->generation != generation_) name_groups(*inventory);
  read(now);
  if (now >= pods_due_) read_pods(now);
}

/// All that somebody has a class for. What is below the roots of a class and not known yet is of that class.
void Blame::name_groups(const Inventory& inventory) {
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
  const auto set = parts_.counters->name_groups(names_);
  if (!set && !naming_fails_)
    parts_.log.warn("the kernel cannot be told whose each cgroup is", kv("error", set.error()));
  naming_fails_ = !set;
  named_ = inventory.pods_known && set;
  generation_ = inventory.generation;
}

Result<WaitBlame::GroupId> Blame::id_of(const std::string& group) const {
  KOORD_TRY(folder, parts_.cgroups.folder(host::Knob::cpu_quota, group));
  return host::cgroup_id(folder);
}

void Blame::name(const std::string& group, CpuTier tier) {
  if (group.empty()) return;  // it would be the whole machine
  if (const auto id = id_of(group))
    names_.push_back({*id, tier});
  else
    missing_.push_back(group);  // nobody is in it; it may come
}

void Blame::read(MonoTime now) {
  WaitBlame::State state;
  const auto taken = parts_.counters->read(state);
  if (!taken) {
    if (!reading_fails_)
      parts_.log.warn("it cannot be read who makes others wait for a CPU", kv("error", taken.error()));
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

void Blame::count_losses() {
  const auto lost = parts_.counters->losses();
  if (!lost) return;
  new_losses_ = {grown(lost->groups, lost_.groups), grown(lost->tasks, lost_.tasks),
                 grown(lost->unseen, lost_.unseen)};
  lost_ = *lost;
  lost_groups_.add(static_cast<double>(new_losses_.groups));
  lost_tasks_.add(static_cast<double>(new_losses_.tasks));
  lost_unseen_.add(static_cast<double>(new_losses_.unseen));
}

void Blame::count(const WaitBlame::State& now) {
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

void Blame::publish(const WaitBlame::State& now, nanoseconds period) {
  waits_ = {.reading = waits_.reading + 1, .period = period};
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

std::string_view Blame::why_unfit(nanoseconds period) const {
  if (!tiers_known_ || !named_) return "it is not known yet whose each cgroup is";
  if (period > kLate) return "the last reading was late";
  if (new_losses_.tasks > 0) return "waits were lost: more tasks than the kernel's table has room for";
  if (new_losses_.unseen * kTolerated > new_waits_)
    return "waits were lost: too many moves or ends were not seen";
  double sum = 0;
  for (const double part : waits_.seconds) sum += part;
  if (static_cast<double>(unknown_ns_) / 1e9 > sum / 100) return "it is not known yet who runs on each CPU";
  return {};
}

void Blame::read_pods(MonoTime now) {
  pods_due_ = now + kPodsPeriod;
  pods_.clear();
  if (!parts_.counters->groups(groups_)) return;
  const bool first = !std::exchange(pods_read_, true);
  for (const WaitBlame::Group& one : groups_) {
    const auto [known, is_new] = group_ns_.try_emplace(one.id, first ? one.ns : 0);
    const std::uint64_t ns = grown(one.ns, std::exchange(known->second, one.ns));
    const std::string* uid = parts_.run_queue.pod_of(one.id);
    if (ns > 0 && uid != nullptr) pods_[*uid] += static_cast<double>(ns) / 1e9;
  }
  if (group_ns_.size() <= 2 * groups_.size() + 64) return;
  // Groups that have gone.
  group_ns_.clear();
  for (const WaitBlame::Group& one : groups_) group_ns_.emplace(one.id, one.ns);
}

double Blame::of_pod(const std::string& uid) const {
  const auto found = pods_.find(uid);
  return found != pods_.end() ? found->second : 0;
}

}  // namespace koord::koordlet
