// CPU burst: containers that are throttled while the node has CPU to spare get a larger quota for a while,
// and where the kernel can, what they did not use before.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "framework/hooks/normalization.hpp"
#include "framework/hooks/quota_period.hpp"
#include "framework/qos/plugin.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/host/cgroup_paths.hpp"
#include "plugins/cpu_burst/formula.hpp"
#include "plugins/cpu_burst/terms.hpp"

namespace koord::koordlet {

namespace cpu_burst {
namespace {

using host::Knob;

constexpr std::string_view kBurstReason = "CPUBurst",
                           kQuotaReason = "CFSQuotaBurst";  // upstream's, in the audit
constexpr std::string_view kMayBurst = "what it did not use before it may use now";
constexpr std::string_view kThrottled = "it was throttled while others left CPU";
constexpr std::int64_t kThreshold = 50;  // percent, where the NodeSLO does not say
constexpr int kWindowPeriods = 5;
constexpr nanoseconds kLongestWindow = std::chrono::seconds(10);
constexpr std::int64_t kMostPercent = 10'000;

constexpr metrics::Labels kLabels = {"pod_namespace", "pod_name", "container_id", "container_name"};
constexpr metrics::Metric kBurst{
    .name = "koordlet_container_scaled_cfs_burst_us",
    .type = metrics::Type::gauge,
    .help = "CPU time that a container may use above its quota, in microseconds.",
    .labels = kLabels};
constexpr metrics::Metric kQuota{.name = "koordlet_container_scaled_cfs_quota_us",
                                 .type = metrics::Type::gauge,
                                 .help = "The quota of a container that was scaled up, in microseconds.",
                                 .labels = kLabels};

/// Neither has CPUs of its own nor lives of what is left.
bool is_burstable(const PodInfo& pod) {
  return pod.qos != Qos::lse && pod.qos != Qos::lsr && pod.qos != Qos::be;
}

Settings settings_of(const api::CpuBurstStrategy& node, const api::PodCpuBurst* pod) {
  Settings settings;
  const auto take = [](std::int64_t& to, std::optional<std::int64_t> from) {
    if (from) to = std::clamp<std::int64_t>(*from, 0, kMostPercent);
  };
  settings.policy = node.policy.view();
  take(settings.burst_percent, node.cpu_burst_percent);
  take(settings.quota_percent, node.cfs_quota_burst_percent);
  settings.period_seconds = node.cfs_quota_burst_period_seconds.value_or(settings.period_seconds);
  if (pod == nullptr) return settings;
  if (!pod->policy.empty()) settings.policy = pod->policy;
  take(settings.burst_percent, pod->cpu_burst_percent);
  take(settings.quota_percent, pod->cfs_quota_burst_percent);
  settings.period_seconds = pod->cfs_quota_burst_period_seconds.value_or(settings.period_seconds);
  return settings;
}

class CpuBurst final : public Strategy {
 public:
  explicit CpuBurst(const PluginContext& context)
      : context_(context), bursts_(context.metrics.gauges(kBurst)), quotas_(context.metrics.gauges(kQuota)) {}

  StrategyStatus status() const override { return status_; }

  bool look(const TickView& view) override { return is_another(*view.inventory) || decide(view) || open_; }

  void plan(const TickView& view, Plan& plan) override {
    const Inventory& inventory = *view.inventory;
    if (inventory.slo->cpu_burst_strategy.get() == nullptr) return release(inventory, plan);
    if (!inventory.pods_known) {  // what an agent before this one gave them they keep
      status_ = {false, "waiting: the pods are not known"};
      return plan.hold();
    }
    if (is_another(inventory)) follow(inventory);
    conclude();
    decide(view);
    open_ = false;
    std::size_t able = 0;
    std::size_t scaled = 0;
    for (Pod& pod : pods_) {
      pod.period = 0;
      able += pod.settings.bursts() || pod.settings.scales() ? 1 : 0;
      burst(pod, plan);
      scaled += scale(pod, plan);
      for (Container& container : pod.containers) show(pod, container);
    }
    status_.active = able > 0;
    status_.summary.clear();
    if (able > 0)
      fmt::format_to(std::back_inserter(status_.summary),
                     "{} pods may burst, {} containers have a larger quota", able, scaled);
    else
      status_.summary = "off: no pod has a policy that bursts";
  }

  void release(const Inventory&, Plan&) override {
    status_ = {false, "off: no NodeSLO, or its gate is off"};
    for (Pod& pod : pods_)
      for (Container& container : pod.containers) hide(pod, container);
  }

 private:
  /// One with a limit.
  struct Container {
    const ContainerInfo* info = nullptr;  // the pod's
    std::size_t at = 0;                   // its place in the view
    std::int64_t period = 0;              // of its quota, in us; 0: not looked at
    std::int64_t quota = 0;               // that it has, as far as is known; 0: not looked at
    std::optional<Bucket> bucket;
    std::int64_t wanted = 0;            // the quota that it is given; 0: none but its base
    std::optional<std::int64_t> burst;  // that it is given
    std::optional<std::int64_t> shown_quota, shown_burst;
  };
  struct Pod {
    std::shared_ptr<const PodInfo> info;
    Settings settings;  // its texts are the pod's and the NodeSLO's
    double ratio = 1;
    std::int64_t period = 0;
    std::vector<Container> containers;
  };

  bool is_another(const Inventory& inventory) const {
    return generation_ != inventory.generation || slo_ != inventory.slo;
  }

  /// Containers that have gone take their state with them.
  void follow(const Inventory& inventory) {
    generation_ = inventory.generation;
    slo_ = inventory.slo;
    const std::string root =
        host::kubepods_folder(inventory.driver, host::KubeQos::guaranteed, inventory.kubelet_root);
    has_burst_ = context_.knobs.original(Knob::cpu_burst, root).has_value();
    std::vector<Pod> before = std::exchange(pods_, {});
    std::map<std::string_view, Container*> known;
    for (Pod& pod : before)
      for (Container& container : pod.containers) known.emplace(container.info->id, &container);
    std::size_t at = 0;
    for (const auto& info : inventory.pods) {
      const std::size_t first = std::exchange(at, at + info->containers.size());
      if (!is_burstable(*info)) continue;
      Pod pod{.info = info,
              .settings = settings_of(*slo_->cpu_burst_strategy, info->terms.find<api::PodCpuBurst>()),
              .ratio = shared_ratio(inventory, context_.gates, *info)};
      for (std::size_t i = 0; i < info->containers.size(); ++i) {
        const ContainerInfo& one = info->containers[i];
        if (!one.cpu_limit_milli || *one.cpu_limit_milli <= 0) continue;
        Container container;
        if (const auto old = known.extract(one.id)) container = std::exchange(*old.mapped(), {});
        container.info = &one;
        container.at = first + i;
        container.period = 0;
        pod.containers.push_back(container);
      }
      pods_.push_back(std::move(pod));
    }
    for (Pod& pod : before)
      for (Container& container : pod.containers)
        if (container.info != nullptr) hide(pod, container);
  }

  // --- what is shown

  static void show_one(const metrics::Family<metrics::Gauge>& family, const Pod& pod,
                       const Container& container, std::optional<std::int64_t> value,
                       std::optional<std::int64_t>& shown) {
    if (shown == value) return;
    shown = value;
    const std::initializer_list<std::string_view> labels = {pod.info->ns, pod.info->name,
                                                            container.info->full_id, container.info->name};
    if (value)
      family.with(labels).set(static_cast<double>(*value));
    else
      family.remove(labels);
  }
  void show(const Pod& pod, Container& container) {
    const auto quota = container.wanted != 0 ? std::optional(container.wanted) : std::nullopt;
    show_one(quotas_, pod, container, quota, container.shown_quota);
    show_one(bursts_, pod, container, container.burst, container.shown_burst);
  }
  void hide(const Pod& pod, Container& container) {
    show_one(quotas_, pod, container, std::nullopt, container.shown_quota);
    show_one(bursts_, pod, container, std::nullopt, container.shown_burst);
  }

  // --- the kernel's burst

  void burst(Pod& pod, Plan& plan) {
    std::int64_t sum = 0;
    bool open = false;  // until it is decided
    for (Container& container : pod.containers) {
      container.burst.reset();
      if (!pod.settings.bursts() || !has_burst_) continue;
      const std::int64_t limit = *container.info->cpu_limit_milli;
      const std::string& group = container.info->group;
      std::int64_t us = in_period(burst_us(pod.settings, limit), period_of(container));
      // Upstream's kernel takes no more than the quota, and no quota below the burst; Anolis' takes all.
      // Which of both this is the first container tells whose burst would be larger than its quota is, and
      // will be with the next writes.
      const std::int64_t base = base_of(container, pod.ratio);
      if (!decided_ && us > base) {
        open = true;
        if (probed_.empty() && us > container.wanted && exceeds_quota(group, us)) {
          probed_ = group;
          probed_us_ = us;
        }
      }
      if (capped_ || (!decided_ && probed_ != group)) us = std::min(us, base);
      plan.want(Knob::cpu_burst, group, us, kMayBurst).audit_reason = kBurstReason;
      sum += us;
      container.burst = us;
    }
    open_ = open_ || open;
    // Its containers' quotas may be more than its own: each is rounded up.
    if ((capped_ || !decided_) && pod.info->cpu_limit_milli) sum = std::min(sum, quota_of(pod));
    if (open || sum == 0) return;
    plan.want(Knob::cpu_burst, pod.info->group, sum, kMayBurst).audit_reason = kBurstReason;
  }

  bool exceeds_quota(std::string_view group, std::int64_t us) const {
    const auto found = context_.knobs.current(Knob::cpu_quota, group);
    const auto* const quota = found ? std::get_if<std::int64_t>(&*found) : nullptr;
    return quota != nullptr && *quota > 0 && us > *quota;
  }

  /// In the tick after the one in which the first container was named. A write that has not been made, or
  /// whose container has gone, decides nothing.
  void conclude() {
    if (decided_ || probed_.empty()) return;
    const std::string group = std::exchange(probed_, {});
    const auto error = context_.knobs.refused(Knob::cpu_burst, group);
    const auto found = context_.knobs.current(Knob::cpu_burst, group);
    capped_ = error && error->code() == Code::invalid;
    decided_ = capped_ || (found && *found == KnobValue(probed_us_));
  }

  // --- quotas

  /// Which quotas containers shall have now; whether one is another than before. Once a tick.
  bool decide(const TickView& view) {
    if (decided_at_ == view.at) return false;
    decided_at_ = view.at;
    node_.reset();
    bool changed = false;
    for (Pod& pod : pods_) {
      const std::size_t behind = pod.containers.empty() ? 0 : pod.containers.back().at + 1;
      if (behind > view.containers.size()) break;
      for (Container& container : pod.containers) {
        const std::int64_t next = pod.settings.scales() ? next_of(view, pod, container) : 0;
        changed = std::exchange(container.wanted, next) != next || changed;
      }
    }
    return changed;
  }

  /// The container's next quota; 0: its base, to which normalization or the journal sets it back. What grows
  /// is the quota that CPU normalization leaves; what sets it free is the one of the spec.
  std::int64_t next_of(const TickView& view, const Pod& pod, Container& container) {
    const std::int64_t limit = *container.info->cpu_limit_milli;
    const Operation wanted = wish_of(view, limit, pod.settings, container);
    // The steady state of most: at its base, and it stays there.
    if (container.quota != 0 && container.wanted == 0 && wanted != Operation::up) return 0;
    container.period = 0;  // the quota that is read below is of the one that is there now
    const std::int64_t spec = spec_of(container), base = base_of(container, pod.ratio);
    const Operation operation = allowed(wanted, node_state_of(view));
    if (container.quota != 0 && container.wanted == 0 && operation != Operation::up) return 0;
    const auto found = context_.knobs.current(Knob::cpu_quota, container.info->group);
    const auto* present = found ? std::get_if<std::int64_t>(&*found) : nullptr;
    container.quota = present ? *present : 0;
    if (!present || *present == host::kUnlimited) return 0;  // it has gone, or nobody holds it back
    // The spec's is of the kubelet, not grown, while normalization has not had its turn.
    const bool fresh = *present == spec && container.wanted != spec;
    const std::int64_t next = next_quota(fresh ? base : *present, base, operation, pod.settings);
    return next > base ? next : 0;
  }

  static Operation wish_of(const TickView& view, std::int64_t limit_milli, const Settings& settings,
                           Container& container) {
    const Usage& usage = view.containers[container.at];
    if (settings.period_seconds >= 0) {
      if (settings.quota_percent < 100) return Operation::down;
      if (!container.bucket) container.bucket.emplace(settings, view.at);
      const double used = known(usage.cpu) ? usage.cpu * 1000 / static_cast<double>(limit_milli) * 100 : 100;
      if (!container.bucket->allow(settings, used, view.at)) return Operation::down;
    }
    return known(usage.throttled) && usage.throttled > 0 ? Operation::up : Operation::remain;
  }

  NodeState node_state_of(const TickView& view) {
    if (node_) return *node_;
    node_ = NodeState::unknown;
    const nanoseconds window =
        std::min(kWindowPeriods * std::max(context_.seconds("reconcile-interval-seconds"), view.interval),
                 kLongestWindow);
    const auto average = [&](Metric metric, std::string_view entity) {
      return context_.series.aggregate(metric, entity, view.at, window);
    };
    const auto node = average(Metric::node_cpu, "");
    const auto topology = context_.topology();
    if (!node || !topology || topology->cpus.empty()) return *node_;
    double used = node->avg;
    auto shared = static_cast<double>(topology->cpus.size());
    for (const auto& pod : view.inventory->all_pods)
      if (pod->qos == Qos::lse || pod->qos == Qos::lsr)
        shared -= static_cast<double>(pod->requests.cpu) / 1000;
    for (const auto& pod : view.inventory->pods)
      if (!is_burstable(*pod))
        if (const auto one = average(Metric::pod_cpu, pod->uid)) used -= one->avg;
    node_ =
        node_state(used, shared, slo_->cpu_burst_strategy->share_pool_threshold_percent.value_or(kThreshold));
    return *node_;
  }

  /// How many containers have a larger quota now.
  std::size_t scale(Pod& pod, Plan& plan) {
    std::size_t scaled = 0;
    std::int64_t more = 0;
    for (Container& container : pod.containers) {
      if (container.wanted == 0) continue;
      const std::int64_t spec = spec_of(container);
      ++scaled;
      const std::int64_t grown = container.wanted - base_of(container, pod.ratio);
      more += period_of(pod) == period_of(container)
                  ? grown
                  : static_cast<std::int64_t>(static_cast<double>(grown) /
                                              static_cast<double>(period_of(container)) *
                                              static_cast<double>(period_of(pod)));
      Intent& intent = plan.want(Knob::cpu_quota, container.info->group, container.wanted, kThrottled);
      intent.undo = spec;
      intent.audit_reason = kQuotaReason;
    }
    if (more == 0 || !pod.info->cpu_limit_milli) return scaled;
    Intent& intent = plan.want(Knob::cpu_quota, pod.info->group, quota_of(pod) + more, kThrottled);
    intent.undo = in_period(base_quota(*pod.info->cpu_limit_milli), period_of(pod));
    intent.audit_reason = kQuotaReason;
    return scaled;
  }

  /// That of a pod that has one, while no container of it grows. In cgroup v1 it keeps the whole of it: see
  /// CPU normalization.
  std::int64_t quota_of(Pod& pod) {
    const std::int64_t spec = in_period(base_quota(*pod.info->cpu_limit_milli), period_of(pod));
    return context_.cgroup_version == host::CgroupVersion::v1 ? spec : normalized_quota(spec, pod.ratio);
  }

  /// Quotas are of the group's own period, which an update of the container may change: it is looked at again
  /// with each quota that is read, and for each plan of a pod's.
  std::int64_t period_of(Container& container) { return period_of(container.period, container.info->group); }
  std::int64_t period_of(Pod& pod) { return period_of(pod.period, pod.info->group); }
  std::int64_t period_of(std::int64_t& seen, std::string_view group) const {
    if (seen == 0) seen = quota_period(context_.knobs, group).value_or(0);
    return seen != 0 ? seen : host::kDefaultPeriodUs;
  }
  std::int64_t spec_of(Container& container) {
    return in_period(base_quota(*container.info->cpu_limit_milli), period_of(container));
  }
  std::int64_t base_of(Container& container, double ratio) {
    return normalized_quota(spec_of(container), ratio);
  }

  const PluginContext& context_;
  metrics::Family<metrics::Gauge> bursts_, quotas_;
  StrategyStatus status_;
  std::uint64_t generation_ = 0;
  std::shared_ptr<const api::NodeSloSpec> slo_;
  std::vector<Pod> pods_;   // that may burst, as the inventory has them
  bool has_burst_ = false;  // the kernel has cpu.cfs_burst_us
  /// Whether this kernel takes no burst above the quota; decided by how it takes the first one.
  bool decided_ = false, capped_ = false;
  bool open_ = false;   // it is not, and a container waits for it
  std::string probed_;  // the group of the one that tells, and what it is given
  std::int64_t probed_us_ = 0;
  std::optional<MonoTime> decided_at_;  // the tick of the quotas
  std::optional<NodeState> node_;       // of that tick; nothing: not asked for yet
};

constexpr std::string_view kGates[] = {"CPUBurst"};
constexpr metrics::Table kMetrics = {&kBurst, &kQuota};

}  // namespace
}  // namespace cpu_burst

extern const StrategyEntry kCpuBurst{
    .name = "CPUBurst",
    .gates = cpu_burst::kGates,
    .interval = "reconcile-interval-seconds",
    .replan = Replan::on_change,
    .metrics = cpu_burst::kMetrics,
    .terms = &read_burst_terms,
    .make = &make<cpu_burst::CpuBurst>,
};

}  // namespace koord::koordlet
