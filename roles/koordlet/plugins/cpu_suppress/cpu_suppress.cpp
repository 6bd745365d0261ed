// CPU suppression: what latency-sensitive work, the system and reservations leave of the node's CPUs below a
// threshold is what best-effort work may have, as a quota (cfsQuota) or as a set of CPUs (cpuset).
#include <fmt/format.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/qos/plugin.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/host/cgroup_paths.hpp"
#include "plugins/cpu_suppress/formula.hpp"

namespace koord::koordlet {

namespace cpu_suppress {
namespace {

using host::CpuSet;
using host::Knob;

constexpr std::string_view kAdjust = "AdjustBEByNodeCPUUsage";  // upstream's names in the audit
constexpr std::string_view kRecover = "suppressBECPU";
constexpr std::string_view kCpusetPolicy = "cpuset";
constexpr std::string_view kQuotaPolicy = "cfsQuota";
constexpr int kPods = 1, kContainers = 2;  // levels below the best-effort root
/// How many ticks in a row may miss a reading before their sums count although they take from somebody: by
/// then what cannot be read has gone.
constexpr int kPatience = 3;
constexpr nanoseconds kRecoverContainers = std::chrono::seconds(60);
constexpr int kHungryPercent = 90;
constexpr std::int64_t kLeastShares = 2;
constexpr std::string_view kBlind = "what the node uses, or who uses it, has not been known for long";

/// A group that holds best-effort work.
struct BeGroup {
  std::string_view group;
  bool kubernetes = false;  // the kubelet's: nobody else limits it
  double used_milli = kUnknown;
};

struct Pools {
  std::vector<host::CpuPlace> lsr, ls;  // CPUs of LSR pods, and those of nobody
  CpuSet best_effort;                   // all that best-effort work may ever have
  /// The same and what the kubelet gave out: for folders whose containers the kubelet keeps off those itself.
  CpuSet folders;
};

struct Settings {
  bool enabled = false;
  bool by_quota = false;
  std::int64_t threshold_percent = -1;
  std::optional<std::int64_t> min_percent;
  std::string_view nonsense;  // why a NodeSLO that enables it is not obeyed
};

Settings settings_of(const api::NodeSloSpec& slo) {
  Settings settings;
  if (!slo.resource_used_threshold_with_be) return settings;
  const api::ResourceThresholdStrategy& strategy = *slo.resource_used_threshold_with_be;
  settings.enabled = strategy.enable.value_or(false);
  settings.by_quota = strategy.cpu_suppress_policy == kQuotaPolicy;
  settings.threshold_percent = strategy.cpu_suppress_threshold_percent.value_or(settings.threshold_percent);
  settings.min_percent = strategy.cpu_suppress_min_percent;
  const auto is_percent = [](std::int64_t value) { return value >= 0 && value <= 100; };
  if (!is_percent(settings.threshold_percent))
    settings.nonsense = "cpuSuppressThresholdPercent is not between 0 and 100";
  else if (settings.min_percent && !is_percent(*settings.min_percent))
    settings.nonsense = "cpuSuppressMinPercent is not between 0 and 100";
  return settings;
}

std::string_view parent_of(std::string_view group) {
  const auto slash = group.rfind('/');
  return slash == std::string_view::npos ? std::string_view{} : group.substr(0, slash);
}

constexpr metrics::Metric kCores{.name = "koordlet_be_suppress_cpu_cores",
                                 .type = metrics::Type::gauge,
                                 .help = "CPUs that best-effort work is limited to, by policy.",
                                 .labels = {"type"}};
constexpr metrics::Metric kLsUsed{.name = "koordlet_be_suppress_ls_used_cpu_cores",
                                  .type = metrics::Type::gauge,
                                  .help = "CPUs that latency-sensitive pods use."};
constexpr metrics::Metric kBeUsed{.name = "koordlet_be_suppress_be_used_cpu_cores",
                                  .type = metrics::Type::gauge,
                                  .help = "CPUs that best-effort work uses."};

class CpuSuppress final : public Strategy {
 public:
  explicit CpuSuppress(const PluginContext& context)
      : context_(context),
        cores_(context.metrics.gauges(kCores)),
        ls_used_(context.metrics.gauge(kLsUsed)),
        be_used_(context.metrics.gauge(kBeUsed)),
        recover_containers_until_(context.clock.mono() + kRecoverContainers) {}

  StrategyStatus status() const override { return status_; }

  void plan(const TickView& view, Plan& plan) override {
    const Inventory& inventory = *view.inventory;
    topology_ = context_.topology();
    groups_of(inventory, view.best_effort, view.host_applications);
    pools_of(inventory);
    if (known(view.best_effort.usage_milli)) be_used_.set(view.best_effort.usage_milli / 1000);

    const Settings settings = settings_of(*inventory.slo);
    if (!settings.enabled || !settings.nonsense.empty()) {
      neutral_ = false;
      idle(settings.enabled ? settings.nonsense : "off: the NodeSLO does not enable it");
      free_quota(plan);
      free_cpus(inventory, plan);
    } else {
      suppress(view, settings, plan);
    }
  }

  void release(const Inventory& inventory, Plan& plan) override {
    look_at(inventory);
    idle("off: no NodeSLO, or its gate is off");
    recover_containers_until_ = context_.clock.mono() + kRecoverContainers;
    free_quota(plan);
    free_cpus(inventory, plan);
  }

  void neutral(const TickView& view, Plan& plan) override {
    const Inventory& inventory = *view.inventory;
    look_at(inventory);
    if (!std::exchange(neutral_, true))
      recover_containers_until_ = context_.clock.mono() + kRecoverContainers;
    const Settings settings = inventory.slo ? settings_of(*inventory.slo) : Settings{};
    const bool wanted = !inventory.slo || (settings.enabled && settings.nonsense.empty());
    const std::int64_t percent = settings.min_percent.value_or(0);
    if (wanted && percent > 0 && capacity_milli_ > 0) {
      const std::string reason = fmt::format("{}% of the node's CPUs, the minimum: {}", percent, kBlind);
      status_ = {true, fmt::format("neutral: {}", reason)};
      may_tighten_ = true;
      const bool too_few = pools_.lsr.size() + pools_.ls.size() < std::size_t{kMinCpus};
      limit({.milli = capacity_milli_ * percent / 100}, settings.by_quota || too_few, inventory,
            reason.c_str(), plan);
      return;
    }
    idle(fmt::format("neutral: no limit but the lowest weight: {}", kBlind));
    free_quota(plan);
    free_cpus(inventory, plan);
    if (!wanted) return;
    for (const BeGroup& group : groups_) {
      Intent& intent = plan.want(Knob::cpu_shares, group.group, kLeastShares, status_.summary);
      if (group.kubernetes) intent.undo = kLeastShares;  // which is what the kubelet gives it
    }
  }

 private:
  void suppress(const TickView& view, const Settings& settings, Plan& plan) {
    const Inventory& inventory = *view.inventory;
    if (!known(view.node.cpu) || !inventory.pods_known || inventory.node.capacity_milli_cpu <= 0 ||
        (inventory.pods.empty() && inventory.host_applications.empty())) {
      status_.summary = "waiting: the node, its pods or what they use are not known yet";
      plan.hold();
      return;
    }
    const Budget budget =
        cpu_suppress::budget(load_of(view), settings.threshold_percent, settings.min_percent);
    neutral_ = false;
    ls_used_.set(budget.pods_used);
    incomplete_ = view.complete ? 0 : incomplete_ + 1;
    may_tighten_ = incomplete_ == 0 || incomplete_ > kPatience;

    char reason[160];
    std::snprintf(reason, sizeof reason,
                  "%.2f CPUs for best-effort: %" PRId64
                  "%% of %.2f, less latency-sensitive %.2f, system %.2f",
                  static_cast<double>(budget.milli) / 1000, settings.threshold_percent,
                  static_cast<double>(capacity_milli_) / 1000,
                  budget.pods_used + budget.host_applications_used, budget.system_used);
    status_.active = true;
    status_.summary = fmt::format("{}: {}", settings.by_quota ? kQuotaPolicy : kCpusetPolicy, reason);
    limit(budget, settings.by_quota, inventory, reason, plan);
  }

  void limit(const Budget& budget, bool by_quota, const Inventory& inventory, const char* reason,
             Plan& plan) {
    if (by_quota) {
      cores_.remove({kCpusetPolicy});
      limit_quota(budget, reason, plan);
      free_cpus(inventory, plan);
    } else {
      cores_.remove({kQuotaPolicy});
      limit_cpus(budget, inventory, reason, plan);
      free_quota(plan);
    }
  }

  void idle(std::string_view why) {
    status_.active = false;
    status_.summary = why;
    incomplete_ = 0;
    cores_.remove({kCpusetPolicy});
    cores_.remove({kQuotaPolicy});
  }

  // --- what there is

  /// Without what a tick has measured.
  void look_at(const Inventory& inventory) {
    topology_ = context_.topology();
    groups_of(inventory, {}, {});
    pools_of(inventory);
  }

  void groups_of(const Inventory& inventory, const BestEffortUse& best_effort,
                 std::span<const Usage> applications) {
    const std::string kubelets =
        host::kubepods_folder(inventory.driver, host::KubeQos::besteffort, inventory.kubelet_root);
    groups_.clear();
    for (const std::string& root : inventory.be_roots) {
      BeGroup group{.group = root, .kubernetes = root == kubelets};
      if (group.kubernetes || inventory.be_roots.size() == 1) group.used_milli = best_effort.usage_milli;
      for (std::size_t i = 0; i < applications.size(); ++i)
        if (inventory.host_applications[i].group == root) group.used_milli = applications[i].cpu * 1000;
      groups_.push_back(group);
    }
  }

  Load load_of(const TickView& view) const {
    const Inventory& inventory = *view.inventory;
    Load load;
    load.node_cpu = view.node.cpu;
    load.capacity_milli = capacity_milli_;
    load.reserved_milli = std::max(inventory.node.capacity_milli_cpu - inventory.node.allocatable_milli_cpu,
                                   inventory.node.reserved_milli_cpu);
    // A best-effort pod that the kubelet has not named yet is in its root, and not the system's.
    if (known(view.best_effort.usage_milli)) load.best_effort_cpu = view.best_effort.usage_milli / 1000;
    // What cannot be read is part of what the system uses.
    for (std::size_t i = 0; i < view.pods.size(); ++i) {
      const PodInfo& pod = *inventory.pods[i];
      if (known(view.pods[i].cpu))
        load.pods.push_back({view.pods[i].cpu, pod.is_be(), inventory.in_best_effort(pod.group)});
    }
    for (std::size_t i = 0; i < view.host_applications.size(); ++i) {
      const HostApplication& application = inventory.host_applications[i];
      if (!known(view.host_applications[i].cpu)) continue;
      const bool inside = inventory.in_best_effort(application.group);
      load.host_applications.push_back(
          {view.host_applications[i].cpu, inside && application.qos == Qos::be, inside});
    }
    return load;
  }

  void pools_of(const Inventory& inventory) {
    pools_ = {};
    capacity_milli_ = inventory.node.capacity_milli_cpu;
    if (!topology_) return;
    // The kubelet counts the CPUs when it starts; some may be offline by now.
    capacity_milli_ = std::min(capacity_milli_, std::int64_t{1000} * topology_->online.size());
    const OwnCpus& own = inventory.own_cpus;
    pools_.folders =
        topology_->online - own.lse - inventory.node.reserved_cpus - inventory.node.system_qos_cpus;
    pools_.best_effort = pools_.folders - own.kubelet;
    for (const host::CpuPlace& cpu : topology_->cpus)
      if (pools_.best_effort.contains(cpu.cpu))
        (own.lsr.contains(cpu.cpu) ? pools_.lsr : pools_.ls).push_back(cpu);
  }

  std::optional<std::int64_t> number(Knob knob, std::string_view group) const {
    const auto value = context_.knobs.current(knob, group);
    if (!value || !std::holds_alternative<std::int64_t>(*value)) return std::nullopt;
    return std::get<std::int64_t>(*value);
  }
  std::optional<CpuSet> cpus(std::string_view group) const {
    auto value = context_.knobs.current(Knob::cpuset_cpus, group);
    if (!value || !std::holds_alternative<CpuSet>(*value)) return std::nullopt;
    return std::get<CpuSet>(std::move(*value));
  }

  // --- quota

  void limit_quota(const Budget& budget, const char* reason, Plan& plan) {
    struct Present {
      const BeGroup* group;
      std::int64_t quota, period;
    };
    std::vector<Present> present;
    std::vector<Claim> claims;
    std::int64_t sum = 0;
    for (const BeGroup& group : groups_) {
      const auto quota = number(Knob::cpu_quota, group.group);
      const auto period = number(Knob::cpu_period, group.group);
      if (!quota) continue;  // there is no such group yet
      Present p{&group, *quota, period && *period > 0 ? *period : host::kDefaultPeriodUs};
      if (p.quota > 0) p.quota = p.quota * host::kDefaultPeriodUs / p.period;
      if (p.quota == host::kUnlimited || sum == host::kUnlimited)
        sum = host::kUnlimited;
      else
        sum += p.quota;
      Claim claim;
      claim.used_us = known(group.used_milli) ? static_cast<std::int64_t>(group.used_milli * 100) : 0;
      claim.hungry = !known(group.used_milli) || p.quota == host::kUnlimited ||
                     claim.used_us * 100 >= p.quota * kHungryPercent;
      if (!group.kubernetes) claim.most_us = original_quota(group.group, p.period);
      present.push_back(p);
      claims.push_back(claim);
    }
    if (present.empty()) {
      status_.summary += "; no best-effort group exists";
      return;
    }
    std::int64_t next = next_quota(budget.milli, sum, capacity_milli_,
                                   kMinQuotaUs * static_cast<std::int64_t>(present.size()));
    if (!may_tighten_ && (sum == host::kUnlimited || next < sum)) {
      status_.summary += "; held: not everything could be read";
      plan.hold();
      return;
    }
    const bool same = next == sum && present.size() == 1;
    const std::vector<std::int64_t> shares = share_out(next, claims);
    const std::int64_t small = capacity_milli_;  // 1% of the node's CPUs, in us per 100 ms
    std::int64_t total = 0;
    for (std::size_t i = 0; i < present.size(); ++i) {
      std::int64_t share = shares[i];
      const std::int64_t had = present[i].quota;
      if (same || (had != host::kUnlimited && had <= share && share - had < small && next >= sum))
        share = had;
      total += share;
      const std::int64_t value =
          std::max<std::int64_t>(share * present[i].period / host::kDefaultPeriodUs, 1000);
      Intent& intent = plan.want(Knob::cpu_quota, present[i].group->group, value, reason);
      intent.audit_reason = kAdjust;
      if (present[i].group->kubernetes) intent.undo = host::kUnlimited;
    }
    cores_.with({kQuotaPolicy}).set(static_cast<double>(total) / static_cast<double>(host::kDefaultPeriodUs));
  }

  std::optional<std::int64_t> original_quota(std::string_view group, std::int64_t period) const {
    const auto value = context_.knobs.original(Knob::cpu_quota, group);
    if (!value || !std::holds_alternative<std::int64_t>(*value)) return std::nullopt;
    const std::int64_t quota = std::get<std::int64_t>(*value);
    if (quota <= 0) return std::nullopt;
    return quota * host::kDefaultPeriodUs / period;
  }

  void free_quota(Plan& plan) const {
    for (const BeGroup& group : groups_) {
      if (!group.kubernetes) continue;  // not wanted any more: the manager's journal knows what was there
      Intent& intent = plan.want(Knob::cpu_quota, group.group, host::kUnlimited, "no quota is wanted");
      intent.audit_reason = kRecover;
      intent.undo = host::kUnlimited;
    }
  }

  // --- CPUs

  /// The levels below a root to which CPUs are written. A v1 group has to give up CPUs before its parent can;
  /// in v2 it is enough that the parent does, but the containers' files show it then.
  int deepest() const {
    return context_.cgroup_version == host::CgroupVersion::v1 ? Reach::kAll : kContainers;
  }

  void limit_cpus(const Budget& budget, const Inventory& inventory, const char* reason, Plan& plan) {
    if (!topology_) {
      status_.summary += "; waiting: the machine's CPUs are not known yet";
      plan.hold();
      return;
    }
    CpuSet present;
    bool any = false;
    for (const BeGroup& group : groups_)
      if (const auto found = cpus(group.group)) {
        present = present | *found;
        any = true;
      }
    if (!any) {
      status_.summary += "; no best-effort group exists";
      return;
    }
    const auto machine = static_cast<int>(topology_->cpus.size());
    const auto lsr = static_cast<int>(pools_.lsr.size());
    const int available = lsr + static_cast<int>(pools_.ls.size());
    if (available < kMinCpus) {  // upstream divides by zero where none is left
      status_.summary += "; held: fewer than two CPUs are left beside LSE pods and reservations";
      plan.hold();
      return;
    }
    const int count = std::min(next_cpu_count(budget.milli, present.size(), machine), available);
    if (!may_tighten_ && count < present.size()) {
      status_.summary += "; held: not everything could be read";
      plan.hold();
      return;
    }
    const int of_lsr = count * lsr / available;
    CpuSet target;
    for (const int cpu : choose_cpus(of_lsr, pools_.lsr)) target.add(cpu);
    for (const int cpu : choose_cpus(count - of_lsr, pools_.ls)) target.add(cpu);
    for (const BeGroup& group : groups_)
      want_cpus(group, target, inventory.node.static_cpu_policy, reason, plan);
    recover_containers_until_ = context_.clock.mono() + kRecoverContainers;
    cores_.with({kCpusetPolicy}).set(target.size());
    status_.summary += fmt::format("; CPUs {}", target.to_string());
  }

  void want_cpus(const BeGroup& group, const CpuSet& target, bool static_policy, const char* reason,
                 Plan& plan) {
    if (!group.kubernetes) {
      // Within what the group had, and all of it in v1, whose children stand in the way of their parents.
      const auto had = context_.knobs.original(Knob::cpuset_cpus, group.group);
      const CpuSet* limit = had ? std::get_if<CpuSet>(&*had) : nullptr;
      const CpuSet within = limit && !limit->empty() ? target & *limit : target;
      Intent& intent = plan.want(Knob::cpuset_cpus, group.group, below_parent(group.group, within), reason);
      intent.audit_reason = kAdjust;
      if (context_.cgroup_version == host::CgroupVersion::v1) intent.reach.to = Reach::kAll;
      return;
    }
    const CpuSet some = below_parent(group.group, target);
    // The kubelet's static policy sets the containers' CPUs by itself and looks at its own folders' sets.
    const int from = static_policy ? kContainers : 0;
    if (static_policy)
      want_all_of(pools_.folders, group.group, {0, kPods, {}}, "the kubelet's static CPU policy", plan);
    Intent& intent = plan.want(Knob::cpuset_cpus, group.group, some, reason);
    intent.audit_reason = kAdjust;
    intent.reach = {from, deepest(), {}};
    intent.undo = below_parent(group.group, pools_.best_effort);
  }

  void free_cpus(const Inventory& inventory, Plan& plan) const {
    if (!topology_) {
      plan.hold();
      return;
    }
    // With the static policy the containers are the kubelet's, once what a cpuset policy left there has gone.
    const bool containers =
        !inventory.node.static_cpu_policy || context_.clock.mono() < recover_containers_until_;
    if (pools_.folders == pools_.best_effort) {
      want_all_cpus({0, containers ? deepest() : kPods, {}}, plan);
    } else {
      want_all_cpus({0, kPods, {}}, plan);
      if (containers) want_all_cpus({kContainers, deepest(), {}}, plan);
    }
  }

  void want_all_cpus(const Reach& reach, Plan& plan) const {
    for (const BeGroup& group : groups_) {
      if (!group.kubernetes) continue;
      const CpuSet& all = reach.to < kContainers ? pools_.folders : pools_.best_effort;
      want_all_of(all, group.group, reach, "no limit of CPUs is wanted", plan);
    }
  }

  void want_all_of(const CpuSet& cpus, std::string_view group, const Reach& reach, std::string_view reason,
                   Plan& plan) const {
    const CpuSet all = below_parent(group, cpus);
    Intent& intent = plan.want(Knob::cpuset_cpus, group, all, reason);
    intent.audit_reason = kAdjust;
    intent.reach = reach;
    intent.undo = all;
  }

  /// A group cannot have CPUs that its parent lacks; where they share none, the parent's.
  CpuSet below_parent(std::string_view group, const CpuSet& wanted) const {
    const std::string_view parent = parent_of(group);
    const auto limit = cpus(parent);
    if (!limit || limit->empty() || wanted.is_subset_of(*limit)) return wanted;
    CpuSet left = wanted & *limit;
    return left.empty() ? *limit : left;
  }

  const PluginContext& context_;
  metrics::Family<metrics::Gauge> cores_;
  metrics::Gauge ls_used_, be_used_;
  MonoTime recover_containers_until_;
  StrategyStatus status_;
  int incomplete_ = 0;  // ticks in a row
  bool neutral_ = false;
  bool may_tighten_ = true;

  // Of the present tick.
  std::shared_ptr<const host::Topology> topology_;
  std::vector<BeGroup> groups_;
  Pools pools_;
  std::int64_t capacity_milli_ = 0;
};

constexpr metrics::Table kMetrics = {&kCores, &kLsUsed, &kBeUsed};
constexpr std::string_view kGates[] = {"BECPUSuppress"};

}  // namespace
}  // namespace cpu_suppress

extern const StrategyEntry kCpuSuppress{
    .name = "CPUSuppress",
    .gates = cpu_suppress::kGates,
    .interval = "cpu-suppress-interval-seconds",
    .metrics = cpu_suppress::kMetrics,
    .make = &make<cpu_suppress::CpuSuppress>,
};

}  // namespace koord::koordlet
