// Core scheduling: on the threads of one core only those run at a time who belong together, so that nobody
// measures, or slows, his neighbour through it; and where the NodeSLO says so best-effort containers are
// idle.
#include <fmt/format.h>

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "framework/action/process_kind.hpp"
#include "framework/hooks/idle.hpp"
#include "framework/hooks/reconciler.hpp"
#include "plugins/core_sched/rules.hpp"

namespace koord::koordlet {

namespace core_sched {
namespace {

using host::Knob;

constexpr std::string_view kIdle = "its class is idle to the scheduler";
constexpr std::string_view kNeeded = "core scheduling needs it";
constexpr std::string_view kIdentity = "kernel/sched_group_identity_enabled", kSwitch = "kernel/sched_core";

/// Kernels that have both let no group have an identity below 0 beside cookies.
void answer(const HookFacts& facts, const HookTarget& target, HookAnswer& answer) {
  const Rules all = rules(facts.inventory.slo.get());
  if (target.level == HookLevel::machine) {
    if (!all.enabled || !facts.setting(Knob::proc_sys, kSwitch)) return;
    for (const std::string_view name : {kIdentity, kSwitch})
      if (facts.setting(Knob::proc_sys, name))
        answer.knobs.push_back({.knob = Knob::proc_sys,
                                .value = std::int64_t{name == kSwitch ? 1 : 0},
                                .reason = kNeeded,
                                .name = name});
    return;
  }
  if (all.be.idle && may_be_idle(facts, target) && facts.has(Knob::cpu_idle))
    answer.knobs.push_back({Knob::cpu_idle, std::int64_t{1}, kIdle});
}

constexpr Hook kHook{.audit_reason = "CoreSched", .answer = &answer};
constexpr std::string_view kGates[] = {"CoreSched"};

class CoreSched final : public Strategy {
 public:
  explicit CoreSched(const PluginContext& context) : knobs_(make_reconciler(kHook, context)) {}

  void plan(const TickView& view, Plan& plan) override {
    knobs_->plan(view, plan);
    status_ = knobs_->status();
    if (plan.held()) return;  // the cookies stay as they are
    const Inventory& inventory = *view.inventory;
    const Rules all = rules(inventory.slo.get());
    std::set<std::string> groups;
    for (const auto& pod : inventory.all_pods) {
      if (!all.enabled || terms_of(*pod).virtual_machine) continue;
      const auto group = group_of(all, *pod);
      if (!group) continue;
      groups.insert(*group);
      const auto share = [&](std::string container, const std::string& of) {
        if (!of.empty())
          plan.set({.kind = &kCoreCookieKind,
                    .pod = pod,
                    .container = std::move(container),
                    .group = of,
                    .shared = *group});
      };
      share({}, pod->sandbox_group);
      for (const ContainerInfo& container : pod->containers) share(container.name, container.group);
    }
    status_.active = status_.active || !plan.processes().empty();
    status_.summary = all.enabled ? fmt::format("{} groups of {} containers share cores", groups.size(),
                                                plan.processes().size())
                                  : "off: the NodeSLO has another policy, or no class that takes part";
  }
  bool look(const TickView& view) override { return knobs_->look(view); }
  void release(const Inventory& inventory, Plan& plan) override {
    knobs_->release(inventory, plan);
    status_ = {false, "off: its gate is"};
  }
  StrategyStatus status() const override { return status_; }

 private:
  std::unique_ptr<Strategy> knobs_;
  StrategyStatus status_;
};

}  // namespace
}  // namespace core_sched

extern const StrategyEntry kCoreSched{
    .name = "CoreSched",
    .gates = core_sched::kGates,
    .replan = Replan::on_change,
    .hold = kHookHold,
    .sets = &kCoreCookieKind,
    .hook = &core_sched::kHook,
    .terms = &core_sched::read_terms,
    .make = &make<core_sched::CoreSched>,
};

}  // namespace koord::koordlet
