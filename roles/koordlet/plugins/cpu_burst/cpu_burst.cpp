// CPU burst: containers that are throttled while the node has CPU to spare get a larger quota for a while,
// and where the kernel can, what they did not use before.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "framework/hooks/normalization.hpp"
#include "framework/qos/plugin.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/host/cgroup_paths.hpp"
#include "plugins/cpu_burst/formula.hpp"

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

Settings settings_of(const api::CpuBurstStrategy& node, const BurstTerms* pod) {
  Settings settings;
  const auto take = [](std::int64_t& to, std::optional<std::int64_t> from) {
    if (from) to = std::min(*from, kMostPercent);
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

  void plan(const TickView& view, Plan& plan) override {
    const Inventory& inventory = *view.inventory;
    const api::CpuBurstStrategy* slo = inventory.slo->cpu_burst_strategy.get();
    if (slo == nullptr) return release(inventory, plan);
    if (std::exchange(generation_, inventory.generation) != inventory.generation) follow(inventory);
    node_.reset();
    conclude();
    std::size_t index = 0;
    std::size_t scaled = 0;
    std::size_t able = 0;
    for (const auto& pod : inventory.pods) {
      const std::size_t first = std::exchange(index, index + pod->containers.size());
      if (!is_burstable(*pod)) continue;
      const Settings settings = settings_of(*slo, pod->burst.get());
      if (index > view.containers.size()) break;
      const auto usage = view.containers.subspan(first, pod->containers.size());
      able += settings.bursts() || settings.scales() ? 1 : 0;
      const double ratio = shared_ratio(inventory, context_.gates, *pod);
      if (settings.bursts() && has_burst_) burst(*pod, settings, ratio, plan);
      if (settings.scales()) scaled += scale(view, *slo, *pod, settings, usage, ratio, plan);
    }
    forget_unmarked();
    status_ = {able > 0,
               able == 0 ? "off: no pod has a policy that bursts"
                         : fmt::format("{} pods may burst, {} containers have a larger quota", able, scaled)};
  }

  void release(const Inventory&, Plan&) override {
    status_ = {false, "off: no NodeSLO, or its gate is off"};
    forget_unmarked();
  }

 private:
  struct State {
    std::string ns, pod, container, full_id;
    std::string group;
    std::int64_t quota = 0;  // that it has, as far as is known; 0: not looked at
    std::optional<Bucket> bucket;
    std::int64_t wanted = 0;  // that it was given last; 0: none but its base
    bool scaled = false, shown_quota = false, shown_burst = false;
    bool marked_quota = false, marked_burst = false;  // of this tick
  };

  /// Containers that have gone take their state with them.
  void follow(const Inventory& inventory) {
    const std::string root =
        host::kubepods_folder(inventory.driver, host::KubeQos::guaranteed, inventory.kubelet_root);
    has_burst_ = context_.knobs.original(Knob::cpu_burst, root).has_value();
    std::map<std::string, State, std::less<>> before = std::exchange(states_, {});
    for (const auto& pod : inventory.pods) {
      if (!is_burstable(*pod)) continue;
      for (const ContainerInfo& container : pod->containers) {
        if (!container.cpu_limit_milli || *container.cpu_limit_milli <= 0) continue;
        const auto old = before.find(container.id);
        if (old == before.end()) {
          states_[container.id] = {.ns = pod->ns,
                                   .pod = pod->name,
                                   .container = container.name,
                                   .full_id = container.full_id,
                                   .group = container.group};
          continue;
        }
        states_.insert(before.extract(old));
      }
    }
    for (auto& [id, gone] : before) hide(gone);
  }

  void hide(State& state) {
    if (std::exchange(state.shown_quota, false))
      quotas_.remove({state.ns, state.pod, state.full_id, state.container});
    if (std::exchange(state.shown_burst, false))
      bursts_.remove({state.ns, state.pod, state.full_id, state.container});
  }

  /// Shows what this tick wants, and hides what it does not.
  void forget_unmarked() {
    for (auto& [id, state] : states_) {
      if (!std::exchange(state.marked_quota, false) && std::exchange(state.shown_quota, false))
        quotas_.remove({state.ns, state.pod, state.full_id, state.container});
      if (!std::exchange(state.marked_burst, false) && std::exchange(state.shown_burst, false))
        bursts_.remove({state.ns, state.pod, state.full_id, state.container});
    }
  }

  void burst(const PodInfo& pod, const Settings& settings, double ratio, Plan& plan) {
    std::int64_t sum = 0;
    bool open = false;  // until it is decided
    for (const ContainerInfo& container : pod.containers) {
      const auto it = states_.find(container.id);
      if (it == states_.end()) continue;
      const std::int64_t limit = *container.cpu_limit_milli;
      std::int64_t us = burst_us(settings, limit);
      // Upstream's kernel takes no more than the quota, and no quota below the burst; Anolis' takes all.
      // Which of both this is the first container tells whose burst would be larger than its quota is now.
      const std::int64_t base = normalized_quota(base_quota(limit), ratio);
      if (!decided_ && us > base) {
        open = true;
        if (probed_.empty() && exceeds_quota(container.group, us)) probed_ = container.group;
      }
      if (capped_ || (!decided_ && probed_ != container.group)) us = std::min(us, base);
      Intent& intent = plan.want(Knob::cpu_burst, container.group, us, kMayBurst);
      intent.audit_reason = kBurstReason;
      sum += us;
      State& state = it->second;
      state.marked_burst = state.shown_burst = true;
      bursts_.with({state.ns, state.pod, state.full_id, state.container}).set(static_cast<double>(us));
    }
    if (open || sum == 0) return;
    Intent& intent = plan.want(Knob::cpu_burst, pod.group, sum, kMayBurst);
    intent.audit_reason = kBurstReason;
  }

  bool exceeds_quota(std::string_view group, std::int64_t us) const {
    const auto found = context_.knobs.current(Knob::cpu_quota, group);
    const auto* const quota = found ? std::get_if<std::int64_t>(&*found) : nullptr;
    return quota != nullptr && *quota > 0 && us > *quota;
  }

  /// In the tick after the one in which the first container was named.
  void conclude() {
    if (decided_ || probed_.empty()) return;
    const bool present = std::any_of(states_.begin(), states_.end(),
                                     [&](const auto& one) { return one.second.group == probed_; });
    const auto error = context_.knobs.refused(Knob::cpu_burst, std::exchange(probed_, {}));
    if (!present) return;
    decided_ = true;
    capped_ = error && error->code() == Code::invalid;
  }

  NodeState node_state_of(const TickView& view, const api::CpuBurstStrategy& slo) {
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
    node_ = node_state(used, shared, slo.share_pool_threshold_percent.value_or(kThreshold));
    return *node_;
  }

  /// How many containers have a larger quota now. What grows is the quota that CPU normalization leaves; what
  /// sets it free is the one of the spec.
  std::size_t scale(const TickView& view, const api::CpuBurstStrategy& slo, const PodInfo& pod,
                    const Settings& settings, std::span<const Usage> usage, double ratio, Plan& plan) {
    std::size_t scaled = 0;
    std::int64_t more = 0;
    for (std::size_t i = 0; i < pod.containers.size(); ++i) {
      const ContainerInfo& container = pod.containers[i];
      const auto it = states_.find(container.id);
      if (it == states_.end()) continue;
      State& state = it->second;
      const std::int64_t spec = base_quota(*container.cpu_limit_milli);
      const std::int64_t base = normalized_quota(spec, ratio);
      const Operation operation = allowed(wanted(view, *container.cpu_limit_milli, settings, usage[i], state),
                                          node_state_of(view, slo));
      // The steady state of most: at its base, and it stays there.
      if (state.quota != 0 && !state.scaled && operation != Operation::up) continue;
      const auto found = context_.knobs.current(Knob::cpu_quota, container.group);
      const auto* present = found ? std::get_if<std::int64_t>(&*found) : nullptr;
      state.quota = present ? *present : 0;
      state.scaled = false;
      const std::int64_t before = std::exchange(state.wanted, 0);
      if (!present || *present == host::kUnlimited) continue;  // it has gone, or nobody holds it back
      // The spec's is of the kubelet, not grown, while normalization has not had its turn.
      const bool fresh = *present == spec && before != spec;
      const std::int64_t next = next_quota(fresh ? base : *present, base, operation, settings);
      if (next <= base) continue;  // normalization or the journal sets it back
      state.scaled = true;
      state.wanted = next;
      ++scaled;
      more += next - base;
      Intent& intent = plan.want(Knob::cpu_quota, container.group, next, kThrottled);
      intent.undo = spec;
      intent.audit_reason = kQuotaReason;
      state.marked_quota = state.shown_quota = true;
      quotas_.with({state.ns, state.pod, state.full_id, state.container}).set(static_cast<double>(next));
    }
    if (more == 0 || !pod.cpu_limit_milli) return scaled;
    const std::int64_t spec = base_quota(*pod.cpu_limit_milli);
    // In cgroup v1 the pod keeps the whole of it: see CPU normalization.
    const bool whole = context_.cgroup_version == host::CgroupVersion::v1;
    const std::int64_t base = whole ? spec : normalized_quota(spec, ratio);
    Intent& intent = plan.want(Knob::cpu_quota, pod.group, base + more, kThrottled);
    intent.undo = spec;
    intent.audit_reason = kQuotaReason;
    return scaled;
  }

  static Operation wanted(const TickView& view, std::int64_t limit_milli, const Settings& settings,
                          const Usage& usage, State& state) {
    if (settings.period_seconds >= 0) {
      if (settings.quota_percent < 100) return Operation::down;
      if (!state.bucket) state.bucket.emplace(settings, view.at);
      const double used = known(usage.cpu) ? usage.cpu * 1000 / static_cast<double>(limit_milli) * 100 : 100;
      if (!state.bucket->allow(settings, used, view.at)) return Operation::down;
    }
    return known(usage.throttled) && usage.throttled > 0 ? Operation::up : Operation::remain;
  }

  const PluginContext& context_;
  metrics::Family<metrics::Gauge> bursts_, quotas_;
  StrategyStatus status_;
  std::uint64_t generation_ = 0;
  bool has_burst_ = false;  // the kernel has cpu.cfs_burst_us
  /// Whether this kernel takes no burst above the quota; decided by how it takes the first one.
  bool decided_ = false, capped_ = false;
  std::string probed_;                                // the group of that one
  std::map<std::string, State, std::less<>> states_;  // by container's id
  std::optional<NodeState> node_;                     // of this tick; nothing: not asked for yet
};

constexpr std::string_view kGates[] = {"CPUBurst"};
constexpr metrics::Table kMetrics = {&kBurst, &kQuota};

}  // namespace
}  // namespace cpu_burst

extern const StrategyEntry kCpuBurst{
    .name = "CPUBurst",
    .gates = cpu_burst::kGates,
    .interval = "reconcile-interval-seconds",
    .metrics = cpu_burst::kMetrics,
    .make = &make<cpu_burst::CpuBurst>,
};

}  // namespace koord::koordlet
