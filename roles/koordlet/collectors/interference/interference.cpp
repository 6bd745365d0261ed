// The collector of interference: what each pod and tier loses to others, of what collectors above it have
// measured. It reads nothing itself.
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectors/interference/formula.hpp"
#include "framework/sampler/collector.hpp"
#include "framework/sampler/sampler.hpp"
#include "framework/tick/cpi_view.hpp"
#include "framework/tick/interference.hpp"
#include "framework/tick/pressure_view.hpp"
#include "framework/tick/run_queue_waits.hpp"

namespace koord::koordlet {

namespace {

using interference::LostTime;
using interference::Sums;

constexpr metrics::Metric kPod{
    .name = "koordlet_pod_interference",
    .type = metrics::Type::gauge,
    .help =
        "Of what the pod could have done of late the share that it lost to others, 0 to 1 (gate "
        "PodInterference).",
    .labels = {"pod_uid", "pod_name", "pod_namespace", "qos"}};
constexpr metrics::Metric kPodPart{
    .name = "koordlet_pod_interference_part",
    .type = metrics::Type::gauge,
    .help =
        "What of it: waits for a CPU, for memory, for block devices, or instructions that take longer than "
        "the pod's do usually.",
    .labels = {"pod_uid", "pod_name", "pod_namespace", "qos", "part"}};
constexpr metrics::Metric kTier{.name = "koordlet_tier_interference",
                                .type = metrics::Type::gauge,
                                .help = "The same of all pods of a class together.",
                                .labels = {"qos"}};
constexpr metrics::Metric kTierPart{.name = "koordlet_tier_interference_part",
                                    .type = metrics::Type::gauge,
                                    .help = "What of it.",
                                    .labels = {"qos", "part"}};
constexpr metrics::Table kShown = {&kPod, &kPodPart, &kTier, &kTierPart};

constexpr std::array<Qos, 5> kTiers = {Qos::lse, Qos::lsr, Qos::ls, Qos::be, Qos::system};
constexpr std::array<std::string_view, 4> kParts = {"run_queue", "memory", "io", "cpi"};
/// Between two readings of waits; beyond it something is missing between them.
constexpr nanoseconds kLongestPeriod = std::chrono::seconds(12);
constexpr std::string_view kNothing =
    "neither waits for a CPU (run_queue_latency) nor pressure (gate PSICollector) nor cycles (cpi) are "
    "measured";

/// The series of a pod or of a tier.
class Gauges {
 public:
  using Family = metrics::Family<metrics::Gauge>;
  explicit Gauges(std::vector<std::string> labels) : labels_(std::move(labels)) {}

  void show(const Family& all, const Family& parts, const InterferenceParts& now) {
    put(all, {}, now.all(), all_);
    const std::array<double, kParts.size()> values = {now.run_queue, now.memory, now.io, now.cpi};
    for (std::size_t i = 0; i < kParts.size(); ++i) put(parts, kParts[i], values[i], parts_[i]);
  }
  void hide(const Family& all, const Family& parts) { show(all, parts, InterferenceParts()); }

 private:
  void put(const Family& family, std::string_view part, double value, std::optional<metrics::Gauge>& gauge) {
    if (known(value)) {
      if (!gauge) gauge = family.with(values(part));
      gauge->set(value);
    } else if (gauge) {
      gauge.reset();
      remove(family, values(part));
    }
  }
  std::vector<std::string_view> values(std::string_view part) const {
    std::vector<std::string_view> all(labels_.begin(), labels_.end());
    if (!part.empty()) all.push_back(part);
    return all;
  }
  static void remove(const Family& family, const std::vector<std::string_view>& v) {
    switch (v.size()) {
      case 1: return family.remove({v[0]});
      case 2: return family.remove({v[0], v[1]});
      case 4: return family.remove({v[0], v[1], v[2], v[3]});
      default: return family.remove({v[0], v[1], v[2], v[3], v[4]});
    }
  }

  std::vector<std::string> labels_;
  std::optional<metrics::Gauge> all_;
  std::array<std::optional<metrics::Gauge>, kParts.size()> parts_;
};

class InterferenceCollector final : public Collector {
 public:
  explicit InterferenceCollector(const CollectorContext& context);

  void follow(const Inventory& inventory) override;
  void sample(const TickView& view) override;
  void show(TickView& view) const override { view.slots.show(available_ ? &view_ : nullptr, at_); }
  void tell(std::vector<Availability>& all) const override {
    all.push_back({"pod_interference", available_, available_ ? std::string() : std::string(kNothing)});
  }

 private:
  struct Pod {
    std::string uid;
    std::vector<std::string> labels;
    Qos qos = Qos::none;
    LostTime lost;
    std::uint64_t window = 0;  // the last one that it was told of
    Gauges gauges;
  };

  void tick(Pod& pod, std::size_t place, const TickView& view, nanoseconds since);
  void export_all();

  bool available_;
  Gauges::Family pods_family_, pod_parts_, tiers_family_, tier_parts_;
  std::vector<std::unique_ptr<Pod>> pods_;     // in the inventory's order
  std::array<Sums, kTiers.size() + 1> tiers_;  // by class
  std::vector<Gauges> tier_gauges_;            // in the order of kTiers
  std::optional<MonoTime> last_;
  std::uint64_t reading_ = 0;
  std::optional<MonoTime> read_at_;  // of the waits
  MonoTime at_{}, shown_at_{};
  Interference view_;
};

InterferenceCollector::InterferenceCollector(const CollectorContext& context)
    : available_(context.counters.run_queue != nullptr || context.config.is_on("PSICollector") ||
                 context.counters.cpi != nullptr),
      pods_family_(context.metrics.gauges(kPod)),
      pod_parts_(context.metrics.gauges(kPodPart)),
      tiers_family_(context.metrics.gauges(kTier)),
      tier_parts_(context.metrics.gauges(kTierPart)) {
  for (const Qos qos : kTiers)
    tier_gauges_.emplace_back(std::vector<std::string>{std::string(to_string(qos))});
}

void InterferenceCollector::follow(const Inventory& inventory) {
  if (!available_) return;
  std::map<std::string, std::unique_ptr<Pod>> known;
  for (auto& pod : pods_) {
    std::string uid = pod->uid;
    known.emplace(std::move(uid), std::move(pod));
  }
  pods_.clear();
  for (const auto& info : inventory.pods) {
    const Qos qos = with_default(info->qos, info->kube_qos);
    std::vector<std::string> labels = {info->uid, info->name, info->ns, std::string(to_string(qos))};
    const auto old = known.find(info->uid);
    if (old != known.end() && old->second->labels == labels) {
      pods_.push_back(std::move(old->second));
      known.erase(old);
      continue;
    }
    pods_.push_back(std::make_unique<Pod>(
        Pod{.uid = info->uid, .labels = labels, .qos = qos, .lost = {}, .gauges = Gauges(labels)}));
    if (old != known.end()) pods_.back()->lost = old->second->lost;  // of another class now
  }
  for (auto& [uid, gone] : known) {
    gone->gauges.hide(pods_family_, pod_parts_);
    view_.pods.erase(uid);
  }
}

void InterferenceCollector::tick(Pod& pod, std::size_t place, const TickView& view, nanoseconds since) {
  LostTime::Seen seen;
  if (place < view.pods.size()) seen.used = view.pods[place].cpu;
  if (const auto* const pressure = view.find<PressureView>();
      pressure != nullptr && place < pressure->pods.size()) {
    const Pressure& own = pressure->pods[place];
    seen.cpu_us = own.cpu.some_total_us;
    seen.memory_us = own.memory.some_total_us;
    seen.io_us = own.io.some_total_us;
  }
  pod.lost.tick(seen, since);
  const auto* const cpi = view.find<CpiView>();
  if (cpi == nullptr) return;
  const auto window = cpi->pods.find(pod.uid);
  if (window == cpi->pods.end() || window->second.reading == pod.window) return;
  pod.window = window->second.reading;
  pod.lost.window(window->second.cycles, window->second.instructions, view.at);
}

void InterferenceCollector::sample(const TickView& view) {
  if (!available_) return;
  const nanoseconds since = last_ ? view.at - *last_ : nanoseconds(0);
  last_ = view.at;
  for (std::size_t i = 0; i < pods_.size(); ++i) tick(*pods_[i], i, view, since);
  const auto* const waits = view.find<RunQueueWaits>();
  if (waits == nullptr) {
    read_at_.reset();  // what is read next is of a longer time
  } else if (waits->reading != reading_) {
    const bool whole = read_at_ && view.at - *read_at_ <= kLongestPeriod;
    reading_ = waits->reading;
    read_at_ = view.at;
    for (const auto& pod : pods_) {
      const auto of = waits->pods.find(pod->uid);
      pod->lost.waited(of != waits->pods.end() ? static_cast<double>(of->second.sum_ns) / 1e9 : 0, whole);
    }
  }
  at_ = view.at;
  tiers_ = {};
  for (const auto& pod : pods_) {
    const InterferenceParts parts = pod->lost.parts();
    if (known(parts.all()))
      view_.pods[pod->uid] = parts;
    else
      view_.pods.erase(pod->uid);
    tiers_[static_cast<std::size_t>(pod->qos)] += pod->lost.sums();
  }
  view_.tiers.clear();
  for (const Qos qos : kTiers)
    if (const InterferenceParts parts = tiers_[static_cast<std::size_t>(qos)].parts(); known(parts.all()))
      view_.tiers.push_back({qos, parts});
  export_all();
}

void InterferenceCollector::export_all() {
  for (const auto& pod : pods_) {
    const auto now = view_.pods.find(pod->uid);
    pod->gauges.show(pods_family_, pod_parts_, now != view_.pods.end() ? now->second : InterferenceParts());
  }
  for (Gauges& gauges : tier_gauges_) {
    InterferenceParts now;
    for (const Interference::Tier& tier : view_.tiers)
      if (kTiers[static_cast<std::size_t>(&gauges - tier_gauges_.data())] == tier.qos) now = tier.parts;
    gauges.show(tiers_family_, tier_parts_, now);
  }
}

}  // namespace

extern const CollectorEntry kInterference;
const CollectorEntry kInterference{.name = "interference",
                                   .gate = "PodInterference",
                                   .metrics = kShown,
                                   .make = &make_collector<InterferenceCollector>};

}  // namespace koord::koordlet
