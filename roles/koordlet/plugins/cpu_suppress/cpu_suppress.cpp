// CPU suppression: what latency-sensitive work, the system and reservations leave of the node's CPUs below a
// threshold is what best-effort work may have, as a quota (cfsQuota) or as a set of CPUs (cpuset).
#include <fmt/format.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/model/shared_pools.hpp"
#include "framework/qos/plugin.hpp"
#include "framework/tick/best_effort_use.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "koord/host/cgroup_paths.hpp"
#include "plugins/cpu_suppress/best_effort.hpp"
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
constexpr nanoseconds kRecoverContainers = std::chrono::seconds(60);
constexpr std::int64_t kLeastShares = 2;
constexpr std::string_view kBlind = "what the node uses, or who uses it, has not been known for long";

struct Pools {
  std::vector<host::CpuPlace> lsr, ls;  // CPUs of LSR pods, and those of nobody
  BestEffortCpus best_effort;           // all that best-effort work may ever have
  std::vector<std::string> shared;      // groups below the best-effort folder that are not its
};

/// The CPUs that best-effort work has, out of the pools.
struct Chosen {
  int count = 0;
  CpuSet cpus;
  std::string text;
};

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
        tier_(context),
        cores_(context.metrics.gauges(kCores)),
        ls_used_(context.metrics.gauge(kLsUsed)),
        be_used_(context.metrics.gauge(kBeUsed)),
        recover_containers_until_(context.clock.mono() + kRecoverContainers) {}

  StrategyStatus status() const override { return status_; }

  void plan(const TickView& view, Plan& plan) override {
    const Inventory& inventory = *view.inventory;
    if (tier_.follow(view.inventory)) pools_of(inventory);
    tier_.measure(view);
    if (const double used = best_effort_use(view).usage_milli; known(used)) be_used_.set(used / 1000);

    const Settings settings = settings_of(*inventory.slo);
    if (!inventory.pods_known) {
      status_.summary = "waiting: the node's pods were never known: what is held back stays so";
      plan.hold();
    } else if (!settings.is_on()) {
      neutral_ = false;
      idle(settings.enabled ? settings.nonsense : "off: the NodeSLO does not enable it");
      free_quota(plan);
      free_cpus(inventory, plan);
    } else {
      suppress(view, settings, plan);
    }
  }

  void release(const Inventory& inventory, Plan& plan) override {
    tier_.look_at(inventory);
    pools_of(inventory);
    idle("off: no NodeSLO, or its gate is off");
    recover_containers_until_ = context_.clock.mono() + kRecoverContainers;
    free_quota(plan);
    free_cpus(inventory, plan);
  }

  void neutral(const TickView& view, Plan& plan) override {
    const Inventory& inventory = *view.inventory;
    tier_.look_at(inventory);
    pools_of(inventory);
    if (!std::exchange(neutral_, true))
      recover_containers_until_ = context_.clock.mono() + kRecoverContainers;
    const Settings settings = inventory.slo ? settings_of(*inventory.slo) : Settings{};
    const bool wanted = !inventory.slo || settings.is_on();
    const std::int64_t percent = settings.min_percent.value_or(0);
    if (wanted && percent > 0 && tier_.capacity_milli() > 0) {
      const std::string reason = fmt::format("{}% of the node's CPUs, the minimum: {}", percent, kBlind);
      status_ = {true, fmt::format("neutral: {}", reason)};
      may_tighten_ = true;
      const bool too_few = pools_.lsr.empty() && pools_.ls.empty();
      limit({.milli = tier_.capacity_milli() * percent / 100}, settings.by_quota || too_few, inventory,
            reason.c_str(), plan);
      return;
    }
    idle(fmt::format("neutral: no limit but the lowest weight: {}", kBlind));
    free_quota(plan);
    free_cpus(inventory, plan);
    if (!wanted) return;
    for (const BeGroup& group : tier_.groups()) {
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
        cpu_suppress::budget(tier_.weigh(view), settings.threshold_percent, settings.min_percent);
    neutral_ = false;
    ls_used_.set(budget.pods_used);
    incomplete_ = view.complete ? 0 : incomplete_ + 1;
    may_tighten_ = incomplete_ == 0 || incomplete_ > kPatience;

    char reason[160];
    std::snprintf(reason, sizeof reason,
                  "%.2f CPUs for best-effort: %" PRId64
                  "%% of %.2f, less latency-sensitive %.2f, system %.2f",
                  static_cast<double>(budget.milli) / 1000, settings.threshold_percent,
                  static_cast<double>(tier_.capacity_milli()) / 1000,
                  budget.pods_used + budget.host_applications_used, budget.system_used);
    status_.active = true;
    status_.summary.clear();
    fmt::format_to(std::back_inserter(status_.summary), "{}: {}",
                   settings.by_quota ? kQuotaPolicy : kCpusetPolicy, reason);
    limit(budget, settings.by_quota, inventory, reason, plan);
  }

  void limit(const Budget& budget, bool by_quota, const Inventory& inventory, const char* reason,
             Plan& plan) {
    if (by_quota) {
      hide_limit(kCpusetPolicy);
      limit_quota(budget, reason, plan);
      free_cpus(inventory, plan);
    } else {
      hide_limit(kQuotaPolicy);
      limit_cpus(budget, inventory, reason, plan);
      free_quota(plan);
    }
  }

  void idle(std::string_view why) {
    status_.active = false;
    status_.summary = why;
    incomplete_ = 0;
    hide_limit(shown_);
  }

  void show_limit(std::string_view policy, double cpus) {
    if (std::exchange(shown_, policy) != policy) core_ = cores_.with({policy});
    core_.set(cpus);
  }
  void hide_limit(std::string_view policy) {
    if (policy.empty() || shown_ != policy) return;
    cores_.remove({policy});
    shown_ = {};
  }

  // --- what there is

  /// They change with the inventory and the machine alone.
  void pools_of(const Inventory& inventory) {
    pools_ = {};
    chosen_.reset();
    if (!topology()) return;
    pools_.best_effort = best_effort_cpus(*topology(), inventory);
    pools_.shared = shared_groups(inventory);
    const OwnCpus& own = inventory.own_cpus;
    for (const host::CpuPlace& cpu : topology()->cpus)
      if (pools_.best_effort.cpus.contains(cpu.cpu))
        (own.lsr.contains(cpu.cpu) ? pools_.lsr : pools_.ls).push_back(cpu);
  }

  /// Pods that ask for nothing lie in the kubelet's best-effort folder whatever their class is: which CPUs
  /// such a pod has of those that it may not be kept off is CPUSetAllocator's to say.
  std::vector<std::string> shared_groups(const Inventory& inventory) const {
    std::vector<std::string> groups;
    if (inventory.node.static_cpu_policy || !context_.gates.enabled("CPUSetAllocator")) return groups;
    for (const auto& pod : inventory.all_pods) {
      if ((pod->qos != Qos::ls && !pod->cpus) || !inventory.in_best_effort(pod->group)) continue;
      if (!pod->sandbox_group.empty()) groups.push_back(pod->sandbox_group);
      for (const ContainerInfo& container : pod->containers) groups.push_back(container.group);
    }
    return groups;
  }

  const std::shared_ptr<const host::Topology>& topology() const { return tier_.topology(); }
  std::optional<CpuSet> cpus(std::string_view group) const {
    auto value = context_.knobs.current(Knob::cpuset_cpus, group);
    if (!value || !std::holds_alternative<CpuSet>(*value)) return std::nullopt;
    return std::get<CpuSet>(std::move(*value));
  }

  // --- quota

  void limit_quota(const Budget& budget, const char* reason, Plan& plan) {
    const auto present = tier_.present_quota();
    if (!present) {
      status_.summary += "; no best-effort group exists";
      return;
    }
    const std::int64_t next = next_quota(budget.milli, *present, tier_.capacity_milli(),
                                         kMinQuotaUs * static_cast<std::int64_t>(tier_.present_groups()));
    if (!may_tighten_ && (*present == host::kUnlimited || next < *present)) {
      status_.summary += "; held: not everything could be read";
      plan.hold();
      return;
    }
    const std::int64_t total = tier_.want_quota(next, reason, kAdjust, plan);
    show_limit(kQuotaPolicy, static_cast<double>(total) / static_cast<double>(host::kDefaultPeriodUs));
  }

  void free_quota(Plan& plan) const {
    for (const BeGroup& group : tier_.groups()) {
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
    return context_.cgroup_version == host::CgroupVersion::v1 ? LevelRange::kAll : kContainers;
  }

  void limit_cpus(const Budget& budget, const Inventory& inventory, const char* reason, Plan& plan) {
    if (!topology()) {
      status_.summary += "; waiting: the machine's CPUs are not known yet";
      plan.hold();
      return;
    }
    CpuSet present;
    bool any = false;
    for (const BeGroup& group : tier_.groups())
      if (const auto found = cpus(group.group)) {
        present = present | *found;
        any = true;
      }
    if (!any) {
      status_.summary += "; no best-effort group exists";
      return;
    }
    const auto machine = static_cast<int>(topology()->cpus.size());
    if (!pools_.best_effort.known) give_only(present);
    const auto lsr = static_cast<int>(pools_.lsr.size());
    const int available = lsr + static_cast<int>(pools_.ls.size());
    if (available == 0) {  // upstream divides by zero
      status_.summary += "; held: no CPU is left beside LSE pods and reservations";
      plan.hold();
      return;
    }
    const int count = std::min(next_cpu_count(budget.milli, present.size(), machine), available);
    if (!may_tighten_ && count < present.size()) {
      status_.summary += "; held: not everything could be read";
      plan.hold();
      return;
    }
    const Chosen& chosen = choose(count, count * lsr / available);
    for (const BeGroup& group : tier_.groups())
      want_cpus(group, chosen.cpus, inventory.node.static_cpu_policy, reason, plan);
    recover_containers_until_ = context_.clock.mono() + kRecoverContainers;
    show_limit(kCpusetPolicy, chosen.cpus.size());
    status_.summary.append("; CPUs ").append(chosen.text);
  }

  /// Who has which CPUs is not sure any more: some of what best-effort work has may be taken from it, none
  /// added.
  void give_only(const CpuSet& present) {
    const auto others = [&present](const host::CpuPlace& cpu) { return !present.contains(cpu.cpu); };
    if (std::erase_if(pools_.lsr, others) + std::erase_if(pools_.ls, others) > 0) chosen_.reset();
  }

  /// The same as last time while as many are wanted of the same.
  const Chosen& choose(int count, int of_lsr) {
    if (chosen_ && chosen_->count == count) return *chosen_;
    chosen_ = Chosen{.count = count};
    for (const int cpu : choose_cpus(of_lsr, pools_.lsr)) chosen_->cpus.add(cpu);
    for (const int cpu : choose_cpus(count - of_lsr, pools_.ls)) chosen_->cpus.add(cpu);
    chosen_->text = chosen_->cpus.to_string();
    return *chosen_;
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
      if (context_.cgroup_version == host::CgroupVersion::v1) intent.reach.to = LevelRange::kAll;
      return;
    }
    const CpuSet some = below_parent(group.group, target);
    // The kubelet's static policy sets the containers' CPUs by itself and looks at its own folders' sets. And
    // no group has more CPUs than the folders above it: where others are below them these stay wide, too.
    const bool wide = static_policy || !pools_.shared.empty();
    const int from = wide ? kContainers : 0;
    if (wide && pools_.best_effort.known)
      want_all_of(
          pools_.best_effort.folders, group.group, {0, kPods, {}},
          static_policy ? "the kubelet's static CPU policy" : "LS pods that ask for nothing are below", plan);
    Intent& intent = plan.want(Knob::cpuset_cpus, group.group, some, reason);
    intent.audit_reason = kAdjust;
    intent.reach = {from, deepest(), pools_.shared};
    if (CpuSet all = below_parent(group.group, pools_.best_effort.cpus); !all.empty())
      intent.undo = std::move(all);
  }

  void free_cpus(const Inventory& inventory, Plan& plan) const {
    if (!topology() || !(pools_.best_effort.known || is_plain())) {
      plan.keep(Knob::cpuset_cpus);
      return;
    }
    // With the static policy the containers are the kubelet's, once what a cpuset policy left there has gone.
    const bool containers =
        !inventory.node.static_cpu_policy || context_.clock.mono() < recover_containers_until_;
    if (pools_.best_effort.folders == pools_.best_effort.cpus) {
      want_all_cpus({0, containers ? deepest() : kPods, {}}, plan);
    } else {
      want_all_cpus({0, kPods, {}}, plan);
      if (containers) want_all_cpus({kContainers, deepest(), {}}, plan);
    }
  }

  void want_all_cpus(const LevelRange& reach, Plan& plan) const {
    for (const BeGroup& group : tier_.groups()) {
      if (!group.kubernetes) continue;
      const CpuSet& all = reach.to < kContainers ? pools_.best_effort.folders : pools_.best_effort.cpus;
      want_all_of(all, group.group, reach, "no limit of CPUs is wanted", plan);
    }
  }

  void want_all_of(const CpuSet& cpus, std::string_view group, const LevelRange& reach,
                   std::string_view reason, Plan& plan) const {
    const CpuSet all = below_parent(group, cpus);
    Intent& intent = plan.want(Knob::cpuset_cpus, group, all, reason);
    intent.audit_reason = kAdjust;
    intent.reach = reach;
    intent.reach.except = pools_.shared;
    intent.undo = all;
  }

  /// Without a kubelet nobody has CPUs that are exclusively his.
  bool is_plain() const {
    return std::ranges::none_of(tier_.groups(), [](const BeGroup& group) { return group.kubernetes; });
  }

  /// A group cannot have CPUs that its parent lacks; where they share none, it keeps what it has: none are
  /// wanted.
  CpuSet below_parent(std::string_view group, const CpuSet& wanted) const {
    const std::string_view parent = parent_of(group);
    const auto limit = cpus(parent);
    if (!limit || limit->empty() || wanted.is_subset_of(*limit)) return wanted;
    return wanted & *limit;
  }

  const PluginContext& context_;
  BestEffort tier_;
  metrics::Family<metrics::Gauge> cores_;
  metrics::Gauge ls_used_, be_used_;
  MonoTime recover_containers_until_;
  StrategyStatus status_;
  int incomplete_ = 0;  // ticks in a row
  bool neutral_ = false;
  bool may_tighten_ = true;

  std::string_view shown_;  // the policy whose limit is shown
  metrics::Gauge core_;     // by it

  // Of the present inventory and machine.
  Pools pools_;
  std::optional<Chosen> chosen_;
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
