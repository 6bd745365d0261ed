// The reconciler: see reconciler.hpp.
#include "framework/hooks/reconciler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "framework/hooks/quota_period.hpp"
#include "koord/host/cgroup_paths.hpp"

namespace koord::koordlet {

const HookTerms& terms_of(const PodInfo& pod) {
  static const HookTerms kNothing;
  const HookTerms* const terms = pod.terms.find<HookTerms>();
  return terms != nullptr ? *terms : kNothing;
}

void HookAnswer::clear() {
  knobs.clear();
  env.clear();
  annotations.clear();
  devices.clear();
  mounts.clear();
  cdi_devices.clear();
  warnings.clear();
  oom_score_adj.reset();
}

namespace {

using host::Knob;
using host::KubeQos;

constexpr std::string_view kWaitingForPods = "waiting for the node's pods: what is in force stays so";

/// An update of a container may give it another period: how soon its quota follows.
constexpr nanoseconds kPeriodsStay = std::chrono::seconds(10);

constexpr metrics::Metric kInvoked{
    .name = "koordlet_runtime_hook_reconciler_invoked_duration_milliseconds",
    .type = metrics::Type::histogram,
    .help = "How long a runtime hook took to say what a group shall have; failed: the kernel refuses it.",
    .labels = {"level", "resource_type", "status"},
    .bounds = metrics::exponential_bounds(0.01, 4, 8)};

/// Upstream's name; empty: it has none.
std::string_view name_of(HookLevel level) {
  switch (level) {
    case HookLevel::qos_folder: return "kubeqos";
    case HookLevel::pod: return "pod";
    case HookLevel::sandbox: return "sandbox";
    case HookLevel::container: return "container";
    case HookLevel::machine:
    case HookLevel::best_effort_root:
    case HookLevel::host_application: break;
  }
  return {};
}

class Reconciler final : public Strategy {
 public:
  Reconciler(const Hook& hook, const PluginContext& context)
      : hook_(hook), context_(context), invoked_(context.metrics.histograms(kInvoked)) {
    for (const metrics::Metric* metric : hook_.metrics) (void)context_.metrics.gauges(*metric);
  }

  StrategyStatus status() const override { return status_; }
  void release(const Inventory&, Plan&) override { status_ = {false, "off: its gate is"}; }

  bool look(const TickView& view) override {
    if (asked_in_vain_ && !a_group(*view.inventory).empty()) return true;
    if (periods_.empty() || view.at - looked_at_ < kPeriodsStay) return false;
    looked_at_ = view.at;
    return std::ranges::any_of(periods_,
                               [this](const Period& one) { return period_of(one.group) != one.us; });
  }

  void plan(const TickView& view, Plan& plan) override {
    if (!view.inventory->pods_known) {
      status_ = {false, std::string(kWaitingForPods)};
      return plan.hold();
    }
    follow(*view.inventory);
    periods_.clear();
    looked_at_ = view.at;
    for (const Wanted& wanted : first_) want(plan, wanted);
    if (!std::all_of(first_.begin(), first_.end(), [this](const Wanted& one) { return is_set(one); })) {
      status_.summary = "waiting for the kernel's settings that have to be first";
      return plan.hold();
    }
    for (const Wanted& wanted : wanted_) want(plan, wanted);
    status_.summary = summary_;
  }

 private:
  struct Wanted {
    std::string group;
    HookValue value;
  };

  /// What a quota of the plan is of.
  struct Period {
    std::string group;
    std::int64_t us = 0;
  };

  std::int64_t period_of(std::string_view group) const {
    return quota_period(context_.knobs, group).value_or(host::kDefaultPeriodUs);
  }

  void want(Plan& plan, const Wanted& wanted) {
    Intent& intent = plan.want(wanted.value.knob, wanted.group, wanted.value.value, wanted.value.reason);
    intent.undo = wanted.value.undo;
    if (wanted.value.knob == Knob::cpu_quota) {  // which hooks say of the usual period
      const std::int64_t period = period_of(wanted.group);
      periods_.push_back({wanted.group, period});
      if (auto* const quota = std::get_if<std::int64_t>(&intent.value)) *quota = in_period(*quota, period);
      if (auto* const undo = intent.undo ? std::get_if<std::int64_t>(&*intent.undo) : nullptr)
        *undo = in_period(*undo, period);
    }
    intent.reach = wanted.value.reach;
    intent.audit_reason = hook_.audit_reason;
  }

  bool is_set(const Wanted& wanted) const {
    const auto found = context_.knobs.current(wanted.value.knob, wanted.group);
    return found ? *found == wanted.value.value : found.error().code() == Code::not_found;
  }

  /// What is not there yet will be looked at when it is.
  bool is_limited(Knob knob, std::string_view group) const {
    const auto found = context_.knobs.original(knob, group);
    return !found || *found != KnobValue(host::kUnlimited);
  }

  /// A group by which the kernel's knobs are known: that of all pods or, without Kubernetes, one of those
  /// that there are. Empty: there is none yet.
  std::string_view a_group(const Inventory& inventory) const {
    const std::string_view folder = all_pods_;
    const auto is_there = [&](std::string_view group) {
      return context_.knobs.original(Knob::cpu_quota, group).has_value();
    };
    if (is_there(folder)) return folder;
    for (const auto& pod : inventory.all_pods)
      if (is_there(pod->group)) return pod->group;
    for (const HostApplication& application : inventory.host_applications)
      if (is_there(application.group)) return application.group;
    return {};
  }

  void follow(const Inventory& inventory) {
    const auto folder = [&](KubeQos qos) {
      return host::kubepods_folder(inventory.driver, qos, inventory.kubelet_root);
    };
    all_pods_ = folder(KubeQos::guaranteed);
    asked_in_vain_ = false;
    const std::string_view group = a_group(inventory);
    const auto topology = context_.topology();
    std::optional<SharedPools> pools;
    if (topology) pools = shared_pools(*topology, inventory);
    const HookFacts facts{.inventory = inventory,
                          .gates = context_.gates,
                          .cgroup_version = context_.cgroup_version,
                          .topology = topology.get(),
                          .pools = pools ? &*pools : nullptr,
                          .has =
                              [&](Knob knob) {
                                asked_in_vain_ = asked_in_vain_ || group.empty();
                                return !group.empty() && context_.knobs.original(knob, group).has_value();
                              },
                          .setting = [&](Knob knob, std::string_view name) -> std::optional<std::int64_t> {
                            const auto found = context_.knobs.current(knob, name);
                            const auto* number = found ? std::get_if<std::int64_t>(&*found) : nullptr;
                            return number ? std::optional(*number) : std::nullopt;
                          },
                          .is_set = context_.is_set};
    first_.clear();
    wanted_.clear();
    ask(facts, {.level = HookLevel::machine}, first_);
    for (const KubeQos qos : {KubeQos::guaranteed, KubeQos::burstable, KubeQos::besteffort}) {
      const std::string group = folder(qos);
      ask(facts, {.level = HookLevel::qos_folder, .group = group, .folder = qos}, wanted_);
    }
    for (const std::string& root : inventory.be_roots)
      if (root != folder(KubeQos::besteffort))
        ask(facts, {.level = HookLevel::best_effort_root, .group = root}, wanted_);
    std::size_t pods = 0;
    for (const auto& pod : inventory.all_pods) {
      const std::size_t before = wanted_.size();
      ask(facts, {.level = HookLevel::pod, .group = pod->group, .pod = pod.get()}, wanted_);
      if (!pod->sandbox_group.empty())
        ask(facts, {.level = HookLevel::sandbox, .group = pod->sandbox_group, .pod = pod.get()}, wanted_);
      if (!terms_of(*pod).virtual_machine)
        for (const ContainerInfo& container : pod->containers)
          ask(facts,
              {.level = HookLevel::container,
               .group = container.group,
               .pod = pod.get(),
               .container = &container},
              wanted_);
      pods += wanted_.size() > before ? 1 : 0;
    }
    for (const HostApplication& application : inventory.host_applications)
      ask(facts,
          {.level = HookLevel::host_application, .group = application.group, .application = &application},
          wanted_);
    const std::string_view back = hook_.stands_back != nullptr ? hook_.stands_back(facts) : "";
    if (!back.empty() && back != stands_back_)
      context_.log.info("somebody else owns these files: they are left alone", kv("hook", hook_.audit_reason),
                        kv("why", back));
    stands_back_ = back;
    if (hook_.show != nullptr) hook_.show(facts, context_.metrics);
    status_.active = !wanted_.empty();
    summary_ = !back.empty() ? std::string(back) : fmt::format("{} values for {} pods", wanted_.size(), pods);
  }

  void ask(const HookFacts& facts, const HookTarget& target, std::vector<Wanted>& wanted) {
    answer_.clear();
    const MonoTime began = context_.clock.mono();
    hook_.answer(facts, target, answer_);
    const std::chrono::duration<double, std::milli> took = context_.clock.mono() - began;
    for (HookValue& value : answer_.knobs) {
      if (const std::string_view level = name_of(target.level); !level.empty())
        invoked_
            .with({level, host::row(value.knob).name,
                   context_.knobs.refused(value.knob, target.group) ? "failed" : "succeeded"})
            .observe(took.count());
      if (value.where_limited && !is_limited(value.knob, target.group)) continue;
      std::string group(target.level == HookLevel::machine ? value.name : target.group);
      wanted.push_back({std::move(group), std::move(value)});
    }
  }

  const Hook& hook_;
  const PluginContext& context_;
  metrics::Family<metrics::Histogram> invoked_;
  std::string all_pods_;        // the group that the kubelet keeps them in
  bool asked_in_vain_ = false;  // what the kernel has, while there was no group
  std::vector<Wanted> first_, wanted_;
  std::vector<Period> periods_;
  MonoTime looked_at_{};  // at periods
  HookAnswer answer_;     // of one target
  std::string_view stands_back_;
  std::string summary_;
  StrategyStatus status_;
};

}  // namespace

const metrics::Table kReconcilerMetrics = {&kInvoked};

std::unique_ptr<Strategy> make_reconciler(const Hook& hook, const PluginContext& context) {
  return std::make_unique<Reconciler>(hook, context);
}

}  // namespace koord::koordlet
