// Memory bandwidth: what best-effort work may have of it follows what latency-sensitive work needs, behind
// each last-level cache by itself: read by what resctrl counts, written as the group BE's part.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "framework/qos/plugin.hpp"
#include "framework/resctrl/pod_groups.hpp"
#include "framework/resctrl/resctrl_groups.hpp"
#include "framework/tick/resctrl_use.hpp"
#include "koord/api/koordinator/pod_resctrl.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/host/text.hpp"
#include "plugins/memory_bandwidth/settings.hpp"
#include "plugins/memory_bandwidth/steering.hpp"

namespace koord::koordlet {

namespace memory_bandwidth {
namespace {

constexpr std::string_view kBestEffort = "BE",
                           kReason = "what latency-sensitive work leaves of the bandwidth";
constexpr std::string_view kAuditReason = "Resctrl";
constexpr std::int64_t kFinest = 5, kAllPercent = 100;
constexpr double kMegabyte = 1e6;
/// So long an agent that has just started keeps what is in force, if nobody counts yet.
constexpr nanoseconds kFirstReading = std::chrono::minutes(2);

constexpr metrics::Metric kPercent{
    .name = "koordlet_be_memory_bandwidth_percent",
    .type = metrics::Type::gauge,
    .help =
        "What best-effort work may have of the memory's bandwidth behind a cache (NodeSLO's extension "
        "memoryBandwidth).",
    .labels = {"cache_id"}};
constexpr metrics::Table kMetrics = {&kPercent};

class MemoryBandwidth final : public Strategy {
 public:
  explicit MemoryBandwidth(const PluginContext& context)
      : context_(context),
        gauges_(context.metrics.gauges(kPercent)),
        hook_(context.gates.enabled("Resctrl")) {}

  StrategyStatus status() const override { return status_; }
  void release(const Inventory&, Plan&) override { stop("off: no NodeSLO, or its gate is off"); }

  void plan(const TickView& view, Plan& plan) override {
    follow(view.inventory->slo);
    if (!wrong_.empty()) return stop(wrong_);
    if (!settings_.enable) return stop("off: the NodeSLO's extension memoryBandwidth is not enabled");
    if (most_ <= 0) return stop("off: best-effort work has no group of resctrl (beClass.resctrlQOS)");
    if (settings_.capacity_megabytes <= 0) return stop("off: capacityMegabytes is not said");
    const auto info = context_.resctrl != nullptr ? context_.resctrl->info() : nullptr;
    if (!info || !info->bandwidth || info->bandwidth->scale == host::BandwidthScale::megabytes)
      return stop("off: the memory's bandwidth cannot be divided here");
    follow(*info->bandwidth);
    if (!began_) began_ = view.at;
    const ResctrlUse* const use = view.find<ResctrlUse>();
    counted_ = counted_ || use != nullptr;
    if (use == nullptr && (counted_ || view.at - *began_ >= kFirstReading || !is_narrow()))
      return stop("off: nobody counts (gate ResctrlCollector, --enable-resctrl-collector)");
    if (use != nullptr && std::exchange(reading_, use->reading) != use->reading) step(*info->bandwidth, *use);
    std::int64_t least = kAllPercent;
    const auto own = own_groups(*view.inventory);
    for (auto& [id, path] : paths_) {
      const std::int64_t percent = path.steering.percent().value_or(most_);
      least = std::min(least, percent);
      if (percent >= most_) continue;  // its class' part
      const auto value = host::bandwidth_value(*info->bandwidth, percent);
      if (!value) continue;
      path.value.clear();
      fmt::format_to(std::back_inserter(path.value), "{}", *value);
      want(plan, kBestEffort, path);
      for (const auto& [group, said] : own)
        if (percent_of(*said, id) > percent) want(plan, group, path);
    }
    status_.active = true;
    status_.summary.clear();
    fmt::format_to(std::back_inserter(status_.summary),
                   "best-effort work has {}% of the bandwidth at least, of {}{}", least, most_,
                   use == nullptr ? "; waiting for the first reading" : "");
    if (!own.empty())
      fmt::format_to(std::back_inserter(status_.summary),
                     "; {} of its pods with groups of their own have no more each", own.size());
    if (use != nullptr && use->own_unread > 0)
      fmt::format_to(std::back_inserter(status_.summary),
                     "; of {} groups of pods' own {} could not be read and are not counted", use->own_groups,
                     use->own_unread);
  }

 private:
  struct Path {
    Steering steering;
    std::string key, value, label;
  };

  static void want(Plan& plan, std::string_view group, const Path& path) {
    Intent& intent = plan.want(host::Knob::schemata, group, path.value, kReason);
    intent.key = path.key;
    intent.audit_reason = kAuditReason;
  }

  using OwnGroups = std::vector<std::pair<std::string, const api::PodResctrl*>>;
  /// Of best-effort pods that have said parts of their own.
  OwnGroups own_groups(const Inventory& inventory) const {
    OwnGroups own;
    if (!hook_) return own;
    for (const auto& pod : inventory.all_pods) {
      const auto* const said = pod->terms.find<api::PodResctrl>();
      if (said == nullptr || pod->group.empty() || api::with_default(pod->qos, pod->kube_qos) != Qos::be)
        continue;
      if (std::string group = pod_group(pod->uid); !group.empty()) own.emplace_back(std::move(group), said);
    }
    return own;
  }
  /// What such a group has behind this cache without the loop, at most.
  static std::int64_t percent_of(const api::PodResctrl& said, int id) {
    const auto& caches = said.mb.schemata_per_cache;
    const auto own = std::ranges::find(caches, id, &api::ResctrlPartOfCache::cache_id);
    const auto percent = own != caches.end() && own->percent ? own->percent : said.mb.schemata.percent;
    return percent.value_or(kAllPercent);
  }

  /// A path for each that there is. One that is new goes on with what an agent before has left in force.
  void follow(const host::ResctrlBandwidth& bandwidth) {
    std::erase_if(paths_, [&](const auto& one) {
      if (std::ranges::find(bandwidth.ids, one.first) != bandwidth.ids.end()) return false;
      gauges_.remove({one.second.label});
      return true;
    });
    for (const int id : bandwidth.ids) {
      Path& path = paths_[id];
      if (!path.key.empty()) continue;
      path.key = fmt::format("MB/{}", id);
      path.label = fmt::format("{}", id);
      const auto found = context_.knobs.current(host::Knob::schemata, kBestEffort, path.key);
      const auto* const text = found ? std::get_if<std::string>(&*found) : nullptr;
      std::int64_t value = 0;
      if (text == nullptr || !host::to_number(std::string_view(*text), value)) continue;
      if (const auto percent = host::bandwidth_percent(bandwidth, value)) path.steering = Steering(*percent);
    }
  }
  bool is_narrow() const {
    return std::ranges::any_of(
        paths_, [&](const auto& one) { return one.second.steering.percent().value_or(most_) < most_; });
  }

  void stop(std::string_view why) {
    for (const auto& [id, path] : paths_) gauges_.remove({path.label});
    paths_.clear();
    reading_ = 0;
    status_.active = false;
    status_.summary = why;
  }

  void follow(const std::shared_ptr<const api::NodeSloSpec>& slo) {
    if (slo == slo_) return;
    slo_ = slo;
    settings_ = {};
    wrong_.clear();
    most_ = most_of(*slo);
    if (auto settings = read_settings(slo->extensions.text)) {
      settings_ = *settings;
    } else {
      wrong_ = fmt::format("off: {}", settings.error().message());
      context_.log.warn("the NodeSLO's extension memoryBandwidth is not applied",
                        kv("error", settings.error()));
    }
  }

  /// What its class has at most; 0: it has no group.
  static std::int64_t most_of(const api::NodeSloSpec& slo) {
    const api::ResourceQosStrategy* const qos = slo.resource_qos_strategy.get();
    const api::ResourceQos* const be = qos != nullptr ? qos->be_class.get() : nullptr;
    const api::ResctrlQosConfig* const said = be != nullptr ? be->resctrl_qos.get() : nullptr;
    if (said == nullptr || !said->enable.value_or(false)) return 0;
    const std::int64_t most = said->mba_percent.value_or(kAllPercent);
    return most > 0 && most <= kAllPercent ? most : kAllPercent;
  }

  void step(const host::ResctrlBandwidth& bandwidth, const ResctrlUse& use) {
    const Terms terms{
        .capacity = static_cast<double>(settings_.capacity_megabytes) * kMegabyte,
        .target = static_cast<double>(settings_.target_percent) / kAllPercent,
        .least = std::min(settings_.min_percent, most_),
        .most = most_,
        .step = std::max(bandwidth.scale == host::BandwidthScale::percent ? bandwidth.step : 1, kFinest)};
    for (const int id : bandwidth.ids) {
      Path& path = paths_[id];
      // A class without a group has none that could be counted: who is not counted needs nothing.
      double sensitive = kUnknown;
      for (const std::size_t one : {std::size_t{0}, std::size_t{1}}) {
        const double total = use.total_of(one, id);
        if (known(total)) sensitive = known(sensitive) ? sensitive + total : total;
      }
      gauges_.with({path.label})
          .set(static_cast<double>(path.steering.step(terms, {sensitive, use.total_of(2, id)})));
    }
  }

  const PluginContext& context_;
  metrics::Family<metrics::Gauge> gauges_;
  bool hook_;             // pods may have groups of their own
  bool counted_ = false;  // there was a reading
  std::optional<MonoTime> began_;
  std::shared_ptr<const api::NodeSloSpec> slo_;  // the one that settings are of
  Settings settings_;
  std::string wrong_;
  std::int64_t most_ = 0;
  std::uint64_t reading_ = 0;
  std::map<int, Path> paths_;  // by the cache's id
  StrategyStatus status_;
};

constexpr std::string_view kGates[] = {"RdtResctrl"};

}  // namespace
}  // namespace memory_bandwidth

extern const StrategyEntry kMemoryBandwidth{
    .name = "MemoryBandwidth",
    .gates = memory_bandwidth::kGates,
    .metrics = memory_bandwidth::kMetrics,
    .make = &make<memory_bandwidth::MemoryBandwidth>,
};

}  // namespace koord::koordlet
